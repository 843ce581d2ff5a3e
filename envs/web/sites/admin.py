"""Site "admin", an admin panel: users, teams, roles with permissions, invitations, audit log, settings, exports.

One administrator is signed in. `admin_rules` checks all input, and every change is noted in the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from werkzeug.exceptions import Forbidden

from .admin_content import (
    ACTIONS,
    ADMINISTRATOR,
    AREAS,
    COLUMNS,
    FORMATS,
    LICENCES,
    OWNER,
    PERMISSIONS,
    SETTINGS,
    STATES,
    TODAY,
    VERBS,
    fill_admin,
)
from .admin_rules import (
    LOG,
    MOST_MESSAGE,
    USERS,
    check_choices,
    check_file_name,
    check_mail,
    check_name,
    check_permissions,
    check_setting,
    check_users,
    write_file,
)
from .details import HasDetails
from .exchange import Response, WebRequest
from .site import SITES, need_number, read_form, read_number, route

_TEAMS = """
    SELECT t.*, coalesce(u.name, 'Nobody') AS lead_name, (SELECT count(*) FROM users WHERE team = t.id) AS number
    FROM teams t LEFT JOIN users u ON u.id = t.lead
"""
_ROLES = """
    SELECT r.*, (SELECT count(*) FROM users WHERE role = r.id) AS number,
    (SELECT count(*) FROM grants WHERE role = r.id) AS granted FROM roles r
"""
_INVITATIONS = """
    SELECT i.*, t.name AS team_name, r.name AS role_name FROM invitations i JOIN teams t ON t.id = i.team
    JOIN roles r ON r.id = i.role
"""
_COLUMNS_OF_USERS = ("name", "mail", "team", "role", "state", "licence")


class Admin(HasDetails):
    """Web application of the admin panel; see the module."""

    name = "admin"
    schema = """
        CREATE TABLE users (
            id INTEGER PRIMARY KEY, name TEXT, mail TEXT, team INTEGER, role INTEGER, state TEXT, licence TEXT,
            login TEXT DEFAULT ''
        );
        CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT, lead INTEGER, cost_centre TEXT);
        CREATE TABLE roles (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE grants (role INTEGER, permission TEXT, PRIMARY KEY (role, permission)) WITHOUT ROWID;
        CREATE TABLE invitations (
            id INTEGER PRIMARY KEY, mail TEXT, role INTEGER, team INTEGER, message TEXT, sent TEXT
        );
        CREATE TABLE log (id INTEGER PRIMARY KEY, day TEXT, actor INTEGER, action TEXT, target TEXT, detail TEXT);
        CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        CREATE TABLE exports (
            id INTEGER PRIMARY KEY, name TEXT, columns TEXT, team TEXT DEFAULT '', role TEXT DEFAULT '',
            state TEXT DEFAULT '', licence TEXT DEFAULT '', since TEXT DEFAULT '', idle TEXT DEFAULT '',
            sort TEXT DEFAULT 'name', format TEXT, day TEXT, content TEXT
        );
    """
    judged = {  # noqa: RUF012
        "users": "SELECT id, name, mail, team, role, state, licence FROM users",
        "teams": "SELECT id, name, lead, cost_centre FROM teams",
        "roles": "SELECT id, name FROM roles",
        "grants": "SELECT role, permission FROM grants",
        "invitations": "SELECT mail, role, team, message, sent FROM invitations",
        "settings": "SELECT name, value FROM settings",
        "exports": "SELECT name, columns, team, role, state, licence, since, idle, sort, format FROM exports",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_admin(database, size, rng)

    def _names(self, table: str) -> tuple[tuple[int, str], ...]:
        """Return (id, name) of all rows of the table of teams or roles, as options of a list."""
        return tuple((row["id"], row["name"]) for row in self.query(f"SELECT id, name FROM {table} ORDER BY id"))

    def _lists(self) -> dict[str, Any]:
        """Return the options of all lists in forms about users."""
        return {
            "teams": self._names("teams"),
            "roles": self._names("roles"),
            "states": STATES,
            "licences": LICENCES,
            "sorts": USERS.sorts,
        }

    def _note(self, action: str, target: str, detail: str = "") -> None:
        """Note a change by the administrator in the log."""
        sql = "INSERT INTO log (day, actor, action, target, detail) VALUES (?, ?, ?, ?, ?)"
        self.query(sql, TODAY.isoformat(), ADMINISTRATOR, action, target, detail)

    def _next(self, table: str) -> int:
        return self.one(f"SELECT coalesce(max(id), 0) + 1 FROM {table}")[0]

    @route("/")
    def home(self, request: WebRequest) -> Response:
        counts = self.one(
            "SELECT count(*) AS users, sum(state = 'Suspended') AS suspended, sum(licence <> 'None') AS licences,"
            "(SELECT count(*) FROM invitations) AS invitations FROM users"
        )
        entries = self.query(f"{LOG.sql} ORDER BY {LOG.order_of('new')} LIMIT 4")
        return self.page(request, "home.html", counts=counts, entries=entries, today=TODAY.isoformat())

    # Users.

    @route("/users")
    def users(self, request: WebRequest) -> Response:
        return self._show_users(request, request.args)

    def _show_users(self, request: WebRequest, args: Mapping[str, str], **context: Any) -> Response:
        """Render the list of users that a filter finds, with the form of a bulk edit."""
        wanted = {name: args.get(name, "").strip()[:200] for name in USERS.fields}
        shown, lists = USERS.show(self, wanted, args), self._lists()
        actions = (
            *(("", "Choose an action"), ("suspend", "Suspend"), ("reactivate", "Reactivate")),
            *((f"team:{team}", f"Move to {name}") for team, name in lists["teams"]),
            *((f"role:{role}", f"Give role {name}") for role, name in lists["roles"]),
            *((f"licence:{licence}", f"Give licence {licence}") for licence in LICENCES),
        )
        context = {"action": "", "chosen": (), "actions": actions, **lists, **shown, **context}
        return self.page(request, "users.html", **context)

    @route("/users/bulk", "POST")
    def bulk(self, request: WebRequest) -> Response:
        """Apply an action to all chosen users, or to none if a rule forbids the action for one of them."""
        kind, _, value = request.form.get("action", "").partition(":")
        chosen = [need_number(text) for text in request.form.getlist("user")[: USERS.per_page]]
        back = dict(parse_qsl(request.form.get("back", "")[:1000]))
        lists = {
            "team": self._names("teams"),
            "role": self._names("roles"),
            "licence": [(one, one) for one in LICENCES],
        }
        rows = [dict(self.one(f"{USERS.sql} WHERE u.id = ?", user)) for user in dict.fromkeys(chosen)]
        change: dict[str, Any] = {}
        if kind in ("suspend", "reactivate") and not value:
            change = {"suspend": {"state": "Suspended", "licence": "None"}, "reactivate": {"state": "Active"}}[kind]
        elif any(str(one) == value for one, _ in lists.get(kind, ())):
            change = {kind: value if kind == "licence" else int(value)}
        error = None if change else "Choose an action."
        if not rows:
            error = "Choose users first."
        elif change:
            broken = check_users(self, [{**row, **change} for row in rows])
            error = broken[1] if broken else None
        if error:
            context = {"action": request.form.get("action", ""), "chosen": chosen, "errors": {"action": error}}
            return self._show_users(request, back, **context)
        for row in rows:
            self._change_user(row, {**row, **change})
        number = f"{len(rows)} user{'s' if len(rows) != 1 else ''}"
        return self.redirect(f"/users?{urlencode(back)}", f"{number} changed.")

    def _change_user(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Update a user, and note the changed fields in the log."""
        values = [after[name] for name in _COLUMNS_OF_USERS]
        sql = f"UPDATE users SET {', '.join(f'{name} = ?' for name in _COLUMNS_OF_USERS)} WHERE id = ?"
        self.query(sql, *values, before["id"])
        if after["state"] != before["state"]:
            self._note("User suspended" if after["state"] == "Suspended" else "User reactivated", after["name"])
        if after["team"] != before["team"]:
            self._note("Team changed", after["name"], f"to {dict(self._names('teams'))[after['team']]}")
        if after["role"] != before["role"]:
            self._note("Role given", after["name"], dict(self._names("roles"))[after["role"]])
        if after["licence"] != before["licence"]:
            self._note("Licence given", after["name"], after["licence"])
        if (after["name"], after["mail"]) != (before["name"], before["mail"]):
            self._note("Details changed", after["name"], after["mail"])

    @route("/user/<int:user>", "GET", "POST")
    def user(self, request: WebRequest, user: int) -> Response:
        found, lists = dict(self.one(f"{USERS.sql} WHERE u.id = ?", user)), self._lists()
        form, errors = found, {}
        if request.method == "POST":
            form = read_form(request, *_COLUMNS_OF_USERS)
            choices = {"team": dict(lists["teams"]), "role": dict(lists["roles"]), "state": STATES, "licence": LICENCES}
            errors = check_choices(form, choices)
            checks = {
                "name": check_name(self, "users", form["name"], user),
                "mail": check_mail(self, form["mail"], user),
            }
            errors |= {name: error for name, error in checks.items() if error}
            if not errors:
                after = {**found, **form, "team": int(form["team"]), "role": int(form["role"])}
                broken = check_users(self, [after])
                if broken is None:
                    self._change_user(found, after)
                    return self.redirect(f"/user/{user}", "The user is saved.")
                errors = dict([broken])
        return self.page(request, "user.html", user=found, form=form, errors=errors, **lists)

    # Teams.

    @route("/teams")
    def teams(self, request: WebRequest) -> Response:
        return self.page(request, "teams.html", teams=self.query(f"{_TEAMS} ORDER BY t.id"))

    @route("/teams/new", "GET", "POST")
    def new_team(self, request: WebRequest) -> Response:
        return self._edit_team(request, {"id": 0, "name": "", "lead": 0, "cost_centre": ""})

    @route("/team/<int:team>", "GET", "POST")
    def team(self, request: WebRequest, team: int) -> Response:
        return self._edit_team(request, dict(self.one(f"{_TEAMS} WHERE t.id = ?", team)))

    def _edit_team(self, request: WebRequest, team: dict[str, Any]) -> Response:
        """Show or save a team (id 0: a new one). The lead of a team must be an active user of the team."""
        sql = "SELECT id, name FROM users WHERE team = ? AND state = 'Active' ORDER BY name"
        leads = ((0, "Nobody"), *((row["id"], row["name"]) for row in self.query(sql, team["id"])))
        form, errors = team, {}
        if request.method == "POST":
            form = read_form(request, "name", "lead", "cost_centre")
            form["lead"] = form["lead"] or "0"
            errors = check_choices(form, {"lead": dict(leads)})
            if error := check_name(self, "teams", form["name"], team["id"]):
                errors["name"] = error
            if read_number(form["cost_centre"], 1000, 9999, 0) == 0:
                errors["cost_centre"] = "Enter a number of four digits."
            if not errors:
                number = team["id"] or self._next("teams")
                row = (number, form["name"], int(form["lead"]), form["cost_centre"])
                self.query("INSERT OR REPLACE INTO teams VALUES (?, ?, ?, ?)", *row)
                self._note("Team saved" if team["id"] else "Team created", form["name"])
                return self.redirect(f"/team/{number}", "The team is saved.")
        context = {"team": team, "form": form, "errors": errors, "leads": leads}
        return self.page(request, "team.html", **context)

    # Roles.

    @route("/roles")
    def roles(self, request: WebRequest) -> Response:
        return self.page(request, "roles.html", roles=self.query(f"{_ROLES} ORDER BY r.id"))

    @route("/roles/new", "GET", "POST")
    def new_role(self, request: WebRequest) -> Response:
        return self._edit_role(request, {"id": 0, "name": ""})

    @route("/role/<int:role>", "GET", "POST")
    def role(self, request: WebRequest, role: int) -> Response:
        return self._edit_role(request, dict(self.one(f"{_ROLES} WHERE r.id = ?", role)))

    def _edit_role(self, request: WebRequest, role: dict[str, Any]) -> Response:
        """Show or save a role (id 0: a new one) with the matrix of its permissions."""
        granted = {row["permission"] for row in self.query("SELECT permission FROM grants WHERE role = ?", role["id"])}
        form, errors = role, {}
        if request.method == "POST":
            if role["id"] == OWNER:
                raise Forbidden
            form = read_form(request, "name")
            before, granted = granted, {*request.form.getlist("permission")} & {*PERMISSIONS}
            checks = {
                "name": check_name(self, "roles", form["name"], role["id"]),
                "permission": check_permissions(granted),
            }
            errors = {name: error for name, error in checks.items() if error}
            if not errors:
                number = role["id"] or self._next("roles")
                self.query("INSERT OR REPLACE INTO roles VALUES (?, ?)", number, form["name"])
                for permission in before - granted:
                    self.query("DELETE FROM grants WHERE role = ? AND permission = ?", number, permission)
                for permission in sorted(granted - before):
                    self.query("INSERT INTO grants VALUES (?, ?)", number, permission)
                self._note("Role saved" if role["id"] else "Role created", form["name"])
                return self.redirect(f"/role/{number}", "The role is saved.")
        context = {"role": role, "form": form, "errors": errors, "granted": granted, "areas": AREAS, "verbs": VERBS}
        return self.page(request, "role.html", **context)

    # Invitations.

    @route("/invitations", "GET", "POST")
    def invitations(self, request: WebRequest) -> Response:
        if request.method == "GET":
            rows = self.query(f"{_INVITATIONS} ORDER BY i.mail")
            return self.page(request, "invitations.html", invitations=rows)
        found = self.one("SELECT * FROM invitations WHERE id = ?", need_number(request.form.get("invitation")))
        if request.form.get("action") == "revoke":
            self.query("DELETE FROM invitations WHERE id = ?", found["id"])
            self._note("Invitation revoked", found["mail"])
            return self.redirect("/invitations", "The invitation is revoked.")
        self.query("UPDATE invitations SET sent = ? WHERE id = ?", TODAY.isoformat(), found["id"])
        self._note("Invitation sent", found["mail"], "again")
        return self.redirect("/invitations", "The invitation is sent again.")

    @route("/invitations/new", "GET", "POST")
    def invite(self, request: WebRequest) -> Response:
        form, errors = read_form(request, "mail", "role", "team", "message"), {}
        teams, roles = self._names("teams"), tuple(one for one in self._names("roles") if one[0] != OWNER)
        if request.method == "POST":
            errors = check_choices(form, {"role": dict(roles), "team": dict(teams)})
            if error := check_mail(self, form["mail"]):
                errors["mail"] = error
            if len(form["message"]) > MOST_MESSAGE:
                errors["message"] = f"Write at most {MOST_MESSAGE} characters."
            if not errors:
                sql = "INSERT INTO invitations (mail, role, team, message, sent) VALUES (?, ?, ?, ?, ?)"
                row = (form["mail"], int(form["role"]), int(form["team"]), form["message"], TODAY.isoformat())
                self.query(sql, *row)
                self._note("Invitation sent", form["mail"], f"as {dict(roles)[int(form['role'])]}")
                return self.redirect("/invitations", "The invitation is sent.")
        context = {"form": form, "errors": errors, "teams": teams, "roles": roles}
        return self.page(request, "invite.html", **context)

    # The log, settings and exports.

    @route("/log")
    def log(self, request: WebRequest) -> Response:
        wanted = {name: request.args.get(name, "").strip()[:200] for name in LOG.fields}
        shown = LOG.show(self, wanted, request.args)
        return self.page(request, "log.html", actions=ACTIONS, **shown)

    @route("/settings", "GET", "POST")
    def settings(self, request: WebRequest) -> Response:
        before = {row["name"]: row["value"] for row in self.query("SELECT name, value FROM settings")}
        fields = {name: f"setting{place}" for place, name in enumerate(SETTINGS)}
        form, errors = {fields[name]: value for name, value in before.items()}, {}
        if request.method == "POST":
            form = read_form(request, *fields.values())
            checks = {field: check_setting(name, form[field]) for name, field in fields.items()}
            errors = {field: error for field, error in checks.items() if error}
            if not errors:
                for name, field in fields.items():
                    if form[field] != before[name]:
                        self.query("UPDATE settings SET value = ? WHERE name = ?", form[field], name)
                        self._note("Setting changed", name, f"from {before[name]} to {form[field]}")
                return self.redirect("/settings", "The settings are saved.")
        context = {"form": form, "errors": errors, "fields": fields, "settings": SETTINGS}
        return self.page(request, "settings.html", **context)

    @route("/exports")
    def exports(self, request: WebRequest) -> Response:
        return self.page(request, "exports.html", exports=self.query("SELECT * FROM exports ORDER BY id DESC"))

    @route("/exports/new", "GET", "POST")
    def new_export(self, request: WebRequest) -> Response:
        lists, errors = self._lists(), {}
        form = {"sort": "name", "format": "comma"} | {name: "" for name in ("name", *USERS.filters)}
        chosen: Iterable[str] = COLUMNS[:2]
        if request.method == "POST":
            form = read_form(request, *form)
            errors = USERS.read(form)[2]
            either = {"team": dict(lists["teams"]), "role": dict(lists["roles"]), "state": STATES, "licence": LICENCES}
            choices = {name: ("", *values) for name, values in either.items()}
            errors |= check_choices(form, {**choices, "sort": USERS.sorts, "format": FORMATS})
            chosen = [column for column in COLUMNS if column in request.form.getlist("column")]
            if not chosen:
                errors["column"] = "Choose a column."
            if error := check_file_name(form["name"]):
                errors["name"] = error
            if not errors:
                return self.redirect(f"/export/{self._write_export(form, chosen)}", "The file is written.")
        context = {"form": form, "errors": errors, "chosen": chosen, "columns": COLUMNS, "formats": FORMATS, **lists}
        return self.page(request, "new_export.html", **context)

    def _write_export(self, form: Mapping[str, str], columns: list[str]) -> int:
        """Export the users that a form selects. Return the id of the row in the table of exports."""
        where, values, _ = USERS.read(form)
        users = self.query(f"{USERS.sql} WHERE {where} ORDER BY {USERS.order_of(form['sort'])}", *values)
        row = {**form, "columns": ", ".join(columns), "content": write_file(users, columns, form["format"])}
        number = self._next("exports")
        row |= {"id": number, "day": TODAY.isoformat()}
        self.query(f"INSERT INTO exports ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values())
        self._note("File exported", form["name"])
        return number

    @route("/export/<int:export>")
    def export(self, request: WebRequest, export: int) -> Response:
        sql = """SELECT e.*, t.name AS team_name, r.name AS role_name FROM exports e LEFT JOIN teams t ON t.id = e.team
                 LEFT JOIN roles r ON r.id = e.role WHERE e.id = ?"""
        found = self.one(sql, export)
        lines = None if found["content"] is None else found["content"].splitlines()
        return self.page(request, "export.html", export=found, lines=lines, formats=FORMATS, sorts=USERS.sorts)


SITES.add(Admin.name, Admin)
