"""Templates of the admin panel that ask a question: count, look up in the log, compare, export a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, ClassVar

from ..sites.admin_content import COLUMNS, FORMATS, PERMISSIONS, SETTINGS
from ..sites.admin_rules import LOG, USERS
from ..sites.list_page import name_all
from .draws import best_of, pick, pick_several
from .list_page_templates import BestTemplate, CountTemplate, GroupTemplate, ListPageTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk


def draw_filters(
    rng: Rng, row: sqlite3.Row, number: int, first: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Draw ``number`` filters that the user ``row`` meets, including those named in ``first`` and none of those named
    in ``without``."""
    days = timedelta(days=int(rng.integers(1, 40)))
    values = {"team": row["team_name"], "role": row["role_name"], "state": row["state"], "licence": row["licence"]}
    login = date.fromisoformat(row["login"]) if row["login"] else None
    if login is None or "idle" in first or rng.random() < 0.5:
        values["idle"] = ((login or date(2025, 12, 1)) + days).isoformat()
    else:
        values["since"] = (login - days).isoformat()
    others = [name for name in values if name not in (*first, *without)]
    more = pick_several(rng, others, max(0, number - len(first)))
    return {name: value for name, value in values.items() if name in (*first, *more)}


class UserTemplate(ListPageTemplate):
    """Base of templates about the users who meet conditions."""

    site, list_page, filters = "admin", USERS, "filters"

    def draw_conditions(self, rng: Rng, row: sqlite3.Row, number: int) -> dict[str, Any]:
        return draw_filters(rng, row, number)


@add_template
class CountUsers(UserTemplate, CountTemplate):
    """Count the users who meet conditions."""

    name, question = "count-users", "How many {what} are there? Answer with the number."


@add_template
class ReportSettingChange(WebTemplate):
    """Report who made the last change of a setting (up to a date, with more conditions), or the value before it."""

    site, name, intent, answer, pages = "admin", "report-setting-change", "report", "answer", ("/log",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        setting, wanted = pick(rng, list(SETTINGS)), pick(rng, ("actor", "before"))
        sql = """SELECT l.day, l.detail, u.name AS actor FROM log l JOIN users u ON u.id = l.actor
                 WHERE l.action = 'Setting changed' AND l.target = ? ORDER BY l.day DESC, l.id DESC"""
        changes = database.execute(sql, (setting,)).fetchall()
        if len(changes) < 2:
            return None
        place = int(rng.integers(1, len(changes))) if params["constraints"] > 1 else 0
        until = changes[place]["day"] if place else ""
        before = changes[place]["detail"].removeprefix("from ").partition(" to ")[0]
        answer = changes[place]["actor"] if wanted == "actor" else before
        return {"setting": setting, "until": until, "wanted": wanted, "answer": answer}

    def ask(self, slots: Slots) -> str:
        which = f"the last change on or before {slots['until']}" if slots["until"] else "the last change"
        what = f'of the setting "{slots["setting"]}" in the audit log'
        if slots["wanted"] == "actor":
            return f"Who made {which} {what}? Answer with the name."
        return f"Which value was there before {which} {what}? Answer with the value."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        until = {"until": slots["until"]} if slots["until"] else {}
        LOG.filter(walk, {"action": "Setting changed", "target": slots["setting"], **until})


@add_template
class ReportSuspension(WebTemplate):
    """Report who suspended a user, or when."""

    site, name, intent, answer, pages = "admin", "report-suspension", "report", "answer", ("/log",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = USERS.select(database, "u.state = 'Suspended'")
        if not rows:
            return None
        user, wanted = pick(rng, rows), pick(rng, ("actor", "day"))
        sql = """SELECT l.day, u.name AS actor FROM log l JOIN users u ON u.id = l.actor
                 WHERE l.action = 'User suspended' AND l.target = ?"""
        (entry,) = database.execute(sql, (user["name"],)).fetchall()
        mail = user["mail"] if params["constraints"] > 1 else ""
        return {"name": user["name"], "mail": mail, "wanted": wanted, "answer": entry[wanted]}

    def ask(self, slots: Slots) -> str:
        user = f"with the mail address {slots['mail']}" if slots["mail"] else slots["name"]
        if slots["wanted"] == "actor":
            return f"Who suspended the user {user}? Answer with the name."
        return f"On which date was the user {user} suspended? Answer with the date."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["mail"]:
            walk.search("Search users", slots["mail"])
        LOG.filter(walk, {"action": "User suspended", "target": slots["name"]})


@add_template
class ReportLead(WebTemplate):
    """Report the mail address of a team's lead; the question names the team or one of its users."""

    site, name, intent, pages = "admin", "report-lead", "report", ("/team/{team}", "/user/{lead}")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "EXISTS (SELECT 1 FROM teams WHERE id = u.team AND lead > 0 AND lead <> u.id)"
        rows = USERS.select(database, sql)
        if not rows:
            return None
        user, by = pick(rng, rows), ("team", "name", "mail")[min(params["constraints"], 3) - 1]
        (lead,) = database.execute("SELECT lead FROM teams WHERE id = ?", (user["team"],)).fetchone()
        (name,) = database.execute("SELECT name FROM users WHERE id = ?", (lead,)).fetchone()
        names = ("id", "name", "mail", "team", "team_name")
        return {**{key: user[key] for key in names}, "by": by, "lead": lead, "lead_name": name}

    def ask(self, slots: Slots) -> str:
        users = {"name": slots["name"], "mail": f"the user with the mail address {slots['mail']}"}
        what = f"the team {slots['team_name']}" if slots["by"] == "team" else f"the team of {users[slots['by']]}"
        return f"What is the mail address of the lead of {what}? Answer with the address."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (mail,) = database.execute("SELECT mail FROM users WHERE id = ?", (slots["lead"],)).fetchone()
        return Goal(mail, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["by"] == "team":
            walk.click("link", "Teams")
        else:
            USERS.open_row(walk, slots["mail"], slots["name"])
        walk.click("link", slots["team_name"])
        walk.click("link", slots["lead_name"])


@add_template
class CompareTeams(UserTemplate, GroupTemplate):
    """Name the team, of several, with the most users who meet conditions."""

    name, group, groups = "compare-teams", "team", "teams"
    question = "Which of the teams {groups} has the most {what}? Answer with the team."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, USERS.select(database))
        filters = draw_filters(rng, row, params["constraints"], without=("team",))
        names = [name for (name,) in database.execute("SELECT name FROM teams ORDER BY id")]
        teams = pick_several(rng, names, params["items"] + 1)
        counts = [len(USERS.find(database, {"team": team, **filters})) for team in teams]
        return self.slots_of(filters, teams, counts)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        USERS.filter(walk, {"team": slots["teams"][0], **self.conditions_of(slots)})
        for team in slots["teams"][1:]:
            walk.select("Team", team)
            walk.click("button", "Apply filters")


@add_template
class CompareRoles(WebTemplate):
    """List the permissions that one role has and another lacks."""

    site, name, intent, answer, kind = "admin", "compare-roles", "compare", "answer", "list"
    pages = ("/role/{one[0]}", "/role/{other[0]}")
    question = (
        "Which permissions does the role {one[1]} have that the role {other[1]} does not have? Answer with their "
        "names, separated by commas."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        names = database.execute("SELECT id, name FROM roles WHERE id > 1 ORDER BY id").fetchall()
        granted: dict[int, set[str]] = {}
        for role, permission in database.execute("SELECT role, permission FROM grants"):
            granted.setdefault(role, set()).add(permission)
        for _ in range(12):
            one, other = pick_several(rng, names, 2)
            more = granted.get(one["id"], set()) - granted.get(other["id"], set())
            if 1 <= len(more) <= params["items"] + 2:
                answer = ", ".join(permission for permission in PERMISSIONS if permission in more)
                return {"one": tuple(one), "other": tuple(other), "answer": answer}
        return None

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, name in (slots["one"], slots["other"]):
            walk.click("link", "Roles")
            walk.click("link", name)


@add_template
class FindLogin(UserTemplate, BestTemplate):
    """Name the user who meets conditions and has the latest, or the earliest, last login."""

    name, answer, measure = "find-login", "best", "latest"
    question = "Of the {what}, {how}? Answer with the user's name."
    measures: ClassVar = {
        True: ("whose last login is the most recent", "Last login, newest first"),
        False: ("whose last login is the longest ago, of those who ever logged in", "Last login, oldest first"),
    }

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        latest = bool(rng.integers(2))
        filters = draw_filters(rng, pick(rng, USERS.select(database, "u.login > ''")), params["constraints"])
        found = [
            {"name": row["name"], "age": (1 if latest else -1) * date.fromisoformat(row["login"]).toordinal()}
            for row in USERS.find(database, filters)
            if row["login"]
        ]
        best = best_of(found, "age")
        if len(found) < 2 or best is None:
            return None
        return {"filters": tuple(filters.items()), "latest": latest, "best": best["name"]}


_FILES = ("team-list", "team-lists", "licences", "licence-check", "review-june", "review-july")


class ExportTemplate(UserTemplate):
    """Base of templates that export users to a file and ask for a figure in the file. Slots: ``file``, ``columns``,
    ``filters``, ``sort`` and ``format``."""

    intent = "export"
    question = (
        'Export all {what} to a file with the name "{file}": exactly the columns {names}, sorted by "{order}", '
        "separated by {separator}. {figure}"
    )
    # Last sentence of the question: the figure asked for.
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
        """Return (answer, name of its verifier)."""
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
        return Goal(answer, kind, added={"exports": (row,)}, milestone_pages=("/exports/new", f"/export/{export}"))

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
    """Export the users who meet conditions, and report their number."""

    name, figure = "export-and-count", "Answer with the number of rows below the headings."

    def report(self, database: Database, slots: Slots) -> tuple[str, str]:
        return str(len(self.rows(database, slots))), "number"


@add_template
class ExportAndRead(ExportTemplate):
    """Export the users who meet conditions, and report the mail address in the first or last row of the file."""

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
