"""Templates of the forum for a moderator: lock and pin threads, remove posts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.forum import POSTS, THREADS
from ..sites.forum_content import VISITOR
from .forum_marking_tasks import press_in_order
from .forum_reading_tasks import ThreadTemplate
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick
from .walk import Walk


class ModerationTemplate(WebTemplate):
    """Base of templates in which the visitor is a moderator."""

    site, intent = "forum", "moderate"

    def prepare(self, database: Database, slots: Slots) -> None:
        database.execute("UPDATE users SET role = 'moderator' WHERE id = ?", (VISITOR,))


@add_template
class LockThreads(ModerationTemplate, ThreadTemplate, ChangeTemplate):
    """Lock all threads that meet conditions; some may be locked already."""

    name, table, objects, pages = "lock-threads", "threads", "threads", ("/search", "/thread/{0}")
    question = "Lock all {what}. Leave those locked that are locked already."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, THREADS.select(database, "NOT t.locked"))
        conditions = self.draw_conditions(rng, row, max(2, params["constraints"]))
        found = THREADS.find(database, conditions)
        if len(found) > params["items"] + 1:
            return None
        threads = tuple((row["id"], row["title"]) for row in found if not row["locked"])
        return {"conditions": tuple(conditions.items()), "threads": threads}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {thread: {"locked": 1} for thread, _ in slots["threads"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        super().solve(walk, slots, goal)
        for _, title in slots["threads"]:
            THREADS.open_row(walk, title)
            walk.click("button", "Lock thread")


@add_template
class PinThread(ModerationTemplate, ChangeTemplate):
    """Pin a thread in place of the pinned thread of its board."""

    name, table, pages = "pin-thread", "threads", ("/thread/{thread}",)
    question = 'In the board {board}, pin the thread "{title}" and no other: unpin what is pinned there.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        thread = pick(rng, THREADS.select(database, "NOT t.pinned"))
        pinned = THREADS.select(database, "t.pinned AND t.board = ?", thread["board"])
        before = tuple((row["id"], row["title"]) for row in pinned)
        return {"thread": thread["id"], "title": thread["title"], "board": thread["board_name"], "before": before}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {slots["thread"]: {"pinned": 1}, **{thread: {"pinned": 0} for thread, _ in slots["before"]}}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        # The board shows pinned threads on top.
        walk.click("link", "Village Forum")
        walk.click("link", slots["board"])
        for _, title in slots["before"]:
            walk.click("link", title)
            walk.click("button", "Unpin thread")
        THREADS.open_row(walk, slots["title"])
        walk.click("button", "Pin thread")


@add_template
class RemovePosts(ModerationTemplate):
    """Remove all replies of a user in a thread."""

    name, pages = "remove-posts", ("/thread/{thread}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        replies = POSTS.select(database, "p.number > 1 AND p.author <> ?", VISITOR)
        for reply in (pick(rng, replies) for _ in range(12)):
            since = reply["day"] if params["constraints"] > 1 else ""
            own = [
                row
                for row in replies
                if (row["thread"], row["author"]) == (reply["thread"], reply["author"]) and row["day"] >= since
            ]
            if params["items"] <= len(own) <= params["items"] + 2:
                posts = tuple((row["id"], row["number"], row["author_name"]) for row in own)
                return {"thread": reply["thread"], "title": reply["title"], "since": since, "posts": posts}
        return None

    def ask(self, slots: Slots) -> str:
        since = f" on or after {slots['since']}" if slots["since"] else ""
        user = slots["posts"][0][2]
        return (
            f'Remove every reply that {user} wrote{since} in the thread "{slots["title"]}". The first post is no reply.'
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = [
            tuple(database.execute("SELECT thread, author, body FROM posts WHERE id = ?", post[:1]).fetchone())
            for post in slots["posts"]
        ]
        removed, added = tuple((*row, 0) for row in rows), tuple((*row, 1) for row in rows)
        return Goal(removed={"posts": removed}, added={"posts": added}, pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        press_in_order(walk, "Remove", slots["posts"])
