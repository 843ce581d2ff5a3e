"""`WebSite`: base of WSGI applications over an SQLite database in memory, and the registry `SITES`.

A site declares its schema, fills the database from a seed and a size, and renders pages from templates, whose only
script is that of `browsers.widgets`. Its whole state is the database: `WebSite.state` takes a snapshot and
`WebSite.restore` restores it; a visitor has only cookies. `WebSite.judged` is the part of the database on which tasks
are judged. A new site needs a subclass, page templates in ``templates/NAME`` and a name in `SITES`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import jinja2
import numpy as np
from jinja2.compiler import CodeGenerator
from markupsafe import Markup, escape
from werkzeug import wrappers
from werkzeug.exceptions import BadRequest, HTTPException, NotFound
from werkzeug.routing import Map, MapAdapter, Rule

from ....registry import Registry
from ..browsers.browser import ASSETS
from ..browsers.widgets import write_script
from .databases import Content, SiteDatabase, connect, open_database, release
from .exchange import Response, WebRequest

FOLDER = Path(__file__).parent / "templates"
F = TypeVar("F", bound=Callable[..., Any])


def route(path: str, *methods: str) -> Callable[[F], F]:
    """Decorate a method of a site, ``handler(self, request, **parts) -> Response``, to answer requests for ``path``, a
    rule of werkzeug with the variable ``parts``. ``methods`` are the HTTP methods; default: GET."""

    def mark(handler: F) -> F:
        handler.__dict__.setdefault("routes", []).append((path, methods or ("GET",)))
        return handler

    return mark


# Cached, as most texts of a site occur on many pages.
_escape = functools.lru_cache(maxsize=8_192)(escape)


class _CodeGenerator(CodeGenerator):
    """Compiler of templates whose output is escaped by `_Templates.write_value`."""

    def _output_child_pre(self, node: Any, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.autoescape and not frame.eval_ctx.volatile:
            self.write("environment.write_value(")
        else:
            super()._output_child_pre(node, frame, finalize)


class _Templates(jinja2.Environment):
    """Jinja's environment with faster versions of the three most frequent operations of pages."""

    code_generator_class = _CodeGenerator

    def __init__(self, **options: Any):
        super().__init__(**options)
        self._found: dict[Any, jinja2.Template] = {}

    @staticmethod
    def write_value(value: Any) -> str:
        """Return the text that a template prints for a value, escaped unless it is `Markup`."""
        kind = type(value)
        if kind is str:
            return _escape(value)
        return value if kind is Markup else str(value) if kind is int else escape(value)

    def get_template(self, name: Any, parent: str | None = None, globals: Any = None) -> jinja2.Template:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = super().get_template(name, parent, globals)
        return found

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is sqlite3.Row:
            return obj[attribute]
        return super().getattr(obj, attribute)


@functools.cache
def templates() -> jinja2.Environment:
    """Return the environment with the templates of all sites; each template is compiled once in a process."""
    made = _Templates(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["money"] = lambda cents: f"{cents // 100}.{cents % 100:02d}"
    # Two filters that make options (value, label): of values that are their own labels, and of a mapping from values to
    # tuples that begin with the label.
    made.filters["zipped"] = lambda values: tuple((value, value) for value in values)
    made.filters["labels"] = lambda choices: tuple((value, label) for value, (label, *_) in choices.items())
    made.filters["count_noun"] = count_noun
    made.filters["as_options"] = render_options
    return made


def count_noun(number: int, noun: str) -> str:
    """Return a count with the noun in singular or plural: "1 reply", "2 days"."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number} {noun}"


@functools.lru_cache(maxsize=2_000)
def render_options(options: tuple[tuple[Any, str], ...], chosen: Any) -> Markup:
    """Return the HTML of the options (value, label) of a list, with ``chosen`` selected. Cached, as most lists occur on
    many pages."""
    line = Markup('<option value="{}"{}>{}</option>')
    marks = (Markup(" selected") if str(value) == str(chosen) else "" for value, _ in options)
    return Markup("").join(line.format(value, mark, text) for (value, text), mark in zip(options, marks, strict=True))


class WebSite:
    """Base of sites. A subclass sets the class variables below and implements `fill` and methods with `route`.

    Attributes:
        name: the name of the site in `SITES`, and of the folder of its templates.
        schema: the SQL statements that create the tables.
        judged: name -> SQL query for rows on which tasks are judged. The order of rows, and columns that a query leaves
            out, do not matter.
    """

    name: ClassVar[str]
    schema: ClassVar[str]
    judged: ClassVar[Mapping[str, str]]
    _routes: ClassVar[MapAdapter]

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        rules = [
            Rule(path, endpoint=name, methods=list(methods))
            for name in dir(cls)
            for path, methods in getattr(getattr(cls, name), "routes", ())
        ]
        cls._routes = Map(rules, strict_slashes=False, merge_slashes=False).bind("")

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        """Fill the empty tables. ``size`` is the number of main objects, such as products."""
        raise NotImplementedError(f"{cls.__name__} must implement fill(database, size, rng).")

    def __init__(self, state: Content):
        self.database: Any = connect(state)
        # The server's thread and the thread that takes snapshots use the same database.
        self.lock = threading.Lock()

    def restore(self, state: Content) -> None:
        """Replace the database by a snapshot that `state` returned."""
        with self.lock:
            release(self.database)
            self.database = connect(state)

    def state(self) -> Content:
        """Return the database as bytes: the same object as before unless something has been written since."""
        with self.lock:
            return self.database.save()

    @classmethod
    def queries(cls, database: Any) -> dict[str, tuple[SiteDatabase, str]]:
        """Return name in `judged` -> (database with the rows, query)."""
        return {name: (database, sql) for name, sql in cls.judged.items()}

    def close(self) -> None:
        """Release the database; the site must not be used afterwards."""
        with self.lock:
            release(self.database)
            del self.database

    # Answering requests.

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer a request, as a WSGI application."""
        path = environ.get("PATH_INFO", "")
        if path.startswith(ASSETS):
            return _serve_asset(path)(environ, start_response)
        with self.lock:
            request = WebRequest(environ)
            try:
                name, parts = _match(self._routes, request.path, request.method)
                response = getattr(self, name)(request, **parts)
            except HTTPException as error:
                status = error.code or 500
                # The router raises redirects as exceptions, too.
                response = (
                    error.get_response() if status < 400 else self.page(request, "error.html", status, error=error)
                )
        return response(environ, start_response)

    def page(self, request: WebRequest, template: str, status: int = 200, /, **context: Any) -> Response:
        """Render a template of the site with ``context``, the values of `surroundings`, and the message that `redirect`
        left in a cookie. If ``context`` has ``errors``, the status is 422."""
        message = request.cookies.get("message", "")
        found = _find_template(self.name, template)
        html = found.render(
            site=self.name, path=request.path, args=request.args, message=message, **self.surroundings(), **context
        )
        response = Response(html, 422 if context.get("errors") else status)
        if message:
            response.set_cookie("message", "", expires=0, max_age=0)
        return response

    def surroundings(self) -> dict[str, Any]:
        """Return the values that the layout of every page shows: name -> value."""
        return {}

    def redirect(self, path: str, message: str = "") -> Response:
        """Redirect the visitor to ``path`` with GET; the page there shows ``message``."""
        response = Response("", 303, path)
        if message:
            response.set_cookie("message", message, httponly=True, samesite="Lax")
        return response

    def query(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows of a query.

        Raises:
            NotFound: a value is a number too large for SQLite, which can only come from an address.
        """
        try:
            return self.database.execute(sql, values).fetchall()
        except OverflowError:
            raise NotFound from None

    def one(self, sql: str, *values: Any) -> sqlite3.Row:
        """Return the first row of a query.

        Raises:
            NotFound: the query has no rows.
        """
        found = self.query(sql, *values)
        if not found:
            raise NotFound
        return found[0]


@functools.lru_cache(maxsize=4_096)
def _match(routes: MapAdapter, path: str, method: str) -> tuple[str, Mapping[str, Any]]:
    """Return (name of the handler method, variable parts of the path). Cached, as addresses recur."""
    return routes.match(path, method)


@functools.lru_cache(maxsize=256)
def generate(site: str, size: int, seed: int) -> bytes:
    """Return the initial database of a site as bytes."""
    kind = SITES[site]
    database = connect(_make_tables(kind))
    # Rows are all in use until they are inserted: a collection of garbage before that finds none.
    collects = gc.isenabled()
    gc.disable()
    try:
        database.execute("BEGIN")
        kind.fill(database, size, np.random.default_rng((seed, size)))
        database.execute("COMMIT")
        return database.save()
    finally:
        if collects:
            gc.enable()
        release(database)


@functools.cache
def _make_tables(kind: type[WebSite]) -> bytes:
    with contextlib.closing(open_database()) as database:
        number = zlib.crc32(kind.schema.encode()) % (1 << 31)
        database.executescript(f"PRAGMA page_size = 1024; PRAGMA user_version = {number}; {kind.schema}")
        return database.serialize()


def read_form(request: WebRequest, *names: str) -> dict[str, str]:
    """Return the named fields of a form: stripped, with "\\n" as line end, and cut to 2000 characters."""
    return {name: request.form.get(name, "").replace("\r\n", "\n").strip()[:2000] for name in names}


def read_number(text: str | None, low: int, high: int, default: int) -> int:
    """Parse a whole number typed by a visitor. Return ``default`` if it is malformed or outside ``low`` to ``high``."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high else default


def need_number(text: str | None) -> int:
    """Parse a whole number from a hidden field or an address.

    Raises:
        BadRequest: the text is no number from 0 to 999,999,999.
    """
    number = read_number(text, 0, 999_999_999, -1)
    if number < 0:
        raise BadRequest
    return number


def paginate(args: Mapping[str, str], number: int, per_page: int) -> tuple[dict[str, int], str]:
    """Return ({"page": page shown, "pages": number of pages}, LIMIT clause of the query) for a list of ``number``
    rows."""
    pages = max(1, -(-number // per_page))
    page = min(read_number(args.get("page"), 1, 10_000, 1), pages)
    return {"page": page, "pages": pages}, f"LIMIT {per_page} OFFSET {(page - 1) * per_page}"


def is_date(text: str) -> bool:
    """Return True if the text is a date as YYYY-MM-DD."""
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@functools.cache
def _find_template(site: str, name: str) -> jinja2.Template:
    return templates().select_template([f"{site}/{name}", name])


@functools.cache
def _serve_asset(path: str) -> wrappers.Response:
    """Return the script or the style sheet of widgets, or ``/static/SITE.css``: the base of all sites, and the sheet in
    the site's folder."""
    name, headers = path.removeprefix(ASSETS), {"Cache-Control": "max-age=3600"}
    if name == "widgets.js":
        return wrappers.Response(write_script(), content_type="text/javascript; charset=utf-8", headers=headers)
    site = name.removesuffix(".css")
    if name == "widgets.css":
        sheets = [FOLDER / name]
    elif site in SITES and site != name:
        sheets = [sheet for sheet in (FOLDER / "style.css", FOLDER / site / "style.css") if sheet.is_file()]
    else:
        return wrappers.Response("", 404)
    style = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    return wrappers.Response(style, content_type="text/css; charset=utf-8", headers=headers)


def read_asset(path: str) -> str:
    """Return the style sheet or script at a path; "" if there is none."""
    answer = _serve_asset(path)
    return answer.get_data(as_text=True) if answer.status_code == 200 else ""


SITES: Registry[type[WebSite]] = Registry("site", group="palaestra.sites", modules=["palaestra.envs.web.sites"])
