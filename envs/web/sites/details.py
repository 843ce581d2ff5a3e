"""Pages with widgets that every site has: details of one object, a table of all, and on some sites a board of lanes.

What they show and do is data, a `DetailsPages` for each site; the widgets are those of `browsers.widgets`. Details are
made up from the title of an object. What a visitor plans is stored in the table ``plans``.
"""

from __future__ import annotations

import calendar
import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, ClassVar

from .exchange import Response, WebRequest
from .site import NotFound, WebSite, is_date, read_form, route

# Rows of a table, and entries of a history, that are shown at first.
FIRST_ROWS, FIRST_EVENTS, MOST_CARDS = 8, 3, 12
MONTHS = tuple((2026, month) for month in (5, 6, 7))
Choices = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Column:
    """Column of a table: an SQL expression, and words for its smallest and largest value, or "" where none is asked
    for."""

    sql: str
    least: str = ""
    most: str = ""


@dataclass(frozen=True)
class DetailsPages:
    """The pages of a site.

    Args:
        noun: the objects in words, in the singular.
        table: the FROM clause of the objects, without the word FROM.
        title, search, link: SQL expressions for the title of an object, the text that finds it in the search box of the
            site, and the link of the result.
        path: the address of the page of an object, which leads to its details.
        panels: label of a tab or section -> label of a detail -> values that it can have.
        tabs: True if the panels are tabs, of which the first is shown, False if they are closed sections.
        events: what has happened to an object.
        code: label of a code that is shown for the length of one action.
        actions: labels of the items of a menu, which are confirmed in a dialog.
        day: label of the date that can be planned.
        place: label of the place that can be planned.
        places: the places.
        note: label of a text that can be written.
        columns: label of a column of the table -> column.
        lanes: lanes of the board, the first for objects that are not planned; empty if there is no board.
    """

    noun: str
    table: str
    path: str
    panels: Mapping[str, Choices]
    tabs: bool
    events: tuple[str, ...]
    code: str
    actions: tuple[str, ...]
    day: str
    place: str
    places: tuple[str, ...]
    note: str
    columns: Mapping[str, Column]
    title: str = "title"
    search: str = "title"
    link: str = "title"
    lanes: tuple[str, ...] = ()
    hidden: Choices = field(init=False)

    def __post_init__(self) -> None:
        """Find the details that a visitor does not see at first."""
        hidden = list(self.panels.values())[self.tabs :]
        object.__setattr__(self, "hidden", {label: values for panel in hidden for label, values in panel.items()})

    @functools.cached_property
    def sql(self) -> str:
        """Query for the objects: id, title, search text, link and the columns of the table."""
        names = {"id": "id", "title": self.title, "search": self.search, "link": self.link}
        columns = [one.sql for one in self.columns.values()]
        return f"SELECT {', '.join([f'{sql} AS {name}' for name, sql in names.items()] + columns)} FROM {self.table}"

    def detail_of(self, title: str, label: str) -> str:
        """Return the value of a detail of the object with this title."""
        values = next(panel[label] for panel in self.panels.values() if label in panel)
        return values[_draw(title, label) % len(values)]

    def history_of(self, title: str) -> list[tuple[str, str]]:
        """Return pairs (day, event) of an object, the oldest first."""
        days = {event: date(2025, 1, 1) + timedelta(days=_draw(title, event) % 480) for event in self.events}
        return sorted((day.isoformat(), event) for event, day in days.items())

    def code_of(self, title: str) -> str:
        """Return the code of an object."""
        number = _draw(title, self.code)
        return f"{'ABCDEFGHKLMNPRST'[number % 16]}{number // 16 % 9 + 1}-{number // 256 % 9000 + 1000}"


def _draw(title: str, label: str) -> int:
    return zlib.crc32(f"{label}: {title}".encode())


@functools.cache
def list_weeks(year: int, month: int) -> list[list[str]]:
    """Return the weeks of a month, each with seven days as YYYY-MM-DD; "" for days of other months."""
    weeks = calendar.Calendar().monthdayscalendar(year, month)
    return [[f"{year}-{month:02d}-{day:02d}" if day else "" for day in week] for week in weeks]


class HasDetails(WebSite):
    """Base of sites with `DetailsPages`, which a subclass sets as ``details_pages``."""

    details_pages: ClassVar[DetailsPages]

    def __init_subclass__(cls, **kwargs: Any):
        cls.schema = (
            f"{cls.schema}; CREATE TABLE plans (subject INTEGER, name TEXT, value TEXT, UNIQUE (subject, name))"
        )
        cls.judged = {**cls.judged, "plans": "SELECT subject, name, value FROM plans"}
        super().__init_subclass__(**kwargs)

    def plans_of(self, subject: int) -> dict[str, str]:
        """Return name of a plan -> value, for the object with the id ``subject``."""
        return dict(self.query("SELECT name, value FROM plans WHERE subject = ?", subject))

    def plan(self, subject: int, name: str, value: str) -> None:
        """Store a plan for an object; "" deletes it."""
        self.query("DELETE FROM plans WHERE subject = ? AND name = ?", subject, name)
        if value:
            self.query("INSERT INTO plans VALUES (?, ?, ?)", subject, name, value)

    @route("/details/<int:subject>", "GET", "POST")
    def details(self, request: WebRequest, subject: int) -> Response:
        pages = self.details_pages
        found = self.one(f"SELECT * FROM ({pages.sql}) WHERE id = ?", subject)
        if request.method == "POST":
            action, day, place, note = read_form(request, "action", "day", "place", "note").values()
            if action in pages.actions:
                self.plan(subject, action, "yes")
                return self.redirect(f"/details/{subject}", f"Done: {action}.")
            for name, value, valid in (
                (pages.day, day, is_date(day)),
                (pages.place, place, place in pages.places),
                (pages.note, note, True),
            ):
                if valid or not value:
                    self.plan(subject, name, value)
            return self.redirect(f"/details/{subject}", "Your plans are saved.")
        title = found["title"]
        shown = {
            "panels": [
                (panel, [(label, pages.detail_of(title, label)) for label in labels])
                for panel, labels in pages.panels.items()
            ],
            "history": pages.history_of(title),
            "code": pages.code_of(title),
            "months": [(f"{calendar.month_name[month]} {year}", list_weeks(year, month)) for year, month in MONTHS],
        }
        back = pages.path.format(subject)
        plans, first = self.plans_of(subject), FIRST_EVENTS
        return self.page(request, "details.html", pages=pages, one=found, plans=plans, first=first, back=back, **shown)

    @route("/table")
    def table(self, request: WebRequest) -> Response:
        pages = self.details_pages
        found = self.query(f"{pages.sql} ORDER BY id")
        return self.page(request, "table.html", pages=pages, found=found, first=FIRST_ROWS)

    @route("/lanes", "GET", "POST")
    def lanes(self, request: WebRequest) -> Response:
        pages = self.details_pages
        if not pages.lanes:
            raise NotFound
        found = self.query(f"{pages.sql} ORDER BY id LIMIT {MOST_CARDS}")
        if request.method == "POST":
            for one in found:
                lane = request.form.get(f"lane-{one['id']}", "")
                if lane in pages.lanes:
                    self.plan(one["id"], "Lane", "" if lane == pages.lanes[0] else lane)
            return self.redirect("/lanes", "The board is saved.")
        cards: dict[str, list[Any]] = {lane: [] for lane in pages.lanes}
        for one in found:
            cards[self.plans_of(one["id"]).get("Lane", pages.lanes[0])].append(one)
        return self.page(request, "lanes.html", pages=pages, cards=cards)
