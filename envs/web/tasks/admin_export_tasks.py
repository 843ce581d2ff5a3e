"""Templates of the admin panel that write a list of users to a file and report a figure of it."""

from __future__ import annotations

from ..sites.admin_content import COLUMNS, FORMATS
from ..sites.admin_rules import FILTERS, USER_SORTS, USERS
from ..sites.listing import name_all
from .admin_reading_tasks import describe_users, draw_filters, fill_filters, matching_users, select_users
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick
from .walk import Walk

_FILES = ("team-list", "team-lists", "licences", "licence-check", "review-june", "review-july")


class ExportTemplate(WebTemplate):
    """Base of templates with an export: slots ``file``, ``columns``, ``filters``, ``sort`` and ``format``."""

    site, intent = "admin", "export"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        filters = draw_filters(rng, pick(rng, select_users(database)), params["constraints"])
        places = sorted(rng.permutation(len(COLUMNS))[: params["items"] + 1].tolist())
        return {
            "file": pick(rng, _FILES),
            "columns": tuple(column for place, column in enumerate(COLUMNS) if place in places or column == "Mail"),
            "filters": tuple(filters.items()),
            "sort": pick(rng, list(USER_SORTS)),
            "format": pick(rng, list(FORMATS)),
        }

    def ask(self, slots: Slots) -> str:
        users, columns = describe_users(dict(slots["filters"])), name_all(list(slots["columns"]))
        order, separator = USER_SORTS[slots["sort"]][0], FORMATS[slots["format"]][0]
        return (
            f'Export all {users} to a file with the name "{slots["file"]}": exactly the columns {columns}, sorted by '
            f'"{order}", separated by {separator}. {self.question(slots)}'
        )

    def question(self, slots: Slots) -> str:
        """Return the figure asked for, in words."""
        raise NotImplementedError(f"{type(self).__name__} must implement question(slots).")

    def answer(self, database: Database, slots: Slots) -> tuple[str, str]:
        """Return the answer, and the kind of its verifier."""
        raise NotImplementedError(f"{type(self).__name__} must implement answer(database, slots).")

    def goal(self, database: Database, slots: Slots) -> Goal:
        filters = dict(slots["filters"])
        for name in ("team", "role"):
            if name in filters:
                sql = f"SELECT id FROM {name}s WHERE name = ?"
                filters[name] = str(database.execute(sql, (filters[name],)).fetchone()[0])
        values = (filters.get(name, "") for name in FILTERS)
        row = (slots["file"], ", ".join(slots["columns"]), *values, slots["sort"], slots["format"])
        (export,) = database.execute("SELECT max(id) + 1 FROM exports").fetchone()
        answer, kind = self.answer(database, slots)
        return Goal(answer, kind, added={"exports": (row,)}, pages=("/exports/new", f"/export/{export}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Exports")
        walk.click("link", "New export")
        walk.fill("File name", slots["file"])
        for column in COLUMNS:
            walk.tick("checkbox", column, column in slots["columns"])
        fill_filters(walk, dict(slots["filters"]))
        walk.select("Sort by", USER_SORTS[slots["sort"]][0])
        walk.tick("radio", FORMATS[slots["format"]][0])
        walk.click("button", "Write file")


@add_template
class ExportAndCount(ExportTemplate):
    """Export users under conditions, and report how many they are."""

    name = "export-and-count"

    def question(self, slots: Slots) -> str:
        return "Answer with the number of rows below the headings."

    def answer(self, database: Database, slots: Slots) -> tuple[str, str]:
        return str(len(matching_users(database, dict(slots["filters"])))), "number"


@add_template
class ExportAndRead(ExportTemplate):
    """Export users under conditions, and report the mail address in the first or last row."""

    name = "export-and-read"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots, which = super().draw(rng, database, params), pick(rng, ("first", "last"))
        assert slots is not None
        if len(matching_users(database, dict(slots["filters"]))) < 2:
            return None
        return {**slots, "which": which}

    def question(self, slots: Slots) -> str:
        return f"Answer with the mail address in the {slots['which']} row of the file."

    def answer(self, database: Database, slots: Slots) -> tuple[str, str]:
        found = [row["id"] for row in matching_users(database, dict(slots["filters"]))]
        order = f"{USERS} WHERE u.id IN ({', '.join('?' * len(found))}) ORDER BY {USER_SORTS[slots['sort']][1]}"
        rows = database.execute(order, found).fetchall()
        return rows[0 if slots["which"] == "first" else -1]["mail"], "text"
