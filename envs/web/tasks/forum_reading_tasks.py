"""Templates of the forum that ask a question: find and report, count, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, ClassVar

from ..sites.forum import POSTS, THREADS
from .draws import best_of, pick, pick_in_order, pick_several
from .list_page_templates import BestTemplate, CountTemplate, GroupTemplate, ListPageTemplate, OpeningTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk


def draw_conditions(rng: Rng, row: sqlite3.Row, first: str, others: tuple[str, ...], number: int) -> dict[str, Any]:
    """Draw conditions that the thread or post ``row`` meets: the condition named ``first``, and ``number`` - 1 of
    ``others``."""
    names = pick_in_order(rng, others, number - 1)
    days = timedelta(days=int(rng.integers(0, 60)))
    values = {
        "board": row["board_name"],
        "author": row["author_name"],
        "since": (date.fromisoformat(row["day"]) - days).isoformat(),
        "until": (date.fromisoformat(row["day"]) + days).isoformat(),
    }
    return {name: values[name] for name in (first, *names)}


def sort_list(walk: Walk, order: str) -> None:
    """Sort the list of threads or posts by ``order``."""
    walk.select("Sort by", order)
    walk.click("button", "Sort")


class ThreadTemplate(ListPageTemplate):
    """Base of templates about the threads of a board that meet conditions."""

    site, list_page = "forum", THREADS

    def draw_conditions(self, rng: Rng, row: sqlite3.Row, number: int) -> dict[str, Any]:
        return draw_conditions(rng, row, "board", ("author", "since", "until"), number)


class PostTemplate(ListPageTemplate):
    """Base of templates about the posts of a user that meet conditions."""

    site, list_page = "forum", POSTS

    def draw_conditions(self, rng: Rng, row: sqlite3.Row, number: int) -> dict[str, Any]:
        return draw_conditions(rng, row, "author", ("board", "since", "until"), number)


@add_template
class ReportTopReply(WebTemplate):
    """Report who wrote the reply with the most votes in a thread; with more conditions, since a day and not counting a
    user."""

    site, name, intent, answer, pages = "forum", "report-top-reply", "report", "author", ("/thread/{thread}",)
    question = (
        'In the thread "{title}", which user wrote the reply with the most votes, of all replies{posted}{apart}? The '
        "first post is no reply. Answer with the name."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        thread = pick(rng, THREADS.select(database, "t.replies >= 3"))
        replies = POSTS.select(database, "p.thread = ? AND p.number > 1", thread["id"])
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

    def words(self, slots: Slots) -> Mapping[str, str]:
        posted = f" posted on or after {slots['since']}" if slots["since"] else ""
        apart = f", apart from those of {slots['besides']}" if slots["besides"] else ""
        return {"posted": posted, "apart": apart}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        sort_list(walk, "Most votes")
        while not any(line.name.startswith(f"Post {slots['number']} by ") for line in walk.browser.page.lines):
            walk.click("link", "Next page")


@add_template
class CountPosts(PostTemplate, CountTemplate):
    """Count the posts of a user, in a board or between dates."""

    name = "count-posts"
    question = "How many {what} are there? First posts of threads count as well. Answer with the number."


@add_template
class ReportMembership(WebTemplate):
    """Report the date on which the author of a post became a member, as shown in the profile."""

    site, name, intent, pages = "forum", "report-membership", "report", ("/thread/{thread}", "/user/{author}")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        post = pick(rng, POSTS.select(database, "p.number = 1" if params["constraints"] == 1 else "p.number > 1"))
        names = ("thread", "title", "number", "author", "author_name")
        return {name: post[name] for name in names}

    def ask(self, slots: Slots) -> str:
        what = "who started" if slots["number"] == 1 else f"who wrote post {slots['number']} in"
        return f'Since when is the user {what} the thread "{slots["title"]}" a member? Answer with the date.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (joined,) = database.execute("SELECT joined FROM users WHERE id = ?", (slots["author"],)).fetchone()
        return Goal(joined, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        walk.seek("link", f"Profile of {slots['author_name']} (post {slots['number']})")


@add_template
class CompareThreads(OpeningTemplate):
    """Name the thread with the most replies among several, by opening each."""

    site, name, objects, pages = "forum", "compare-threads", "threads", ("/thread/{0}",)
    question = "Which of these threads has the most replies: {titles}? Answer with its title."
    search_box, measure = THREADS.search_box, "replies"
    rows = "SELECT id, title, replies FROM threads ORDER BY id"


@add_template
class FindThread(ThreadTemplate, BestTemplate):
    """Name the thread with the most replies or votes among those that meet conditions; pinned threads may come first in
    the list."""

    name, question = "find-thread", "Of the {what}, which has the most {how}? Answer with its title."
    measures: ClassVar = {
        "replies": ("replies", "Most replies"),
        "votes": ("votes on its first post", "Most votes"),
    }

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row, measure = pick(rng, THREADS.select(database)), pick(rng, tuple(self.measures))
        conditions = self.draw_conditions(rng, row, params["constraints"])
        found = THREADS.find(database, conditions)
        if len(found) < 2 or best_of(found, measure) is None:
            return None
        return {"conditions": tuple(conditions.items()), "measure": measure}

    def goal(self, database: Database, slots: Slots) -> Goal:
        best = best_of(self.rows(database, slots), slots["measure"])
        return Goal(best["title"], milestone_pages=self.paths(slots))


@add_template
class CompareUsers(PostTemplate, GroupTemplate):
    """Name the user, of several, with the most posts in a board or between dates."""

    name, group, groups = "compare-users", "author", "users"
    question = "Which of these users has the most {what}: {groups}? First posts of threads count. Answer with the name."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        conditions = self.draw_conditions(rng, pick(rng, POSTS.select(database)), params["constraints"])
        names = [name for (name,) in database.execute("SELECT name FROM users ORDER BY id")]
        users = pick_several(rng, names, params["items"] + 1)
        del conditions["author"]
        counts = [len(POSTS.find(database, {"author": user, **conditions})) for user in users]
        return self.slots_of(conditions, users, counts)

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "groups": ", ".join(slots["users"])}
