"""Templates of the admin panel that are answered by reading: count, look up in the audit log, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from ..sites.admin_content import PERMISSIONS, SETTINGS
from ..sites.admin_rules import USERS
from ..sites.listing import name_all
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, best_of, pick
from .walk import Walk

_FILTERS = {
    "team": "t.name = ?",
    "role": "r.name = ?",
    "state": "u.state = ?",
    "licence": "u.licence = ?",
    "since": "u.login >= ?",
    "idle": "u.login < ?",
}


def select_users(database: Database, where: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Select users by an SQL condition; the aliases are ``u`` (users), ``t`` (teams) and ``r`` (roles)."""
    return database.execute(f"{USERS} WHERE {where} ORDER BY u.id", values).fetchall()


def matching_users(database: Database, filters: Mapping[str, Any]) -> list[sqlite3.Row]:
    """The users whom filters find, by their order."""
    return select_users(database, " AND ".join(_FILTERS[name] for name in filters) or "1", *filters.values())


def draw_filters(
    rng: Rng, row: sqlite3.Row, number: int, first: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Draw ``number`` filters that find a user, including those named in ``first``."""
    days = timedelta(days=int(rng.integers(1, 40)))
    values = {"team": row["team_name"], "role": row["role_name"], "state": row["state"], "licence": row["licence"]}
    login = date.fromisoformat(row["login"]) if row["login"] else None
    if login is None or "idle" in first or rng.random() < 0.5:
        values["idle"] = ((login or date(2025, 12, 1)) + days).isoformat()
    else:
        values["since"] = (login - days).isoformat()
    others = [name for name in values if name not in (*first, *without)]
    more = [others[place] for place in rng.permutation(len(others))[: max(0, number - len(first))].tolist()]
    return {name: value for name, value in values.items() if name in (*first, *more)}


def describe_users(filters: Mapping[str, Any], noun: str = "users") -> str:
    """Describe filters on users, as in "users in the team Finance with the role Guest"."""
    words = [noun]
    if "team" in filters:
        words.append(f"in the team {filters['team']}")
    kinds = [f"the {name} {filters[name]}" for name in ("role", "state", "licence") if name in filters]
    if kinds:
        words.append(f"with {name_all(kinds)}")
    if "since" in filters:
        words.append(f"who last logged in on or after {filters['since']}")
    if "idle" in filters:
        words.append(f"who did not log in on or after {filters['idle']} (users who never did count as well)")
    return " ".join(words)


def fill_filters(walk: Walk, filters: Mapping[str, Any]) -> None:
    """Fill in the fields that filter users."""
    for name, label in (("team", "Team"), ("role", "Role"), ("state", "State"), ("licence", "Licence")):
        if name in filters:
            walk.select(label, filters[name])
    for name, label in (("since", "Last login on or after"), ("idle", "No login on or after")):
        if name in filters:
            walk.fill(label, filters[name])


def filter_list(walk: Walk, filters: Mapping[str, Any], sort: str = "") -> None:
    """List the users whom filters find."""
    walk.click("link", "Users")
    fill_filters(walk, filters)
    if sort:
        walk.select("Sort by", sort)
    walk.click("button", "Apply filters")


def search_user(walk: Walk, mail: str) -> None:
    """Search for a user by mail."""
    walk.fill("Search users", mail)
    walk.press_enter("searchbox", "Search users")


def open_user(walk: Walk, name: str, mail: str) -> None:
    """Search for a user by mail, and open the page about this user."""
    search_user(walk, mail)
    walk.seek("link", name)


def search_log(walk: Walk, action: str, target: str, until: str = "") -> None:
    """List entries of the log, the newest first."""
    walk.click("link", "Audit log")
    walk.select("Action", action)
    walk.fill("Concerns", target)
    if until:
        walk.fill("To date", until)
    walk.click("button", "Apply filters")


@add_template
class CountUsers(WebTemplate):
    """Count the users under conditions."""

    site, name, intent = "admin", "count-users", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        filters = draw_filters(rng, pick(rng, select_users(database)), params["constraints"])
        return {"filters": tuple(filters.items())}

    def ask(self, slots: Slots) -> str:
        return f"How many {describe_users(dict(slots['filters']))} are there? Answer with the number."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(str(len(matching_users(database, dict(slots["filters"])))), "number", pages=("/users",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["filters"]))


@add_template
class ReportSettingChange(WebTemplate):
    """Report the last user who changed a setting, up to a date, or the value before the change."""

    site, name, intent = "admin", "report-setting-change", "report"

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

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["answer"], pages=("/log",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        search_log(walk, "Setting changed", slots["setting"], slots["until"])


@add_template
class ReportSuspension(WebTemplate):
    """Report who suspended a user, or when."""

    site, name, intent = "admin", "report-suspension", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_users(database, "u.state = 'Suspended'")
        if not rows:
            return None
        user, wanted = pick(rng, rows), pick(rng, ("actor", "day"))
        sql = """SELECT l.day, u.name AS actor FROM log l JOIN users u ON u.id = l.actor
                 WHERE l.action = 'User suspended' AND l.target = ?"""
        (entry,) = database.execute(sql, (user["name"],)).fetchall()
        by_mail = params["constraints"] > 1
        return {
            "name": user["name"],
            "mail": user["mail"] if by_mail else "",
            "wanted": wanted,
            "answer": entry[wanted],
        }

    def ask(self, slots: Slots) -> str:
        user = f"with the mail address {slots['mail']}" if slots["mail"] else slots["name"]
        if slots["wanted"] == "actor":
            return f"Who suspended the user {user}? Answer with the name."
        return f"On which date was the user {user} suspended? Answer with the date."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["answer"], pages=("/log",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["mail"]:
            search_user(walk, slots["mail"])
        search_log(walk, "User suspended", slots["name"])


@add_template
class ReportLead(WebTemplate):
    """Report the mail address of a team's lead; the question names the team or one of its users."""

    site, name, intent = "admin", "report-lead", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "EXISTS (SELECT 1 FROM teams WHERE id = u.team AND lead > 0 AND lead <> u.id)"
        rows = select_users(database, sql)
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
        return Goal(mail, pages=(f"/team/{slots['team']}", f"/user/{slots['lead']}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["by"] == "team":
            walk.click("link", "Teams")
        else:
            open_user(walk, slots["name"], slots["mail"])
        walk.click("link", slots["team_name"])
        walk.click("link", slots["lead_name"])


@add_template
class CompareTeams(WebTemplate):
    """Name the team with the most users under conditions, of several."""

    site, name, intent = "admin", "compare-teams", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, select_users(database))
        filters = draw_filters(rng, row, params["constraints"], without=("team",))
        names = [name for (name,) in database.execute("SELECT name FROM teams ORDER BY id")]
        teams = [names[place] for place in rng.permutation(len(names))[: params["items"] + 1].tolist()]
        counts = [len(matching_users(database, {"team": team, **filters})) for team in teams]
        if counts.count(max(counts)) > 1:
            return None
        return {"filters": tuple(filters.items()), "teams": tuple(teams), "best": teams[int(np.argmax(counts))]}

    def ask(self, slots: Slots) -> str:
        what, teams = describe_users(dict(slots["filters"])), name_all(list(slots["teams"]))
        return f"Which of the teams {teams} has the most {what}? Answer with the team."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=("/users",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, {"team": slots["teams"][0], **dict(slots["filters"])})
        for team in slots["teams"][1:]:
            walk.select("Team", team)
            walk.click("button", "Apply filters")


@add_template
class CompareRoles(WebTemplate):
    """List the permissions that one role has and another lacks."""

    site, name, intent = "admin", "compare-roles", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        names = database.execute("SELECT id, name FROM roles WHERE id > 1 ORDER BY id").fetchall()
        granted: dict[int, set[str]] = {}
        for role, permission in database.execute("SELECT role, permission FROM grants"):
            granted.setdefault(role, set()).add(permission)
        for _ in range(12):
            one, other = (names[place] for place in rng.permutation(len(names))[:2].tolist())
            more = granted.get(one["id"], set()) - granted.get(other["id"], set())
            if 1 <= len(more) <= params["items"] + 2:
                answer = ", ".join(permission for permission in PERMISSIONS if permission in more)
                return {"one": tuple(one), "other": tuple(other), "answer": answer}
        return None

    def ask(self, slots: Slots) -> str:
        return (
            f"Which permissions does the role {slots['one'][1]} have that the role {slots['other'][1]} does not have? "
            "Answer with their names, separated by commas."
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        pages = tuple(f"/role/{role[0]}" for role in (slots["one"], slots["other"]))
        return Goal(slots["answer"], "list", pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, name in (slots["one"], slots["other"]):
            walk.click("link", "Roles")
            walk.click("link", name)


@add_template
class FindLogin(WebTemplate):
    """Name the user who meets conditions and has the latest, or the earliest, last login."""

    site, name, intent = "admin", "find-login", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        latest = bool(rng.integers(2))
        filters = draw_filters(rng, pick(rng, select_users(database, "u.login > ''")), params["constraints"])
        found = [
            {"name": row["name"], "age": (1 if latest else -1) * date.fromisoformat(row["login"]).toordinal()}
            for row in matching_users(database, filters)
            if row["login"]
        ]
        best = best_of(found, "age")
        if len(found) < 2 or best is None:
            return None
        return {"filters": tuple(filters.items()), "latest": latest, "best": best["name"]}

    def ask(self, slots: Slots) -> str:
        which = "whose last login is the most recent" if slots["latest"] else "whose last login is the longest ago"
        never = "" if slots["latest"] else ", of those who ever logged in"
        return f"Of the {describe_users(dict(slots['filters']))}, {which}{never}? Answer with the user's name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=("/users",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        order = "newest" if slots["latest"] else "oldest"
        filter_list(walk, dict(slots["filters"]), f"Last login, {order} first")
