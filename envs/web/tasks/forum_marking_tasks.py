"""Templates of the forum about votes and private bookmarks, and about a moderator's actions: lock, pin, remove."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from ..sites.forum import POSTS, THREADS
from ..sites.forum_content import VISITOR
from .draws import best_of, pick, pick_several, quote_titles
from .forum_reading_tasks import ThreadTemplate, sort_list
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

_NOTES = ("show to Kim", "for next week", "compare prices", "try this", "lire plus tard")


def press_in_order(walk: Walk, deed: str, posts: tuple[tuple[int, int, str], ...]) -> None:
    """Press the same button of several posts (id, number, author) of a thread, which may go on over several pages. The
    posts must be in the order of the thread."""
    for _, number, author in posts:
        walk.seek("button", f"{deed} post {number} by {author}")


def draw_posts(rng: Rng, every: list[sqlite3.Row], params: Params, taken: set[int]) -> Slots | None:
    """Draw a thread and a user with "items" to "items" + 2 posts in it, none of them in ``taken``, and return the
    slots; None if several draws find none. With more than one condition, only posts since a day count."""
    for post in (pick(rng, every) for _ in range(12)):
        since = post["day"] if params["constraints"] > 1 else ""
        same = [row for row in every if (row["thread"], row["author"]) == (post["thread"], post["author"])]
        own = [row for row in same if row["day"] >= since]
        if params["items"] <= len(own) <= params["items"] + 2 and not any(row["id"] in taken for row in own):
            posts = tuple((row["id"], row["number"], row["author_name"]) for row in own)
            return {"thread": post["thread"], "title": post["title"], "since": since, "posts": posts}
    return None


@add_template
class VoteForUser(WebTemplate):
    """Vote for all posts of a user in a thread, and for nothing else."""

    site, name, intent, pages = "forum", "vote-for-user", "vote", ("/thread/{thread}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        voted = {row[0] for row in database.execute("SELECT post FROM votes")}
        return draw_posts(rng, POSTS.select(database, "p.author <> ?", VISITOR), params, voted)

    def ask(self, slots: Slots) -> str:
        since = f" on or after {slots['since']}" if slots["since"] else ""
        user = slots["posts"][0][2]
        return f'Vote for every post that {user} wrote{since} in the thread "{slots["title"]}", and for no other post.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple((post[0], 1) for post in slots["posts"])
        return Goal(added={"votes": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        press_in_order(walk, "Vote for", slots["posts"])


@add_template
class VoteOnBest(WebTemplate):
    """Vote for or against the post with the most votes in each of some threads."""

    site, name, intent, objects, pages = "forum", "vote-on-best", "vote", "posts", ("/thread/{1}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = THREADS.select(database, "t.replies >= 2")
        voted = {row[0] for row in database.execute("SELECT post FROM votes")}
        chosen = []
        for row in pick_several(rng, rows, len(rows)):
            best = best_of(POSTS.select(database, "p.thread = ?", row["id"]), "votes")
            if best is not None and best["author"] != VISITOR and best["id"] not in voted:
                chosen.append((best["id"], best["thread"], best["title"], best["number"], best["author_name"]))
            if len(chosen) == params["items"]:
                return {"posts": tuple(chosen), "deed": pick(rng, ("Vote for", "Vote against"))}
        return None

    def ask(self, slots: Slots) -> str:
        titles = quote_titles(slots["posts"], 2)
        where = f"in the thread {titles}" if len(slots["posts"]) == 1 else f"in each of the threads {titles}"
        return f"{slots['deed']} the post that has the most votes {where}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        value = 1 if slots["deed"] == "Vote for" else -1
        return Goal(
            added={"votes": tuple((post[0], value) for post in slots["posts"])}, milestone_pages=self.paths(slots)
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for post, _, title, number, author in slots["posts"]:
            THREADS.open_row(walk, title)
            sort_list(walk, "Most votes")
            press_in_order(walk, slots["deed"], ((post, number, author),))


@add_template
class TakeBackVotes(WebTemplate):
    """Take back all of the visitor's votes in a thread."""

    site, name, intent, pages = "forum", "take-back-votes", "vote", ("/thread/{thread}",)
    question = 'Take back all of my votes in the thread "{title}", and none in other threads.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        voted = POSTS.select(database, "p.id IN (SELECT post FROM votes)")
        thread = pick(rng, voted)["thread"]
        own = [row for row in voted if row["thread"] == thread]
        posts = tuple((row["id"], row["number"], row["author_name"]) for row in own)
        return {"thread": thread, "title": own[0]["title"], "posts": posts}

    def goal(self, database: Database, slots: Slots) -> Goal:
        votes = dict(database.execute("SELECT post, value FROM votes").fetchall())
        rows = tuple((post[0], votes[post[0]]) for post in slots["posts"])
        return Goal(removed={"votes": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        press_in_order(walk, "Take back vote on", slots["posts"])


class BookmarkTemplate(WebTemplate):
    """Base of templates that add bookmarks. Slots: ``threads``, pairs (id, title), and ``note``."""

    site, intent, objects, pages = "forum", "bookmark", "threads", ("/thread/{0}",)

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple((thread, slots["note"]) for thread, _ in slots["threads"])
        return Goal(added={"bookmarks": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots["threads"]:
            THREADS.open_row(walk, title)
            walk.fill("Private note", slots["note"])
            walk.click("button", "Bookmark thread")


@add_template
class AddBookmarks(BookmarkTemplate):
    """Bookmark named threads with a private note."""

    name = "add-bookmarks"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = THREADS.select(database, "t.id NOT IN (SELECT thread FROM bookmarks)")
        chosen = pick_several(rng, rows, params["items"])
        note = pick(rng, _NOTES) if params["constraints"] > 1 else ""
        return {"threads": tuple((row["id"], row["title"]) for row in chosen), "note": note}

    def ask(self, slots: Slots) -> str:
        titles = quote_titles(slots["threads"])
        note = f' with the private note "{slots["note"]}"' if slots["note"] else " without a note"
        return f"Bookmark, each{note}: {titles}." if len(slots["threads"]) > 1 else f"Bookmark {titles}{note}."


@add_template
class BookmarkMatching(ThreadTemplate, BookmarkTemplate):
    """Bookmark all threads that meet conditions."""

    name, question = "bookmark-matching", 'Bookmark all {what}, each with the private note "{note}".'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows, number = THREADS.select(database), max(2, params["constraints"])
        saved = {row[0] for row in database.execute("SELECT thread FROM bookmarks")}
        for row in (pick(rng, rows) for _ in range(12)):
            conditions = self.draw_conditions(rng, row, number)
            found = THREADS.find(database, conditions)
            if len(found) <= params["items"] + 1 and not any(row["id"] in saved for row in found):
                threads = tuple((row["id"], row["title"]) for row in found)
                return {"conditions": tuple(conditions.items()), "threads": threads, "note": pick(rng, _NOTES)}
        return None

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        super().solve(walk, slots, goal)
        BookmarkTemplate.solve(self, walk, slots, goal)


@add_template
class RemoveBookmarks(WebTemplate):
    """Remove some bookmarks, and leave the others."""

    site, name, intent, objects, pages = "forum", "remove-bookmarks", "bookmark", "threads", ("/bookmarks",)
    question = "Remove from my bookmarks: {titles}."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = THREADS.select(database, "t.id IN (SELECT thread FROM bookmarks)")
        chosen = pick_several(rng, rows, params["items"])
        return {"threads": tuple((row["id"], row["title"]) for row in chosen)}

    def goal(self, database: Database, slots: Slots) -> Goal:
        notes = dict(database.execute("SELECT thread, note FROM bookmarks").fetchall())
        rows = tuple((thread, notes[thread]) for thread, _ in slots["threads"])
        return Goal(removed={"bookmarks": rows}, milestone_pages=self.pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Bookmarks")
        for _, title in slots["threads"]:
            walk.click("button", f"Remove {title}")


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
            walk.click("button", "Moderate")
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
            walk.click("button", "Moderate")
            walk.click("button", "Unpin thread")
        THREADS.open_row(walk, slots["title"])
        walk.click("button", "Moderate")
        walk.click("button", "Pin thread")


@add_template
class RemovePosts(ModerationTemplate):
    """Remove all replies of a user in a thread (since a day, with more conditions)."""

    name, pages = "remove-posts", ("/thread/{thread}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return draw_posts(rng, POSTS.select(database, "p.number > 1 AND p.author <> ?", VISITOR), params, set())

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
        return Goal(removed={"posts": removed}, added={"posts": added}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        for _, number, author in slots["posts"]:
            walk.seek("button", f"More on post {number}")
            walk.confirm(f"Remove post {number} by {author}")
