"""Site "forum": boards, threads that go on over pages, votes, search, profiles, private bookmarks, reports, moderation.

The signed-in user may edit their own posts and, as a moderator, lock and pin threads and remove replies.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
from werkzeug.exceptions import Forbidden

from .details import HasDetails
from .exchange import Response, WebRequest
from .forum_content import NOW, REASONS_TO_REPORT, VISITOR, fill_forum
from .list_page import Filter, ListPage, date_filter, read_id
from .site import SITES, need_number, paginate, read_form, read_number, route

POSTS_ON_PAGE = 5


def _describe(noun: str, verb: str, parts: Mapping[str, str]) -> str:
    """Join conditions in words, as in "threads in the board Baking started by Kim Novak"."""
    dates = " and ".join(parts[name] for name in ("since", "until") if name in parts)
    verb = verb if "author" in parts or dates else ""
    return " ".join(filter(None, (noun, parts.get("board"), verb, parts.get("author"), dates)))


def _make_filters(table: str) -> dict[str, Filter]:
    return {
        "board": Filter("t.board = ?", "Board", "in the board {}".format, task_sql="b.name = ?", read=read_id),
        "author": Filter("lower(u.name) = lower(?)", "Author", "by {}".format, "u.name = ?", control="text"),
        "since": date_filter(f"{table}.day >= ?", "From date", "on or after {}"),
        "until": date_filter(f"{table}.day <= ?", "To date", "on or before {}"),
    }


THREADS = ListPage(
    path="/search",
    search_box="Search threads",
    table="threads t JOIN users u ON u.id = t.author JOIN boards b ON b.id = t.board",
    columns="t.*, u.name AS author_name, b.name AS board_name",
    key="t.id",
    search="t.title",
    filters=_make_filters("t"),
    sorts={
        "active": ("Latest activity", "t.last DESC, t.id DESC"),
        "new": ("Newest", "t.day DESC, t.id DESC"),
        "replies": ("Most replies", "t.replies DESC, t.title"),
        "votes": ("Most votes", "t.votes DESC, t.title"),
        "title": ("Title", "t.title"),
    },
    per_page=8,
    join=functools.partial(_describe, "threads", "started"),
)
POSTS = ListPage(
    path="/posts",
    links=("Search posts",),
    table="posts p JOIN users u ON u.id = p.author JOIN threads t ON t.id = p.thread",
    joins="JOIN boards b ON b.id = t.board",
    page_joins="LEFT JOIN votes v ON v.post = p.id",
    columns="p.id, p.number, p.thread, p.author, p.day, p.votes, u.name AS author_name, b.name AS board_name, t.title",
    page_columns="p.body, p.edited, p.removed, v.value AS vote",
    key="p.id",
    search="p.body",
    always="NOT p.removed",
    filters=_make_filters("p"),
    sorts={
        "old": ("Oldest", "p.day, p.id"),
        "new": ("Newest", "p.day DESC, p.id DESC"),
        "votes": ("Most votes", "p.votes DESC, p.id"),
    },
    per_page=8,
    join=functools.partial(_describe, "posts", "written"),
)
# Statement that must be run after every change of posts or votes.
SUMMARISE_THREADS = """
    UPDATE threads SET last = (SELECT max(day) FROM posts WHERE thread = threads.id),
    votes = (SELECT votes FROM posts WHERE thread = threads.id AND number = 1),
    replies = (SELECT count(*) FROM posts WHERE thread = threads.id AND number > 1 AND NOT removed)
"""


class Forum(HasDetails):
    """Web application of the forum; see the module."""

    name = "forum"
    schema = """
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, role TEXT, joined TEXT);
        CREATE TABLE boards (id INTEGER PRIMARY KEY, name TEXT, about TEXT);
        CREATE TABLE threads (
            id INTEGER PRIMARY KEY, board INTEGER, title TEXT, author INTEGER, day TEXT, locked INTEGER DEFAULT 0,
            pinned INTEGER DEFAULT 0, last TEXT, votes INTEGER DEFAULT 0, replies INTEGER DEFAULT 0
        );
        CREATE TABLE posts (
            id INTEGER PRIMARY KEY, thread INTEGER, number INTEGER, author INTEGER, day TEXT, body TEXT,
            votes INTEGER DEFAULT 0, edited INTEGER DEFAULT 0, removed INTEGER DEFAULT 0
        );
        CREATE INDEX posts_of ON posts (thread, number);
        CREATE TABLE votes (post INTEGER PRIMARY KEY, value INTEGER);
        CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, thread INTEGER, note TEXT);
        CREATE TABLE reports (id INTEGER PRIMARY KEY, post INTEGER, reason TEXT, comment TEXT);
    """
    judged = {  # noqa: RUF012
        "threads": "SELECT id, board, title, author, locked, pinned FROM threads",
        "posts": "SELECT thread, author, body, removed FROM posts",
        "votes": "SELECT post, value FROM votes",
        "bookmarks": "SELECT thread, note FROM bookmarks",
        "reports": "SELECT post, reason, comment FROM reports",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_forum(database, size, rng)

    def surroundings(self) -> dict[str, Any]:
        return {"visitor": self.one("SELECT * FROM users WHERE id = ?", VISITOR)}

    def _boards(self) -> tuple[tuple[int, str], ...]:
        """Return (id, name) of all boards, as options of a list."""
        return tuple((row["id"], row["name"]) for row in self.query("SELECT id, name FROM boards ORDER BY name"))

    def _need_moderator(self) -> None:
        if self.one("SELECT role FROM users WHERE id = ?", VISITOR)["role"] != "moderator":
            raise Forbidden

    # Reading.

    @route("/")
    def home(self, request: WebRequest) -> Response:
        sql = "SELECT b.*, (SELECT count(*) FROM threads WHERE board = b.id) AS number FROM boards b ORDER BY b.name"
        latest = self.query(f"{THREADS.sql} ORDER BY {THREADS.order_of('active')} LIMIT 4")
        return self.page(request, "home.html", boards=self.query(sql), threads=latest)

    @route("/board/<int:board>")
    def board(self, request: WebRequest, board: int) -> Response:
        found = self.one("SELECT * FROM boards WHERE id = ?", board)
        (number,) = self.one("SELECT count(*) FROM threads WHERE board = ?", board)
        sort = request.args.get("sort", "")
        order = THREADS.order_of(sort)
        shown, limits = paginate(request.args, number, THREADS.per_page)
        threads = self.query(f"{THREADS.sql} WHERE t.board = ? ORDER BY t.pinned DESC, {order} {limits}", board)
        context = {"threads": threads, "number": number, "sorts": THREADS.sorts, "sort": sort}
        return self.page(request, "board.html", board=found, **context, **shown)

    @route("/search")
    def search(self, request: WebRequest) -> Response:
        return self._search(request, THREADS, "t")

    @route("/posts")
    def posts(self, request: WebRequest) -> Response:
        return self._search(request, POSTS, "p")

    def _search(self, request: WebRequest, list_page: ListPage, kind: str) -> Response:
        wanted = {name: request.args.get(name, "").strip() for name in list_page.fields}
        shown = list_page.show(self, wanted, request.args)
        shown["same"] = urlencode([(name, value) for name, value in request.args.items() if name != "page" and value])
        context = {"boards": self._boards(), "kind": kind, **shown}
        return self.page(request, "search.html", **context)

    @route("/thread/<int:thread>")
    def thread(self, request: WebRequest, thread: int) -> Response:
        return self._show_thread(request, thread)

    def _show_thread(self, request: WebRequest, thread: int, **context: Any) -> Response:
        found = self.one(f"{THREADS.sql} WHERE t.id = ?", thread)
        (number,) = self.one("SELECT count(*) FROM posts WHERE thread = ?", thread)
        shown, limits = paginate(request.args, number, POSTS_ON_PAGE)
        sort = request.args.get("sort", "")
        posts = self.query(f"{POSTS.sql} WHERE p.thread = ? ORDER BY {POSTS.order_of(sort)} {limits}", thread)
        saved = self.query("SELECT note FROM bookmarks WHERE thread = ?", thread)
        lists = {"posts": posts, "saved": saved, "sort": sort, "sorts": POSTS.sorts}
        context = {"form": {"body": ""}, "errors": {}} | context
        return self.page(request, "thread.html", thread=found, **lists, **shown, **context)

    @route("/user/<int:user>")
    def user(self, request: WebRequest, user: int) -> Response:
        found = self.one("SELECT * FROM users WHERE id = ?", user)
        started = self.one("SELECT count(*) FROM threads WHERE author = ?", user)[0]
        number, votes = self.one(
            "SELECT count(*), coalesce(sum(votes), 0) FROM posts WHERE author = ? AND NOT removed", user
        )
        shown, limits = paginate(request.args, number, POSTS_ON_PAGE)
        posts = self.query(
            f"{POSTS.sql} WHERE p.author = ? AND NOT p.removed ORDER BY {POSTS.order_of('new')} {limits}", user
        )
        counts = {"number": number, "started": started, "votes": votes}
        return self.page(request, "user.html", user=found, posts=posts, **counts, **shown)

    # Writing.

    @route("/new", "GET", "POST")
    def new(self, request: WebRequest) -> Response:
        boards = self._boards()
        if request.method == "GET":
            form = {"board": request.args.get("board", ""), "title": "", "body": ""}
            return self.page(request, "new.html", boards=boards, form=form, errors={})
        form = read_form(request, "board", "title", "body")
        board = read_number(form["board"], 1, 10_000, 0)
        errors = {}
        if not any(number == board for number, _ in boards):
            errors["board"] = "Choose a board."
        if not form["title"]:
            errors["title"] = "Enter a title."
        elif self.query("SELECT 1 FROM threads WHERE lower(title) = lower(?)", form["title"]):
            errors["title"] = "There is a thread with this title."
        if not form["body"]:
            errors["body"] = "Write a text."
        if errors:
            return self.page(request, "new.html", boards=boards, form=form, errors=errors)
        (thread,) = self.one("SELECT coalesce(max(id), 0) + 1 FROM threads")
        sql = "INSERT INTO threads (id, board, title, author, day) VALUES (?, ?, ?, ?, ?)"
        self.query(sql, thread, board, form["title"], VISITOR, NOW.isoformat())
        self._add_post(thread, form["body"])
        return self.redirect(f"/thread/{thread}", "Your thread is open.")

    def _add_post(self, thread: int, body: str) -> int:
        """Add a post by the visitor to a thread. Return the number of the post in the thread."""
        (number,) = self.one("SELECT coalesce(max(number), 0) + 1 FROM posts WHERE thread = ?", thread)
        sql = "INSERT INTO posts (thread, number, author, day, body) VALUES (?, ?, ?, ?, ?)"
        self.query(sql, thread, number, VISITOR, NOW.isoformat(), body)
        self.query(f"{SUMMARISE_THREADS} WHERE id = ?", thread)
        return number

    @route("/thread/<int:thread>/reply", "POST")
    def reply(self, request: WebRequest, thread: int) -> Response:
        if self.one("SELECT locked FROM threads WHERE id = ?", thread)["locked"]:
            raise Forbidden
        form = read_form(request, "body")
        if not form["body"]:
            return self._show_thread(request, thread, form=form, errors={"body": "Write a text."})
        number = self._add_post(thread, form["body"])
        return self.redirect(_page_of(thread, number), "Your reply is posted.")

    @route("/post/<int:post>/edit", "GET", "POST")
    def edit(self, request: WebRequest, post: int) -> Response:
        found = self._need_post(post)
        if found["author"] != VISITOR:
            raise Forbidden
        if request.method == "GET":
            return self.page(request, "edit.html", post=found, form={"body": found["body"]}, errors={})
        form = read_form(request, "body")
        if not form["body"]:
            return self.page(request, "edit.html", post=found, form=form, errors={"body": "Write a text."})
        self.query("UPDATE posts SET body = ?, edited = 1 WHERE id = ?", form["body"], post)
        return self.redirect(_page_of(found["thread"], found["number"]), "Your post is changed.")

    def _need_post(self, post: int) -> sqlite3.Row:
        """Return a post that is not removed; raise NotFound otherwise."""
        return self.one(f"{POSTS.sql} WHERE p.id = ? AND NOT p.removed", post)

    @route("/post/<int:post>/vote", "POST")
    def vote(self, request: WebRequest, post: int) -> Response:
        found = self._need_post(post)
        if found["author"] == VISITOR:
            raise Forbidden
        value = {"up": 1, "down": -1}.get(request.form.get("value", ""), 0)
        self.query("DELETE FROM votes WHERE post = ?", post)
        if value:
            self.query("INSERT INTO votes VALUES (?, ?)", post, value)
        self.query("UPDATE posts SET votes = votes + ? WHERE id = ?", value - (found["vote"] or 0), post)
        self.query(f"{SUMMARISE_THREADS} WHERE id = ?", found["thread"])
        label = {1: "You voted for", -1: "You voted against", 0: "You took back your vote on"}[value]
        return self.redirect(_page_of(found["thread"], found["number"]), f"{label} post {found['number']}.")

    @route("/post/<int:post>/report", "GET", "POST")
    def report(self, request: WebRequest, post: int) -> Response:
        found = self._need_post(post)
        form, errors = read_form(request, "reason", "comment"), {}
        if request.method == "POST":
            if form["reason"] in REASONS_TO_REPORT:
                sql = "INSERT INTO reports (post, reason, comment) VALUES (?, ?, ?)"
                self.query(sql, post, form["reason"], form["comment"])
                return self.redirect(_page_of(found["thread"], found["number"]), "Your report is sent.")
            errors["reason"] = "Choose a reason."
        context = {"form": form, "errors": errors, "reasons": REASONS_TO_REPORT}
        return self.page(request, "report.html", post=found, **context)

    @route("/bookmarks", "GET", "POST")
    def bookmarks(self, request: WebRequest) -> Response:
        if request.method == "GET":
            sql = f"SELECT t.*, m.note FROM bookmarks m JOIN ({THREADS.sql}) t ON t.id = m.thread ORDER BY m.id"
            return self.page(request, "bookmarks.html", threads=self.query(sql))
        thread = need_number(request.form.get("thread"))
        self.one("SELECT 1 FROM threads WHERE id = ?", thread)
        self.query("DELETE FROM bookmarks WHERE thread = ?", thread)
        if request.form.get("action") == "remove":
            return self.redirect("/bookmarks", "The bookmark is removed.")
        note = read_form(request, "note")["note"]
        self.query("INSERT INTO bookmarks (thread, note) VALUES (?, ?)", thread, note)
        return self.redirect(f"/thread/{thread}", "The thread is among your bookmarks.")

    # Moderation.

    @route("/thread/<int:thread>/moderate", "POST")
    def moderate(self, request: WebRequest, thread: int) -> Response:
        self._need_moderator()
        self.one("SELECT 1 FROM threads WHERE id = ?", thread)
        action = request.form.get("action", "")
        change = {"lock": "locked = 1", "unlock": "locked = 0", "pin": "pinned = 1", "unpin": "pinned = 0"}.get(action)
        if change is None:
            raise Forbidden
        self.query(f"UPDATE threads SET {change} WHERE id = ?", thread)
        return self.redirect(f"/thread/{thread}", "The thread is changed.")

    @route("/post/<int:post>/remove", "POST")
    def remove(self, request: WebRequest, post: int) -> Response:
        self._need_moderator()
        found = self._need_post(post)
        if found["number"] == 1:
            raise Forbidden
        self.query("UPDATE posts SET removed = 1 WHERE id = ?", post)
        self.query(f"{SUMMARISE_THREADS} WHERE id = ?", found["thread"])
        return self.redirect(_page_of(found["thread"], found["number"]), f"Post {found['number']} is removed.")


def _page_of(thread: int, number: int) -> str:
    """Return the address of the page of a thread that has post ``number``, counted from 1."""
    page = -(-number // POSTS_ON_PAGE)
    return f"/thread/{thread}?page={page}" if page > 1 else f"/thread/{thread}"


SITES.add(Forum.name, Forum)
