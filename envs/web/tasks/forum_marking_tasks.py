"""Templates of the forum that end in votes and in private bookmarks."""

from __future__ import annotations

from ..sites.forum_content import VISITOR
from ..sites.list_page import name_all
from .forum_reading_tasks import (
    describe_matches,
    draw_conditions,
    filter_list,
    matching_threads,
    open_thread,
    select_posts,
    select_threads,
    sort_list,
)
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, best_of, pick
from .walk import Walk

_NOTES = ("show to Kim", "for next week", "compare prices", "try this", "lire plus tard")


def press_in_order(walk: Walk, deed: str, posts: tuple[tuple[int, int, str], ...]) -> None:
    """Press the same button of several posts (id, number, author), on whichever pages of the thread they are."""
    for _, number, author in posts:
        walk.seek("button", f"{deed} post {number} by {author}")


@add_template
class VoteForUser(WebTemplate):
    """Vote for all posts of a user in a thread, and for nothing else."""

    site, name, intent = "forum", "vote-for-user", "vote"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        voted = {row[0] for row in database.execute("SELECT post FROM votes")}
        every = select_posts(database, "p.author <> ?", VISITOR)
        for post in (pick(rng, every) for _ in range(12)):
            since = post["day"] if params["constraints"] > 1 else ""
            own = [
                row
                for row in every
                if (row["thread"], row["author"]) == (post["thread"], post["author"]) and row["day"] >= since
            ]
            if params["items"] <= len(own) <= params["items"] + 2 and not any(row["id"] in voted for row in own):
                posts = tuple((row["id"], row["number"], row["author_name"]) for row in own)
                return {"thread": post["thread"], "title": post["title"], "since": since, "posts": posts}
        return None

    def ask(self, slots: Slots) -> str:
        since = f" on or after {slots['since']}" if slots["since"] else ""
        user = slots["posts"][0][2]
        return f'Vote for every post that {user} wrote{since} in the thread "{slots["title"]}", and for no other post.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple((post[0], 1) for post in slots["posts"])
        return Goal(added={"votes": rows}, pages=(f"/thread/{slots['thread']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_thread(walk, slots["title"])
        press_in_order(walk, "Vote for", slots["posts"])


@add_template
class VoteOnBest(WebTemplate):
    """Vote for or against the post with the most votes in threads."""

    site, name, intent = "forum", "vote-on-best", "vote"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_threads(database, "t.replies >= 2")
        voted = {row[0] for row in database.execute("SELECT post FROM votes")}
        chosen = []
        for place in rng.permutation(len(rows)).tolist():
            best = best_of(select_posts(database, "p.thread = ?", rows[place]["id"]), "votes")
            if best is not None and best["author"] != VISITOR and best["id"] not in voted:
                chosen.append((best["id"], best["thread"], best["title"], best["number"], best["author_name"]))
            if len(chosen) == params["items"]:
                return {"posts": tuple(chosen), "deed": pick(rng, ("Vote for", "Vote against"))}
        return None

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{post[2]}"' for post in slots["posts"]])
        where = f"in the thread {titles}" if len(slots["posts"]) == 1 else f"in each of the threads {titles}"
        return f"{slots['deed']} the post that has the most votes {where}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        value = 1 if slots["deed"] == "Vote for" else -1
        pages = tuple(f"/thread/{post[1]}" for post in slots["posts"])
        return Goal(added={"votes": tuple((post[0], value) for post in slots["posts"])}, pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for post, _, title, number, author in slots["posts"]:
            open_thread(walk, title)
            sort_list(walk, "Most votes")
            press_in_order(walk, slots["deed"], ((post, number, author),))


@add_template
class TakeBackVotes(WebTemplate):
    """Take back all votes in a thread."""

    site, name, intent = "forum", "take-back-votes", "vote"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        voted = select_posts(database, "p.id IN (SELECT post FROM votes)")
        thread = pick(rng, voted)["thread"]
        own = [row for row in voted if row["thread"] == thread]
        posts = tuple((row["id"], row["number"], row["author_name"]) for row in own)
        return {"thread": thread, "title": own[0]["title"], "posts": posts}

    def ask(self, slots: Slots) -> str:
        return f'Take back all of my votes in the thread "{slots["title"]}", and none in other threads.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        votes = dict(database.execute("SELECT post, value FROM votes").fetchall())
        rows = tuple((post[0], votes[post[0]]) for post in slots["posts"])
        return Goal(removed={"votes": rows}, pages=(f"/thread/{slots['thread']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_thread(walk, slots["title"])
        press_in_order(walk, "Take back vote on", slots["posts"])


class BookmarkTemplate(WebTemplate):
    """Base of templates that add bookmarks: slots ``threads`` (ids and titles) and ``note``."""

    site, intent = "forum", "bookmark"

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple((thread, slots["note"]) for thread, _ in slots["threads"])
        return Goal(added={"bookmarks": rows}, pages=tuple(f"/thread/{thread}" for thread, _ in slots["threads"]))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots["threads"]:
            open_thread(walk, title)
            walk.fill("Private note", slots["note"])
            walk.click("button", "Bookmark thread")


@add_template
class AddBookmarks(BookmarkTemplate):
    """Bookmark named threads with a private note."""

    name = "add-bookmarks"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_threads(database, "t.id NOT IN (SELECT thread FROM bookmarks)")
        chosen = [rows[place] for place in rng.permutation(len(rows))[: params["items"]].tolist()]
        note = pick(rng, _NOTES) if params["constraints"] > 1 else ""
        return {"threads": tuple((row["id"], row["title"]) for row in chosen), "note": note}

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{title}"' for _, title in slots["threads"]])
        note = f' with the private note "{slots["note"]}"' if slots["note"] else " without a note"
        return f"Bookmark, each{note}: {titles}." if len(slots["threads"]) > 1 else f"Bookmark {titles}{note}."


@add_template
class BookmarkMatching(BookmarkTemplate):
    """Bookmark all threads that meet conditions."""

    name = "bookmark-matching"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows, number = select_threads(database), max(2, params["constraints"])
        saved = {row[0] for row in database.execute("SELECT thread FROM bookmarks")}
        for row in (pick(rng, rows) for _ in range(12)):
            conditions = draw_conditions(rng, row, "board", ("author", "since", "until"), number)
            found = matching_threads(database, conditions)
            if len(found) <= params["items"] + 1 and not any(row["id"] in saved for row in found):
                threads = tuple((row["id"], row["title"]) for row in found)
                return {"conditions": tuple(conditions.items()), "threads": threads, "note": pick(rng, _NOTES)}
        return None

    def ask(self, slots: Slots) -> str:
        what = describe_matches("threads", "started", dict(slots["conditions"]))
        return f'Bookmark all {what}, each with the private note "{slots["note"]}".'

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]))
        super().solve(walk, slots, goal)


@add_template
class RemoveBookmarks(WebTemplate):
    """Remove bookmarks, and leave the others."""

    site, name, intent = "forum", "remove-bookmarks", "bookmark"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_threads(database, "t.id IN (SELECT thread FROM bookmarks)")
        chosen = [rows[place] for place in rng.permutation(len(rows))[: params["items"]].tolist()]
        return {"threads": tuple((row["id"], row["title"]) for row in chosen)}

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{title}"' for _, title in slots["threads"]])
        return f"Remove from my bookmarks: {titles}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        notes = dict(database.execute("SELECT thread, note FROM bookmarks").fetchall())
        rows = tuple((thread, notes[thread]) for thread, _ in slots["threads"])
        return Goal(removed={"bookmarks": rows}, pages=("/bookmarks",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Bookmarks")
        for _, title in slots["threads"]:
            walk.click("button", f"Remove {title}")
