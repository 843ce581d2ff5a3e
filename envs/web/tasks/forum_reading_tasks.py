"""Templates of the forum that are answered by reading: find and report, count, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from ..sites.list_page import name_all
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, best_of, pick
from .walk import Walk

_THREADS = """
    SELECT t.id, t.title, t.board, t.author, t.day, t.locked, t.pinned, t.replies, t.votes, u.name AS author_name,
    b.name AS board_name FROM threads t JOIN users u ON u.id = t.author JOIN boards b ON b.id = t.board
"""
_POSTS = """
    SELECT p.id, p.number, p.thread, p.author, p.day, p.votes, u.name AS author_name, b.name AS board_name,
    t.title FROM posts p JOIN users u ON u.id = p.author JOIN threads t ON t.id = p.thread
    JOIN boards b ON b.id = t.board
"""
_CLAUSES = {"board": "b.name = ?", "author": "u.name = ?", "since": "{}.day >= ?", "until": "{}.day <= ?"}


def select_threads(database: Database, where: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Select threads by an SQL condition; the aliases are ``t`` (threads), ``u`` (authors) and ``b`` (boards)."""
    return database.execute(f"{_THREADS} WHERE {where} ORDER BY t.id", values).fetchall()


def select_posts(database: Database, where: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Select posts by an SQL condition; the aliases are ``p`` (posts), ``u`` (authors), ``t`` (threads) and ``b``
    (boards)."""
    return database.execute(f"{_POSTS} WHERE {where} ORDER BY p.id", values).fetchall()


def matching_threads(database: Database, conditions: Mapping[str, Any]) -> list[sqlite3.Row]:
    """Return the threads that meet conditions, ordered by id."""
    where = " AND ".join(_CLAUSES[name].format("t") for name in conditions)
    return select_threads(database, where, *conditions.values())


def matching_posts(database: Database, conditions: Mapping[str, Any]) -> list[sqlite3.Row]:
    """Return the posts that meet conditions, ordered by id."""
    where = " AND ".join(_CLAUSES[name].format("p") for name in conditions)
    return select_posts(database, where, *conditions.values())


def draw_conditions(rng: Rng, row: sqlite3.Row, first: str, others: tuple[str, ...], number: int) -> dict[str, Any]:
    """Draw conditions that a thread or post meets: ``first``, and ``number`` - 1 of ``others``."""
    names = [others[place] for place in sorted(rng.permutation(len(others))[: number - 1].tolist())]
    days = timedelta(days=int(rng.integers(0, 60)))
    values = {
        "board": row["board_name"],
        "author": row["author_name"],
        "since": (date.fromisoformat(row["day"]) - days).isoformat(),
        "until": (date.fromisoformat(row["day"]) + days).isoformat(),
    }
    return {name: values[name] for name in (first, *names)}


def describe_matches(noun: str, verb: str, conditions: Mapping[str, Any]) -> str:
    """Describe conditions on threads or posts, as in "threads in the board Baking started by Kim Novak"."""
    words = [noun]
    if "board" in conditions:
        words.append(f"in the board {conditions['board']}")
    if "author" in conditions:
        words.append(f"{verb} by {conditions['author']}")
    elif "since" in conditions or "until" in conditions:
        words.append(verb)
    if "since" in conditions:
        words.append(f"on or after {conditions['since']}")
    if "until" in conditions:
        words.append(f"{'and ' if 'since' in conditions else ''}on or before {conditions['until']}")
    return " ".join(words)


def filter_list(walk: Walk, conditions: Mapping[str, Any], sort: str = "", posts: bool = False) -> None:
    """Search threads or posts under conditions."""
    if posts:
        walk.click("link", "Search posts")
    else:
        walk.fill("Search threads", "")
        walk.press_enter("searchbox", "Search threads")
    if "board" in conditions:
        walk.select("Board", conditions["board"])
    for name, label in (("author", "Author"), ("since", "From date"), ("until", "To date")):
        if name in conditions:
            walk.fill(label, conditions[name])
    if sort:
        walk.select("Sort by", sort)
    walk.click("button", "Apply filters")


def open_thread(walk: Walk, title: str) -> None:
    """Search for a thread by its title, and open it."""
    walk.fill("Search threads", title)
    walk.press_enter("searchbox", "Search threads")
    walk.seek("link", title)


def find_post(walk: Walk, number: int) -> None:
    """Go on over the pages of a thread until a post is there."""
    while not any(line.name.startswith(f"Post {number} by ") for line in walk.browser.page.lines):
        walk.click("link", "Next page")


def sort_list(walk: Walk, order: str) -> None:
    """Sort the list of threads or posts by ``order``."""
    walk.select("Sort by", order)
    walk.click("button", "Sort")


@add_template
class ReportTopReply(WebTemplate):
    """Report who wrote the reply with the most votes in a thread, under conditions."""

    site, name, intent = "forum", "report-top-reply", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        thread = pick(rng, select_threads(database, "t.replies >= 3"))
        replies = select_posts(database, "p.thread = ? AND p.number > 1", thread["id"])
        since = pick(rng, replies[: len(replies) // 2 + 1])["day"] if params["constraints"] > 1 else ""
        replies = [row for row in replies if row["day"] >= since]
        besides = ""
        if params["constraints"] > 2:
            besides = max(replies, key=lambda row: row["votes"])["author_name"]
            replies = [row for row in replies if row["author_name"] != besides]
        best = best_of(replies, "votes")
        if best is None:
            return None
        place = {"thread": thread["id"], "title": thread["title"], "number": best["number"]}
        return {**place, "since": since, "besides": besides, "author": best["author_name"]}

    def ask(self, slots: Slots) -> str:
        since = f" posted on or after {slots['since']}" if slots["since"] else ""
        besides = f", apart from those of {slots['besides']}" if slots["besides"] else ""
        return (
            f'In the thread "{slots["title"]}", which user wrote the reply with the most votes, of all replies{since}'
            f"{besides}? The first post is no reply. Answer with the name."
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["author"], pages=(f"/thread/{slots['thread']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_thread(walk, slots["title"])
        sort_list(walk, "Most votes")
        find_post(walk, slots["number"])


@add_template
class CountPosts(WebTemplate):
    """Count the posts of a user, in a board or between dates."""

    site, name, intent = "forum", "count-posts", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, select_posts(database))
        conditions = draw_conditions(rng, row, "author", ("board", "since", "until"), params["constraints"])
        return {"conditions": tuple(conditions.items())}

    def ask(self, slots: Slots) -> str:
        what = describe_matches("posts", "written", dict(slots["conditions"]))
        return f"How many {what} are there? First posts of threads count as well. Answer with the number."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(str(len(matching_posts(database, dict(slots["conditions"])))), "number", pages=("/posts",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]), posts=True)


@add_template
class ReportMembership(WebTemplate):
    """Report the date on which the author of a post became a member, as shown in the profile."""

    site, name, intent = "forum", "report-membership", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        post = pick(rng, select_posts(database, "p.number = 1" if params["constraints"] == 1 else "p.number > 1"))
        names = ("thread", "title", "number", "author", "author_name")
        return {name: post[name] for name in names}

    def ask(self, slots: Slots) -> str:
        what = "who started" if slots["number"] == 1 else f"who wrote post {slots['number']} in"
        return f'Since when is the user {what} the thread "{slots["title"]}" a member? Answer with the date.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (joined,) = database.execute("SELECT joined FROM users WHERE id = ?", (slots["author"],)).fetchone()
        return Goal(joined, pages=(f"/thread/{slots['thread']}", f"/user/{slots['author']}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_thread(walk, slots["title"])
        walk.seek("link", f"Profile of {slots['author_name']} (post {slots['number']})")


@add_template
class CompareThreads(WebTemplate):
    """Name the thread with the most replies among several, by opening each."""

    site, name, intent = "forum", "compare-threads", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_threads(database)
        chosen = [rows[place] for place in rng.permutation(len(rows))[: params["items"] + 1].tolist()]
        if best_of(chosen, "replies") is None:
            return None
        return {"threads": tuple((row["id"], row["title"]) for row in chosen)}

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{title}"' for _, title in slots["threads"]])
        return f"Which of these threads has the most replies: {titles}? Answer with its title."

    def goal(self, database: Database, slots: Slots) -> Goal:
        replies = dict(database.execute("SELECT id, replies FROM threads").fetchall())
        best = max(slots["threads"], key=lambda thread: replies[thread[0]])
        return Goal(best[1], pages=tuple(f"/thread/{thread}" for thread, _ in slots["threads"]))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots["threads"]:
            open_thread(walk, title)


@add_template
class FindThread(WebTemplate):
    """Name the thread with the most replies or votes among those that meet conditions; pinned threads may come first in
    the list."""

    site, name, intent = "forum", "find-thread", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row, measure = pick(rng, select_threads(database)), pick(rng, ("replies", "votes"))
        conditions = draw_conditions(rng, row, "board", ("author", "since", "until"), params["constraints"])
        found = matching_threads(database, conditions)
        if len(found) < 2 or best_of(found, measure) is None:
            return None
        return {"conditions": tuple(conditions.items()), "measure": measure}

    def ask(self, slots: Slots) -> str:
        what = describe_matches("threads", "started", dict(slots["conditions"]))
        how = "replies" if slots["measure"] == "replies" else "votes on its first post"
        return f"Of the {what}, which has the most {how}? Answer with its title."

    def goal(self, database: Database, slots: Slots) -> Goal:
        best = best_of(matching_threads(database, dict(slots["conditions"])), slots["measure"])
        assert best is not None
        return Goal(best["title"], pages=("/search",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]), f"Most {slots['measure']}")


@add_template
class CompareUsers(WebTemplate):
    """Name the user with the most posts of several, in a board or between dates."""

    site, name, intent = "forum", "compare-users", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, select_posts(database))
        conditions = draw_conditions(rng, row, "author", ("board", "since", "until"), params["constraints"])
        names = [name for (name,) in database.execute("SELECT name FROM users ORDER BY id")]
        users = [names[place] for place in rng.permutation(len(names))[: params["items"] + 1].tolist()]
        del conditions["author"]
        counts = [len(matching_posts(database, {"author": user, **conditions})) for user in users]
        if counts.count(max(counts)) > 1:
            return None
        return {"conditions": tuple(conditions.items()), "users": tuple(users), "best": users[int(np.argmax(counts))]}

    def ask(self, slots: Slots) -> str:
        what = describe_matches("posts", "written", dict(slots["conditions"]))
        users = ", ".join(slots["users"])
        return f"Which of these users has the most {what}: {users}? First posts of threads count. Answer with the name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=("/posts",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for user in slots["users"]:
            filter_list(walk, {"author": user, **dict(slots["conditions"])}, posts=True)
