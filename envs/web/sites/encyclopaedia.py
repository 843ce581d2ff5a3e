"""Site "wiki", an encyclopaedia: articles with links and infoboxes, search by words, lists by category, a watch list.

The signed-in reader may edit the values in the infobox of an article and watch articles with a note; texts cannot be
edited. The articles and the BM25 search come from `wiki.corpus`.
"""

from __future__ import annotations

import re
import sqlite3
from html import unescape
from typing import Any
from urllib.parse import urlencode

import numpy as np
from markupsafe import Markup, escape
from werkzeug.exceptions import NotFound

from ..wiki.corpus import LINK, make_corpus
from .details import HasDetails
from .encyclopaedia_content import MEASURES, PLURALS, fill_encyclopaedia, read_text, read_value
from .exchange import Response, WebRequest
from .site import SITES, paginate, read_form, read_number, route

PER_PAGE = 10
_WRONG = {
    "number": "Write a whole number.",
    "year": "Write a year as 1845.",
    "date": "Write a date as 12 March 1845.",
}


class Encyclopaedia(HasDetails):
    """Web application of the encyclopaedia; see the module."""

    name = "wiki"
    schema = """
        CREATE TABLE source (seed INTEGER, size INTEGER);
        CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, kind TEXT, about TEXT, body TEXT);
        CREATE TABLE facts (
            id INTEGER PRIMARY KEY, article INTEGER, label TEXT, relation TEXT, value TEXT, place INTEGER,
            amount INTEGER
        );
        CREATE INDEX facts_of ON facts (article);
        CREATE TABLE links (source INTEGER, target INTEGER, relation TEXT);
        CREATE INDEX links_from ON links (source);
        CREATE INDEX links_to ON links (target);
        CREATE TABLE watched (id INTEGER PRIMARY KEY, article INTEGER, note TEXT);
        CREATE TABLE edits (id INTEGER PRIMARY KEY, article INTEGER, label TEXT, old TEXT, new TEXT, summary TEXT);
    """
    judged = {  # noqa: RUF012
        "facts": "SELECT article, label, value FROM facts",
        "watched": "SELECT article, note FROM watched",
        "edits": "SELECT article, label, new, summary FROM edits",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_encyclopaedia(database, size, rng)

    def surroundings(self) -> dict[str, Any]:
        return {"plurals": PLURALS}

    # Reading.

    @route("/")
    def home(self, request: WebRequest) -> Response:
        kinds = self.query("SELECT kind, count(*) AS number FROM articles GROUP BY kind ORDER BY kind")
        return self.page(request, "home.html", kinds=kinds, edits=self._edits("1 ORDER BY e.id DESC LIMIT 5"))

    @route("/search")
    def search(self, request: WebRequest) -> Response:
        wanted = request.args.get("q", "").strip()
        found = make_corpus(*self.one("SELECT seed, size FROM source")).search(wanted)
        shown, _ = paginate(request.args, len(found), PER_PAGE)
        start = (shown["page"] - 1) * PER_PAGE
        sql = "SELECT id, title, kind, about FROM articles WHERE id = ?"
        articles = [self.one(sql, number + 1) for number in found[start : start + PER_PAGE]]
        same = urlencode({"q": wanted})
        return self.page(
            request, "search.html", wanted=wanted, articles=articles, number=len(found), same=same, **shown
        )

    @route("/category/<kind>")
    def category(self, request: WebRequest, kind: str) -> Response:
        """Show the articles of a kind, sorted by title or by a value, and filtered by limits on that value."""
        if kind not in PLURALS:
            raise NotFound
        wanted = {name: request.args.get(name, "").strip() for name in ("q", "sort", "low", "high")}
        measures = [label for label, _ in MEASURES[kind]]
        sort = wanted["sort"] if wanted["sort"] in measures else ""
        sql = "FROM articles a LEFT JOIN facts f ON f.article = a.id AND f.label = ? WHERE a.kind = ?"
        values: list[Any] = [sort, kind]
        for word in wanted["q"].split()[:12]:
            sql += " AND instr(lower(a.title), lower(?))"
            values.append(word)
        errors = {}
        for name, comparison in (("low", ">="), ("high", "<=")):
            if not wanted[name]:
                continue
            limit = read_number(wanted[name].replace(",", ""), 0, 999_999_999, -1)
            if limit < 0:
                errors[name] = "Write a whole number or a year."
            elif not sort:
                errors[name] = "Choose in the list above which value this is a limit of."
            else:
                sql += f" AND f.amount {comparison} ?"
                values.append(limit)
        (number,) = self.one(f"SELECT count(*) {sql}", *values)
        shown, limits = paginate(request.args, number, PER_PAGE)
        order = "f.place IS NULL, f.place DESC, a.title" if sort else "a.title"
        found = self.query(f"SELECT a.*, f.value {sql} ORDER BY {order} {limits}", *values)
        same = urlencode([(name, value) for name, value in wanted.items() if value])
        lists = {"measures": (("", "Title"), *((one, f"{one}, highest or latest first") for one in measures))}
        context = {"found": found, "number": number, "wanted": {**wanted, "sort": sort}, "errors": errors, "same": same}
        return self.page(request, "category.html", kind=kind, **lists, **context, **shown)

    @route("/article/<int:article>")
    def article(self, request: WebRequest, article: int) -> Response:
        found = self.one("SELECT * FROM articles WHERE id = ?", article)
        watched = self.query("SELECT note FROM watched WHERE article = ?", article)
        context = {"facts": self._facts(article), "watched": watched, "body": self._write_links(found)}
        return self.page(request, "article.html", article=found, **context)

    def _write_links(self, article: sqlite3.Row) -> Markup:
        """Return the text of an article as HTML; each link shows the title of the linked article."""
        sql = "SELECT a.title, a.id FROM links l JOIN articles a ON a.id = l.target WHERE l.source = ?"
        targets = {row["title"]: row["id"] for row in self.query(sql, article["id"])}

        def write(found: re.Match[str]) -> str:
            return f'<a href="/article/{targets[unescape(found[1])]}">{found[1]}</a>'

        return Markup(LINK.sub(write, str(escape(read_text(self.database, article["id"])))))

    def _facts(self, article: int) -> list[sqlite3.Row]:
        return self.query("SELECT * FROM facts WHERE article = ? ORDER BY id", article)

    @route("/article/<int:article>/links")
    def links(self, request: WebRequest, article: int) -> Response:
        """Show the articles that link to an article, all or those of one kind."""
        found, kind = self.one("SELECT * FROM articles WHERE id = ?", article), request.args.get("kind", "")
        sql = "FROM articles a JOIN (SELECT DISTINCT source FROM links WHERE target = ?) l ON l.source = a.id"
        kinds = tuple(
            (row[0], PLURALS[row[0]]) for row in self.query(f"SELECT DISTINCT a.kind {sql} ORDER BY 1", article)
        )
        where, values = (f"{sql} WHERE a.kind = ?", [article, kind]) if kind else (sql, [article])
        (number,) = self.one(f"SELECT count(*) {where}", *values)
        shown, limits = paginate(request.args, number, PER_PAGE)
        articles = self.query(f"SELECT a.* {where} ORDER BY a.title {limits}", *values)
        context = {"articles": articles, "number": number, "kinds": kinds, "kind": kind}
        same = urlencode({"kind": kind}) if kind else ""
        return self.page(request, "links.html", article=found, same=same, **context, **shown)

    @route("/article/<int:article>/history")
    def history(self, request: WebRequest, article: int) -> Response:
        found = self.one("SELECT * FROM articles WHERE id = ?", article)
        edits = self._edits("e.article = ? ORDER BY e.id DESC", article)
        return self.page(request, "history.html", article=found, edits=edits)

    def _edits(self, where: str, *values: Any) -> list[sqlite3.Row]:
        return self.query(
            f"SELECT e.*, a.title FROM edits e JOIN articles a ON a.id = e.article WHERE {where}", *values
        )

    # Writing.

    @route("/article/<int:article>/edit", "GET", "POST")
    def edit(self, request: WebRequest, article: int) -> Response:
        found, facts = self.one("SELECT * FROM articles WHERE id = ?", article), self._facts(article)
        if not facts:
            raise NotFound
        # Fields are named by the ids of facts, because labels are phrases.
        form = {f"value{row['id']}": row["value"] for row in facts} | {"summary": ""}
        errors: dict[str, str] = {}
        if request.method == "POST":
            form = read_form(request, *form)
            kinds, changes = dict(MEASURES[found["kind"]]), []
            for row in facts:
                read = read_value(kinds[row["label"]], form[f"value{row['id']}"])
                if read is None:
                    errors[f"value{row['id']}"] = _WRONG[kinds[row["label"]]]
                elif read[0] != row["value"]:
                    changes.append((row, read))
            if not form["summary"]:
                errors["summary"] = "Say in a few words what you change and why."
            if not errors:
                for row, read in changes:
                    self.query("UPDATE facts SET value = ?, place = ?, amount = ? WHERE id = ?", *read, row["id"])
                    sql = "INSERT INTO edits (article, label, old, new, summary) VALUES (?, ?, ?, ?, ?)"
                    self.query(sql, article, row["label"], row["value"], read[0], form["summary"])
                message = "Your edit is saved." if changes else "Nothing was changed."
                return self.redirect(f"/article/{article}", message)
        context = {"facts": facts, "form": form, "errors": errors}
        return self.page(request, "edit.html", article=found, **context)

    @route("/article/<int:article>/watch", "POST")
    def watch(self, request: WebRequest, article: int) -> Response:
        self.one("SELECT 1 FROM articles WHERE id = ?", article)
        self.query("DELETE FROM watched WHERE article = ?", article)
        if request.form.get("action") == "stop":
            return self.redirect(f"/article/{article}", "You no longer watch this article.")
        self.query("INSERT INTO watched (article, note) VALUES (?, ?)", article, read_form(request, "note")["note"])
        return self.redirect(f"/article/{article}", "You watch this article.")

    @route("/watchlist", "GET", "POST")
    def watchlist(self, request: WebRequest) -> Response:
        if request.method == "POST":
            article = read_number(request.form.get("article"), 1, 999_999_999, 0)
            self.query("DELETE FROM watched WHERE article = ?", article)
            return self.redirect("/watchlist", "The article is off your watch list.")
        sql = "SELECT a.*, w.note FROM watched w JOIN articles a ON a.id = w.article ORDER BY a.title"
        return self.page(request, "watchlist.html", articles=self.query(sql))


SITES.add(Encyclopaedia.name, Encyclopaedia)
