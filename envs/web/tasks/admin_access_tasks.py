"""Templates of the admin panel about access: invitations, and permissions of roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.admin_content import (
    DOMAINS,
    FIRST_NAMES,
    LAST_NAMES,
    MESSAGES,
    OWNER,
    PERMISSIONS,
    ROLES,
    TODAY,
    VERBS,
    mail_of,
)
from ..sites.admin_rules import USERS, check_permissions
from ..sites.list_page import name_all
from .admin_user_tasks import BulkUserTemplate
from .draws import pick, pick_several
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows
from .walk import Walk

_ROLE_NAMES = ("Night auditor", "Report auditor", "Billing auditor", "Team assistant", "Project guest")
_MESSAGES = tuple(message for message in MESSAGES if message)


def draw_mails(rng: Rng, database: Database, number: int) -> tuple[str, ...]:
    """Draw mail addresses that no user or invitation has; some existing addresses differ from them in a few letters
    only."""
    taken = {mail for (mail,) in database.execute("SELECT mail FROM users UNION SELECT mail FROM invitations")}
    mails: list[str] = []
    while len(mails) < number:
        names = (pick(rng, pick(rng, FIRST_NAMES)), pick(rng, pick(rng, LAST_NAMES)))
        mail = mail_of(" ".join(names), pick(rng, DOMAINS))
        if mail not in taken:
            taken.add(mail)
            mails.append(mail)
    return tuple(mails)


def send_invitation(walk: Walk, mail: str, role: str, team: str, message: str) -> None:
    """Invite the owner of a mail address, starting from any page."""
    walk.click("link", "Invitations")
    walk.click("link", "Invite a user")
    walk.fill("Mail", mail)
    walk.select("Role", role)
    walk.select("Team", team)
    walk.fill("Message", message)
    walk.click("button", "Send invitation")


@add_template
class InviteUsers(WebTemplate):
    """Invite people by mail, each with a role and a team."""

    site, name, intent = "admin", "invite-users", "invite"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        teams = database.execute("SELECT id, name FROM teams ORDER BY id").fetchall()
        people = tuple(
            (mail, int(rng.integers(2, len(ROLES) + 1)), *pick(rng, teams))
            for mail in draw_mails(rng, database, params["items"])
        )
        return {"people": people, "message": pick(rng, _MESSAGES) if params["constraints"] > 1 else ""}

    def ask(self, slots: Slots) -> str:
        parts = [
            f"{mail} to the team {team} with the role {ROLES[role - 1]}" for mail, role, _, team in slots["people"]
        ]
        each = ", each" if len(parts) > 1 else ""
        message = f'with the message "{slots["message"]}"' if slots["message"] else "without a message."
        return f"Invite {name_all(parts)}{each} {message}"

    def goal(self, database: Database, slots: Slots) -> Goal:
        about = (slots["message"], TODAY.isoformat())
        rows = tuple((mail, role, team, *about) for mail, role, team, _ in slots["people"])
        return Goal(added={"invitations": rows}, milestone_pages=("/invitations/new",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for mail, role, _, team in slots["people"]:
            send_invitation(walk, mail, ROLES[role - 1], team, slots["message"])


@add_template
class InviteLike(WebTemplate):
    """Invite somebody to the role and the team that a user has."""

    site, name, intent = "admin", "invite-like", "invite"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        user = pick(rng, USERS.select(database, f"u.role <> {OWNER}"))
        about = {"message": pick(rng, _MESSAGES), "by_mail": params["constraints"] > 1}
        (mail,) = draw_mails(rng, database, 1)
        return {**about, "mail": mail, "like": tuple(user[name] for name in ("id", "name", "mail", "role", "team"))}

    def ask(self, slots: Slots) -> str:
        user = slots["like"][2] if slots["by_mail"] else slots["like"][1]
        return (
            f"Invite {slots['mail']} with the same role and to the same team as the user {user}, with the message "
            f'"{slots["message"]}"'
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        row = (slots["mail"], *slots["like"][3:], slots["message"], TODAY.isoformat())
        return Goal(added={"invitations": (row,)}, milestone_pages=("/users", "/invitations/new"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        _, name, mail, role, _ = slots["like"]
        USERS.open_row(walk, mail, name)
        team = next(one.name for one in walk.browser.page.controls if one.element.get("href", "").startswith("/team/"))
        send_invitation(walk, slots["mail"], ROLES[role - 1], team, slots["message"])


@add_template
class ClearInvitations(WebTemplate):
    """Revoke, or send again, all invitations that meet conditions."""

    site, name, intent = "admin", "clear-invitations", "invite"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = """SELECT i.*, t.name AS team_name, r.name AS role_name FROM invitations i JOIN teams t ON t.id = i.team
                 JOIN roles r ON r.id = i.role ORDER BY i.id"""
        rows = database.execute(sql).fetchall()
        for row in (pick(rng, rows) for _ in range(8)):
            names = ("team_name", "role_name", "sent")
            chosen = rng.permutation(3)[: params["constraints"]].tolist()
            conditions = {name: row[name] for place, name in enumerate(names) if place in chosen}
            found = [
                other
                for other in rows
                if all(other[name] == value for name, value in conditions.items() if name != "sent")
                and other["sent"] <= conditions.get("sent", other["sent"])
            ]
            if len(found) <= params["items"] + 1:
                deed = pick(rng, ("Revoke", "Send again"))
                mails = tuple((other["id"], other["mail"]) for other in found)
                return {"conditions": tuple(conditions.items()), "deed": deed, "mails": mails}
        return None

    def ask(self, slots: Slots) -> str:
        conditions = dict(slots["conditions"])
        words = [slots["deed"], "all invitations"]
        if "team_name" in conditions:
            words.append(f"to the team {conditions['team_name']}")
        if "role_name" in conditions:
            words.append(f"with the role {conditions['role_name']}")
        if "sent" in conditions:
            words.append(f"that were sent on or before {conditions['sent']}")
        return f"{' '.join(words)}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        change = {invitation: {"sent": TODAY.isoformat()} for invitation, _ in slots["mails"]}
        changes = change_rows(self.site, database, "invitations", change)
        if slots["deed"] == "Revoke":
            del changes["added"]
        return Goal(**changes, milestone_pages=("/invitations",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Invitations")
        for _, mail in slots["mails"]:
            if slots["deed"] == "Revoke":
                walk.confirm(f"Revoke {mail}")
            else:
                walk.click("button", f"Send again to {mail}")


class PermissionTemplate(WebTemplate):
    """Base of templates that change the permissions of a role. Slots: ``role``, (id, name), and ``granted``, all
    permissions of the role at the end."""

    site, intent, pages = "admin", "permit", ("/role/{role[0]}",)

    def goal(self, database: Database, slots: Slots) -> Goal:
        role, before = slots["role"][0], permissions_of(database, slots["role"][0])
        removed = tuple((role, permission) for permission in PERMISSIONS if permission in before - {*slots["granted"]})
        added = tuple((role, permission) for permission in slots["granted"] if permission not in before)
        changes = {"removed": {"grants": removed} if removed else {}, "added": {"grants": added} if added else {}}
        return Goal(**changes, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Roles")
        walk.click("link", slots["role"][1])
        tick_permissions(walk, slots["granted"])


def permissions_of(database: Database, role: int) -> set[str]:
    """Return the permissions of a role."""
    return {name for (name,) in database.execute("SELECT permission FROM grants WHERE role = ?", (role,))}


def tick_permissions(walk: Walk, granted: tuple[str, ...]) -> None:
    """Tick these permissions and no others on the page of a role, and save the role."""
    for permission in PERMISSIONS:
        walk.tick("checkbox", permission, permission in granted)
    walk.click("button", "Save role")


def draw_role(rng: Rng, database: Database) -> tuple[int, str]:
    """Draw a role other than that of the owners, as (id, name)."""
    return tuple(pick(rng, database.execute(f"SELECT id, name FROM roles WHERE id <> {OWNER} ORDER BY id").fetchall()))


@add_template
class SetPermissions(PermissionTemplate):
    """Give a role exactly a set of permissions."""

    name = "set-permissions"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        role, areas = draw_role(rng, database), len(PERMISSIONS) // len(VERBS)
        chosen, granted = pick_several(rng, range(areas), params["items"] + 1), []
        for area in sorted(chosen):
            bits = int(rng.integers(4))
            granted += [PERMISSIONS[3 * area + place] for place in range(3) if place == 0 or bits & place]
        if {*granted} == permissions_of(database, role[0]):
            return None
        return {"role": role, "granted": tuple(granted)}

    def ask(self, slots: Slots) -> str:
        permissions = name_all(list(slots["granted"]))
        return f"Let the role {slots['role'][1]} have exactly these permissions and no others: {permissions}."


@add_template
class AdjustPermissions(PermissionTemplate):
    """Give a role some permissions, take some away, and leave the rest as they are."""

    name = "adjust-permissions"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        role = draw_role(rng, database)
        before = permissions_of(database, role[0])
        for _ in range(12):
            turned = {*pick_several(rng, PERMISSIONS, params["items"])}
            after = before ^ turned
            if check_permissions(after) is None:
                granted = tuple(permission for permission in PERMISSIONS if permission in after)
                return {"role": role, "granted": granted, "turned": tuple(sorted(turned))}
        return None

    def ask(self, slots: Slots) -> str:
        more = [permission for permission in slots["turned"] if permission in slots["granted"]]
        less = [permission for permission in slots["turned"] if permission not in slots["granted"]]
        parts = [f"give it {name_all(more)}" if more else "", f"take {name_all(less)} away from it" if less else ""]
        what = " and ".join(filter(None, parts))
        return (
            f"Change the permissions of the role {slots['role'][1]}: {what}. Leave its other permissions as they are."
        )


@add_template
class CopyRole(WebTemplate):
    """Create a role with all permissions of another role, and perhaps one more."""

    site, name, intent = "admin", "copy-role", "permit"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        role = draw_role(rng, database)
        before = permissions_of(database, role[0])
        more = [permission for permission in PERMISSIONS if permission not in before]
        more = [permission for permission in more if check_permissions({*before, permission}) is None]
        if not more or not before or len(before) > 5 + 3 * params["items"]:
            return None
        extra = pick(rng, more) if params["constraints"] > 1 else ""
        granted = tuple(permission for permission in PERMISSIONS if permission in {*before, extra})
        return {"role": role, "granted": granted, "extra": extra, "name": pick(rng, _ROLE_NAMES)}

    def ask(self, slots: Slots) -> str:
        extra = f", and in addition {slots['extra']}" if slots["extra"] else ""
        like = f"exactly the permissions that the role {slots['role'][1]} has"
        return f'Create a role with the name "{slots["name"]}". Give it {like}{extra}.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (role,) = database.execute("SELECT max(id) + 1 FROM roles").fetchone()
        grants = tuple((role, permission) for permission in slots["granted"])
        pages = (f"/role/{slots['role'][0]}", "/roles/new")
        return Goal(added={"roles": ((role, slots["name"]),), "grants": grants}, milestone_pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Roles")
        walk.click("link", slots["role"][1])
        walk.click("link", "Roles")
        walk.click("link", "New role")
        walk.fill("Name", slots["name"])
        tick_permissions(walk, slots["granted"])


@add_template
class GiveRole(BulkUserTemplate):
    """Give another role to all users who have a role and meet conditions."""

    name, intent, question = "give-role", "permit", "Give all {what} the role {target} instead."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = self.draw_matches(rng, database, params, "1", ("role",))
        if slots is None:
            return None
        roles = [role for role in range(2, len(ROLES) + 1) if ROLES[role - 1] != dict(slots["filters"])["role"]]
        return {**slots, "role": pick(rng, roles)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "target": ROLES[slots["role"] - 1]}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {user: {"role": slots["role"]} for user, _ in slots["users"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.apply(walk, slots, f"Give role {ROLES[slots['role'] - 1]}")
