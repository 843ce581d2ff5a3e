"""Templates of the admin panel that change users, teams and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.admin_content import ADMINISTRATOR, LICENCES, OWNER, ROLES, SETTINGS, draw_setting, mail_of
from ..sites.admin_rules import USERS
from ..sites.list_page import name_all
from .admin_reading_tasks import UserTemplate, draw_filters
from .draws import pick, pick_several
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows
from .walk import Walk

_TEAM_NAMES = (
    "Field Training",
    "Platform Design",
    "Design Support",
    "Finance Systems",
    "Sales Tools",
    "People Support",
)
# SQL condition for users to whom every action may be applied: neither leads, nor owners, nor the signed-in user.
FREE = f"u.id <> {ADMINISTRATOR} AND u.role <> {OWNER} AND u.id NOT IN (SELECT lead FROM teams)"


def apply_to_users(walk: Walk, names: list[str], action: str) -> None:
    """Choose users on a page of the list, and apply an action to them."""
    for name in names:
        walk.tick("checkbox", f"Select {name}")
    walk.select("Action on selected users", action)
    walk.click("button", "Apply to selected")


class BulkUserTemplate(UserTemplate, ChangeTemplate):
    """Base of templates that apply an action to all users who meet conditions. Slots: ``filters`` and ``users``, pairs
    (id, name)."""

    table = "users"

    def draw_matches(
        self, rng: Rng, database: Database, params: Params, where: str, first: tuple[str, ...]
    ) -> Slots | None:
        """Draw filters, including those named in ``first``, that find at most ``items`` + 2 users, all of whom meet the
        SQL conditions `FREE` and ``where``. Return the slots, or None if several draws find none."""
        rows = USERS.select(database, f"{FREE} AND {where}")
        free = {row["id"] for row in rows}
        for _ in range(12 if rows else 0):
            filters = draw_filters(rng, pick(rng, rows), max(2, params["constraints"] + 1), first)
            found = USERS.find(database, filters)
            if len(found) <= params["items"] + 2 and all(row["id"] in free for row in found):
                return {"filters": tuple(filters.items()), "users": tuple((row["id"], row["name"]) for row in found)}
        return None

    def apply(self, walk: Walk, slots: Slots, action: str) -> None:
        """List the users who meet the conditions, and apply an action to them."""
        USERS.filter(walk, self.conditions_of(slots))
        apply_to_users(walk, [name for _, name in slots["users"]], action)


def name_users(slots: Slots) -> list[str]:
    """Return the names of the users in the slot "users", tuples (id, name, mail); their mail addresses if the slot
    "by_mail" is True."""
    return [mail if slots["by_mail"] else name for _, name, mail in slots["users"]]


def draw_users(rng: Rng, database: Database, params: Params, where: str = "1", *values: Any) -> dict[str, Any] | None:
    """Draw ``items`` users who meet the SQL conditions `FREE` and ``where``. Return the slots "users" and "by_mail" of
    `name_users`; None if there are too few such users."""
    rows = USERS.select(database, f"{FREE} AND {where}", *values)
    if len(rows) < params["items"]:
        return None
    chosen = pick_several(rng, rows, params["items"])
    users = tuple((row["id"], row["name"], row["mail"]) for row in chosen)
    return {"users": users, "by_mail": params["constraints"] > 1}


@add_template
class SuspendIdle(BulkUserTemplate):
    """Suspend all active users who have not logged in since a date and meet further conditions."""

    name, intent = "suspend-idle", "edit"
    question = "Suspend all {what}. Whoever is suspended has no licence any more."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return self.draw_matches(rng, database, params, "u.state = 'Active'", ("state", "idle"))

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {user: {"state": "Suspended", "licence": LICENCES[0]} for user, _ in slots["users"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.apply(walk, slots, "Suspend")


@add_template
class MoveUsers(ChangeTemplate):
    """Move users, given by name or mail address, to another team."""

    site, name, intent, table, pages = "admin", "move-users", "edit", "users", ("/users",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        team, name = pick(rng, database.execute("SELECT id, name FROM teams ORDER BY id").fetchall())
        users = draw_users(rng, database, params, "u.team <> ?", team)
        return None if users is None else {**users, "team": team, "team_name": name}

    def ask(self, slots: Slots) -> str:
        users = "the user" if len(slots["users"]) == 1 else "the users"
        return f"Move {users} {name_all(name_users(slots))} to the team {slots['team_name']}."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {user: {"team": slots["team"]} for user, _, _ in slots["users"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, name, mail in slots["users"]:
            walk.search("Search users", mail)
            apply_to_users(walk, [name], f"Move to {slots['team_name']}")


@add_template
class EditUser(ChangeTemplate):
    """Change some of the details of a user."""

    site, name, intent, table, pages = "admin", "edit-user", "edit", "users", ("/user/{users[0][0]}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        users = USERS.select(database, f"{FREE} AND u.state = 'Active'")
        if not users:
            return None
        user = pick(rng, users)
        teams = [row for row in database.execute("SELECT id, name FROM teams ORDER BY id") if row[0] != user["team"]]
        roles = [role for role in range(2, len(ROLES) + 1) if role != user["role"]]
        new = {
            "mail": mail_of(user["name"], "partner.example"),
            "team": tuple(pick(rng, teams)),
            "role": (role := pick(rng, roles), ROLES[role - 1]),
            "licence": pick(rng, [licence for licence in LICENCES if licence != user["licence"]]),
        }
        names = pick_several(rng, list(new), params["items"])
        changes = tuple((name, new[name]) for name in new if name in names)
        users = ((user["id"], user["name"], user["mail"]),)
        return {"users": users, "by_mail": params["constraints"] > 1, "new": changes}

    def ask(self, slots: Slots) -> str:
        parts = [f"the {name} to {value if isinstance(value, str) else value[1]}" for name, value in slots["new"]]
        return f"Of the user {name_users(slots)[0]}, change {name_all(parts)}."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        change = {name: value if isinstance(value, str) else value[0] for name, value in slots["new"]}
        return {slots["users"][0][0]: change}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        _, name, mail = slots["users"][0]
        USERS.open_row(walk, mail, name)
        for name, value in slots["new"]:
            if name == "mail":
                walk.fill("Mail", value)
            else:
                walk.select(name.capitalize(), value if isinstance(value, str) else value[1])
        walk.click("button", "Save user")


@add_template
class ChangeSettings(WebTemplate):
    """Change the values of settings."""

    site, name, intent = "admin", "change-settings", "edit"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        before = dict(database.execute("SELECT name, value FROM settings").fetchall())
        names = pick_several(rng, list(SETTINGS), params["items"])
        values = {name: draw_setting(name, int(rng.integers(1 << 30))) for name in names}
        if any(values[name] == before[name] for name in names):
            return None
        return {"settings": tuple(values.items())}

    def ask(self, slots: Slots) -> str:
        return f"Change the settings: {name_all([f'{name} to {value}' for name, value in slots['settings']])}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        before = dict(database.execute("SELECT name, value FROM settings").fetchall())
        removed = tuple((name, before[name]) for name, _ in slots["settings"])
        return Goal(
            removed={"settings": removed}, added={"settings": slots["settings"]}, milestone_pages=("/settings",)
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Settings")
        for name, value in slots["settings"]:
            if walk.find("combobox", name) is None:
                walk.fill(name, value)
            else:
                walk.select(name, value)
        walk.click("button", "Save settings")


@add_template
class CreateTeam(WebTemplate):
    """Create a team and move users to it; the first user may become the lead of the team."""

    site, name, intent = "admin", "create-team", "edit"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        users = draw_users(rng, database, params, "u.state = 'Active'")
        if users is None:
            return None
        about = {"name": pick(rng, _TEAM_NAMES), "cost_centre": str(int(rng.integers(1000, 10_000)))}
        return {**users, **about, "leads": params["constraints"] > 2}

    def ask(self, slots: Slots) -> str:
        users = name_users(slots)
        lead = f"Make {users[0]} its lead" if slots["leads"] else "It has no lead"
        about = f'a team with the name "{slots["name"]}" and the cost centre {slots["cost_centre"]}'
        return f"Create {about}, and move to it {name_all(users)}. {lead}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (team,) = database.execute("SELECT max(id) + 1 FROM teams").fetchone()
        changes = change_rows(self.site, database, "users", {user: {"team": team} for user, _, _ in slots["users"]})
        lead = slots["users"][0][0] if slots["leads"] else 0
        row = (team, slots["name"], lead, slots["cost_centre"])
        return Goal(
            removed=changes["removed"], added={**changes["added"], "teams": (row,)}, milestone_pages=("/teams/new",)
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Teams")
        walk.click("link", "New team")
        walk.fill("Name", slots["name"])
        walk.fill("Cost centre", slots["cost_centre"])
        walk.click("button", "Save team")
        for _, name, mail in slots["users"]:
            walk.search("Search users", mail)
            apply_to_users(walk, [name], f"Move to {slots['name']}")
        if slots["leads"]:
            walk.click("link", "Teams")
            walk.click("link", slots["name"])
            walk.select("Lead", slots["users"][0][1])
            walk.click("button", "Save team")


@add_template
class ReplaceLead(WebTemplate):
    """Give a team another lead, and then move the old lead to another team; a lead cannot be moved."""

    site, name, intent = "admin", "replace-lead", "edit"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        leads = USERS.select(database, "u.id = (SELECT lead FROM teams WHERE id = u.team)")
        lead = pick(rng, leads)
        others = USERS.select(database, "u.team = ? AND u.state = 'Active' AND u.id <> ?", lead["team"], lead["id"])
        teams = database.execute("SELECT id, name FROM teams WHERE id <> ? ORDER BY id", (lead["team"],)).fetchall()
        if not others:
            return None
        users = tuple((row["id"], row["name"], row["mail"]) for row in (lead, pick(rng, others)))
        about = {"team": (lead["team"], lead["team_name"]), "next": tuple(pick(rng, teams))}
        return {"users": users, "by_mail": params["constraints"] > 1, **about}

    def ask(self, slots: Slots) -> str:
        before, after = name_users(slots)
        team, other = slots["team"][1], slots["next"][1]
        return f"Make {after} the lead of the team {team}, and move {before}, who leads it now, to the team {other}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (before, *_), (after, *_) = slots["users"]
        users = change_rows(self.site, database, "users", {before: {"team": slots["next"][0]}})
        teams = change_rows(self.site, database, "teams", {slots["team"][0]: {"lead": after}})
        pages = (f"/team/{slots['team'][0]}",)
        return Goal(
            removed=users["removed"] | teams["removed"], added=users["added"] | teams["added"], milestone_pages=pages
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        (_, before, mail), (_, after, _) = slots["users"]
        walk.click("link", "Teams")
        walk.click("link", slots["team"][1])
        walk.select("Lead", after)
        walk.click("button", "Save team")
        walk.search("Search users", mail)
        apply_to_users(walk, [before], f"Move to {slots['next'][1]}")


@add_template
class HandOver(ChangeTemplate):
    """Make another user the only owner. The new owner must be appointed first, as the last owner cannot be demoted."""

    site, name, intent, table, pages = "admin", "hand-over", "edit", "users", ("/users",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        owners = USERS.select(database, f"u.role = {OWNER}")
        where = f"u.role <> {OWNER} AND u.state = 'Active' AND u.id <> {ADMINISTRATOR}"
        others = USERS.select(database, where)
        role = int(rng.integers(2, len(ROLES) + 1))
        if len(owners) > 1:
            return None
        users = tuple((row["id"], row["name"], row["mail"]) for row in (owners[0], pick(rng, others)))
        return {"users": users, "by_mail": params["constraints"] > 1, "role": role}

    def ask(self, slots: Slots) -> str:
        before, after = name_users(slots)
        return f"Give {after} the role Owner, and {before}, who is the owner now, the role {ROLES[slots['role'] - 1]}."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        (before, *_), (after, *_) = slots["users"]
        return {after: {"role": OWNER}, before: {"role": slots["role"]}}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        (_, before, mail_before), (_, after, mail_after) = slots["users"]
        walk.search("Search users", mail_after)
        apply_to_users(walk, [after], "Give role Owner")
        walk.search("Search users", mail_before)
        apply_to_users(walk, [before], f"Give role {ROLES[slots['role'] - 1]}")
