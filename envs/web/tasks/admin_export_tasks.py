"""Templates of the admin panel that write a list of users to a file and report a figure of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..sites.admin_content import COLUMNS, FORMATS
from ..sites.admin_rules import USERS
from ..sites.list_page import name_all
from .admin_reading_tasks import UserTemplate, draw_filters
from .template import Database, Goal, Params, Rng, Slots, add_template, pick
from .walk import Walk

_FILES = ("team-list", "team-lists", "licences", "licence-check", "review-june", "review-july")


class ExportTemplate(UserTemplate):
    """Base of templates with an export: slots ``file``, ``columns``, ``filters``, ``sort`` and ``format``."""

    intent = "export"
    question = (
        'Export all {what} to a file with the name "{file}": exactly the columns {names}, sorted by "{order}", '
        "separated by {separator}. {figure}"
    )
    # The figure asked for.
    figure: ClassVar[str]

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        filters = draw_filters(rng, pick(rng, USERS.select(database)), params["constraints"])
        places = sorted(rng.permutation(len(COLUMNS))[: params["items"] + 1].tolist())
        return {
            "file": pick(rng, _FILES),
            "columns": tuple(column for place, column in enumerate(COLUMNS) if place in places or column == "Mail"),
            "filters": tuple(filters.items()),
            "sort": pick(rng, list(USERS.sorts)),
            "format": pick(rng, list(FORMATS)),
        }

    def words(self, slots: Slots) -> Mapping[str, str]:
        about = {"names": name_all(list(slots["columns"])), "order": USERS.sorts[slots["sort"]][0]}
        about["separator"] = FORMATS[slots["format"]][0]
        return {**super().words(slots), **about, "figure": self.figure.format_map(slots)}

    def report(self, database: Database, slots: Slots) -> tuple[str, str]:
        """Return the answer, and the kind of its verifier."""
        raise NotImplementedError(f"{type(self).__name__} must implement report(database, slots).")

    def goal(self, database: Database, slots: Slots) -> Goal:
        filters = dict(slots["filters"])
        for name in ("team", "role"):
            if name in filters:
                sql = f"SELECT id FROM {name}s WHERE name = ?"
                filters[name] = str(database.execute(sql, (filters[name],)).fetchone()[0])
        values = (filters.get(name, "") for name in USERS.filters)
        row = (slots["file"], ", ".join(slots["columns"]), *values, slots["sort"], slots["format"])
        (export,) = database.execute("SELECT max(id) + 1 FROM exports").fetchone()
        answer, kind = self.report(database, slots)
        return Goal(answer, kind, added={"exports": (row,)}, pages=("/exports/new", f"/export/{export}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Exports")
        walk.click("link", "New export")
        walk.fill("File name", slots["file"])
        for column in COLUMNS:
            walk.tick("checkbox", column, column in slots["columns"])
        USERS.fill(walk, self.conditions_of(slots))
        walk.select("Sort by", USERS.sorts[slots["sort"]][0])
        walk.tick("radio", FORMATS[slots["format"]][0])
        walk.click("button", "Write file")


@add_template
class ExportAndCount(ExportTemplate):
    """Export users under conditions, and report how many they are."""

    name, figure = "export-and-count", "Answer with the number of rows below the headings."

    def report(self, database: Database, slots: Slots) -> tuple[str, str]:
        return str(len(self.rows(database, slots))), "number"


@add_template
class ExportAndRead(ExportTemplate):
    """Export users under conditions, and report the mail address in the first or last row."""

    name, figure = "export-and-read", "Answer with the mail address in the {which} row of the file."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots, which = super().draw(rng, database, params), pick(rng, ("first", "last"))
        assert slots is not None
        if len(self.rows(database, slots)) < 2:
            return None
        return {**slots, "which": which}

    def report(self, database: Database, slots: Slots) -> tuple[str, str]:
        found = [row["id"] for row in self.rows(database, slots)]
        order = f"{USERS.sql} WHERE u.id IN ({', '.join('?' * len(found))}) ORDER BY {USERS.order_of(slots['sort'])}"
        rows = database.execute(order, found).fetchall()
        return rows[0 if slots["which"] == "first" else -1]["mail"], "text"
