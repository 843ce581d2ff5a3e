"""Tricks that a portal plays on its visitor, for tasks with traps: boxes that are ticked already, a failing server,
confirmations with the wrong default, and changes by somebody else between two pages.

The sites know nothing of it: `TrickPortal` alters requests to them and pages from them. The tricks that are left are
rows of one more database of the portal, `Tricks`, so that they are part of the state.
"""

from __future__ import annotations

import io
import re
import sqlite3
from typing import Any

import numpy as np
from markupsafe import Markup

from .exchange import WebRequest
from .portal import Answer, Portal
from .site import SITES, WebSite

KINDS = {
    "box": "The form that is sent to ``path`` has a ticked box with the label ``text``. What is sent is recorded.",
    "preset": 'The radio button ``text``, "name=value", is chosen already on the page ``path``.',
    "change": "After ``path`` was answered, somebody else runs the SQL statement ``text``. Happens once.",
    "conflict": "A form that is sent to ``path`` is refused once, as somebody else has changed what it shows.",
    "refusal": "A form that is sent to ``path`` is not carried out. Happens once.",
    "silence": "A form that is sent to ``path`` is carried out, but the page does not say so. Happens once.",
    "question": "A form that is sent to ``path`` is carried out only after a question, ``text``. Happens once.",
}
"""Kinds of tricks. Paths begin with the name of the site."""
_ONCE = ("change", "conflict", "refusal", "silence", "question")
# Heading, text and label of the button that sends the form again.
_PAGES = {
    "refusal": ("Something went wrong", "The server was busy. Nothing has been saved. You may try again.", "Try again"),
    "silence": (
        "Something went wrong",
        "The connection broke off after your form had been sent. Your changes may have been saved or not.",
        "Try again",
    ),
    "conflict": (
        "Changed by somebody else",
        "Somebody else has changed these data since you opened the form. Saving replaces their changes.",
        "Save all the same",
    ),
    "question": ("Are you sure?", "", "Yes, go on"),
}
_FORM = re.compile(rb'<form\b[^>]*\bmethod="post"[^>]*>')
_ACTION = re.compile(rb'\baction="([^"]*)"')


class Tricks(WebSite):
    """Database of the tricks; it has no pages."""

    name = "tricks"
    schema = """
        CREATE TABLE tricks (
            id INTEGER PRIMARY KEY, kind TEXT, path TEXT, text TEXT, need TEXT, ticked INTEGER DEFAULT 0
        );
    """
    judged = {"boxes": "SELECT text FROM tricks WHERE ticked"}  # noqa: RUF012

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        """Leave the table empty."""


def add_trick(database: sqlite3.Connection, kind: str, path: str, text: str = "", need: str = "") -> None:
    """Add a trick; see `KINDS`.

    Args:
        database: database of `Tricks`.
        kind: the kind of trick.
        path: the path with the name of the site in front, such as "/shop/checkout".
        text: what the kind needs.
        need: "name=value" of a field that a form must have; "" for any form.
    """
    sql = "INSERT INTO tricks (kind, path, text, need) VALUES (?, ?, ?, ?)"
    database.execute(sql, (kind, path, text, need))


class TrickPortal(Portal):
    """Portal with tricks; see the module."""

    def serve(self, name: str, environ: dict[str, Any]) -> Answer:
        # `state` may be called in another thread.
        with self.sites["tricks"].lock:
            return self._play(name, environ)

    def _play(self, name: str, environ: dict[str, Any]) -> Answer:
        database, path = self.sites["tricks"].database, environ["PATH_INFO"]
        tricks = database.execute("SELECT * FROM tricks WHERE path = ? ORDER BY id", (path,)).fetchall()
        sends, fields = environ["REQUEST_METHOD"] == "POST", []
        if sends and tricks:
            # The form is read here and again by the site.
            length = int(environ.get("CONTENT_LENGTH") or 0)
            body = environ["wsgi.input"].read(length)
            environ["wsgi.input"] = io.BytesIO(body)
            fields = [*WebRequest({**environ, "wsgi.input": io.BytesIO(body)}).form.items(multi=True)]
        tricks = [one for one in tricks if not sends or not one["need"] or tuple(one["need"].split("=")) in fields]
        once = next((one for one in tricks if one["kind"] in _ONCE and sends is (one["kind"] != "change")), None)
        if once is not None:
            database.execute("DELETE FROM tricks WHERE id = ?", (once["id"],))
            if once["kind"] in ("conflict", "refusal", "question"):
                return self._ask_again(environ, once, fields)
        status, headers, content = super().serve(name, environ)
        if once is not None and once["kind"] == "silence":
            return self._ask_again(environ, once, fields)
        if once is not None:
            with self.sites[name].lock:
                self.sites[name].database.execute(once["text"])
        for one in tricks:
            if one["kind"] == "box" and sends and int(status[:3]) < 400:
                ticked = (f"box{one['id']}", "yes") in fields
                database.execute("UPDATE tricks SET ticked = ? WHERE id = ?", (ticked, one["id"]))
        return status, headers, self._alter_page(path, content)

    def _alter_page(self, path: str, content: bytes) -> bytes:
        """Add the ticked boxes to the forms of a page, and choose the preset radio buttons."""
        database = self.sites["tricks"].database
        for one in database.execute("SELECT * FROM tricks WHERE kind IN ('box', 'preset') ORDER BY id").fetchall():
            if one["kind"] == "preset" and one["path"] == path:
                field, _, value = one["text"].partition("=")
                pattern = rf'(<input type="radio" name="{field}" value="([^"]*)")(?: checked)?'
                content = re.sub(
                    pattern.encode(),
                    lambda found, value=value: found[1] + (b" checked" if found[2] == value.encode() else b""),
                    content,
                )
            for form in _FORM.finditer(content) if one["kind"] == "box" else ():
                action = _ACTION.search(form[0])
                if (action[1].decode() if action else path) == one["path"]:
                    box = Markup(
                        '<label class="option"><input type="checkbox" name="box{}" value="yes" checked> {}</label>\n'
                    ).format(one["id"], one["text"])
                    place = content.index(b"<button", form.end())
                    content = content[:place] + box.encode() + content[place:]
                    break
        return content

    def _ask_again(self, environ: dict[str, Any], trick: sqlite3.Row, fields: list[tuple[str, str]]) -> Answer:
        """Return a page with a button that sends the form again."""
        heading, text, button = _PAGES[trick["kind"]]
        path = environ["PATH_INFO"] + (f"?{environ['QUERY_STRING']}" if environ.get("QUERY_STRING") else "")
        hidden = Markup("").join(
            Markup('<input type="hidden" name="{}" value="{}">').format(name, value) for name, value in fields
        )
        page = {"heading": heading, "text": trick["text"] or text, "button": button, "hidden": hidden, "address": path}
        start = f"/{path.split('/')[1]}/"
        response = self.page(WebRequest(environ), "trick.html", kind=trick["kind"], start=start, page=page)
        return response.status, response.headers, response.content.replace(b"<body>", self.bar, 1)


SITES.add("tricks", Tricks)
SITES.add("traps", TrickPortal)
SITES.add("long", Portal)
