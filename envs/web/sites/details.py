"""Pages with widgets that every site has: details of one object, a table of all, and on some sites a board of lanes.

What they show and do is data, the `DetailsPages` of each site; the widgets are those of `browsers.widgets`. What a
visitor plans is stored in the table ``plans``.
"""

from __future__ import annotations

import calendar
import functools
from typing import Any

from .details_content import DETAILS
from .exchange import Response, WebRequest
from .papers import HasPapers
from .site import NotFound, is_date, read_form, route

# Rows of a table, and entries of a history, that are shown at first.
FIRST_ROWS, FIRST_EVENTS, MOST_CARDS = 8, 3, 12
# Rows that a search in the table shows at once, and finds at most.
FIRST_FOUND, MOST_FOUND = 3, 40
MONTHS = tuple((2026, month) for month in (5, 6, 7))


@functools.cache
def list_weeks(year: int, month: int) -> list[list[str]]:
    """Return the weeks of a month, each with seven days as YYYY-MM-DD; "" for days of other months."""
    weeks = calendar.Calendar().monthdayscalendar(year, month)
    return [[f"{year}-{month:02d}-{day:02d}" if day else "" for day in week] for week in weeks]


@functools.cache
def list_months() -> list[tuple[str, list[list[str]]]]:
    """Return the months of a date picker: pairs (title, weeks)."""
    return [(f"{calendar.month_name[month]} {year}", list_weeks(year, month)) for year, month in MONTHS]


class HasDetails(HasPapers):
    """Base of sites with `DetailsPages`, those of the site's name in `DETAILS`."""

    def __init_subclass__(cls, **kwargs: Any):
        cls.details_pages = DETAILS[cls.name]
        cls.schema = f"{cls.schema}; CREATE TABLE plans (subject INTEGER, name TEXT, value TEXT)"
        cls.judged = {**cls.judged, "plans": "SELECT subject, name, value FROM plans"}
        super().__init_subclass__(**kwargs)

    @route("/details/<int:subject>", "GET", "POST")
    def details(self, request: WebRequest, subject: int) -> Response:
        pages = self.details_pages
        found = self.one(f"SELECT * FROM ({pages.sql}) WHERE id = ?", subject)
        if request.method == "POST":
            action = read_form(request, "action")["action"]
            if action in pages.actions:
                self.plan(subject, action, "yes")
                return self.redirect(f"/details/{subject}", f"Done: {action}.")
            self._save_plans(request, subject, "day", "place", "note")
            return self.redirect(f"/details/{subject}", "Your plans are saved.")
        title = found["title"]
        shown = {
            "panels": [
                (panel, [(label, pages.detail_of(title, label)) for label in labels])
                for panel, labels in pages.panels.items()
            ],
            "history": pages.history_of(title),
            "code": pages.code_of(title),
            "months": list_months(),
        }
        back = pages.path.format(subject)
        plans, first = self.plans_of(subject), FIRST_EVENTS
        return self.page(request, "details.html", pages=pages, one=found, plans=plans, first=first, back=back, **shown)

    def _save_plans(self, request: WebRequest, subject: int, *names: str) -> None:
        """Store the valid ones of the named fields of a form: "day", "place" and "note"."""
        pages = self.details_pages
        for name, value in read_form(request, *names).items():
            valid = {"day": is_date(value), "place": value in pages.places, "note": True}[name]
            if valid or not value:
                self.plan(subject, getattr(pages, name), value)

    @route("/table")
    def table(self, request: WebRequest) -> Response:
        pages = self.details_pages
        found = self.query(f"{pages.sql} ORDER BY id")
        return self.page(request, "table.html", pages=pages, found=found, first=FIRST_ROWS)

    @route("/finder")
    def finder(self, request: WebRequest) -> Response:
        pages, word = self.details_pages, request.args.get("word", "").strip()[:200]
        sql = f"SELECT * FROM ({pages.sql}) WHERE instr(lower(title), lower(?)) ORDER BY id LIMIT {MOST_FOUND}"
        return self.page(request, "finder.html", pages=pages, word=word, found=self.query(sql, word), first=FIRST_FOUND)

    # The page with frames in frames and a named window.

    @route("/office/<int:subject>")
    def office(self, request: WebRequest, subject: int) -> Response:
        return self.page(request, "office.html", one=self._find(subject))

    @route("/office/<int:subject>/counter", "GET", "POST")
    def counter(self, request: WebRequest, subject: int) -> Response:
        pages, found = self.details_pages, self._find(subject)
        if request.method == "POST":
            self._save_plans(request, subject, "day", "place")
            return self.redirect(f"/office/{subject}/counter", "Your plans are saved.")
        plans = self.plans_of(subject)
        return self.page(request, "counter.html", pages=pages, one=found, plans=plans, months=list_months())

    @route("/office/<int:subject>/shelf")
    def shelf(self, request: WebRequest, subject: int) -> Response:
        found = self._find(subject)
        facts = [(label, self.papers_pages.on_shelf(found["title"], label)) for label in self.papers_pages.topics]
        return self.page(request, "shelf.html", one=found, facts=facts)

    @route("/office/<int:subject>/leaf/<int:leaf>")
    def leaf(self, request: WebRequest, subject: int, leaf: int) -> Response:
        found = self._find(subject)
        number = self.papers_pages.leaf_of(found["title"], leaf)
        return self.page(request, "leaf.html", one=found, leaf=leaf, number=number)

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
