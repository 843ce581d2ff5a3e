"""Rules of `admin`: filters on users, validation of forms and changes, and the text of an exported file.

A violated rule gives an error message for its field, and nothing is changed.
"""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .admin_content import ADMINISTRATOR, ADMINISTRATOR_NAME, FORMATS, LICENCES, OWNER, SETTINGS, STATES
from .site import WebSite, is_date, read_number

USERS = """
    SELECT u.*, t.name AS team_name, r.name AS role_name FROM users u JOIN teams t ON t.id = u.team
    JOIN roles r ON r.id = u.role
"""
USER_SORTS = {
    "name": ("Name", "u.name"),
    "mail": ("Mail", "u.mail"),
    "latest": ("Last login, newest first", "u.login DESC, u.name"),
    "earliest": ("Last login, oldest first", "u.login, u.name"),
}
FILTERS = ("team", "role", "state", "licence", "since", "idle")
MOST_NAME, MOST_MESSAGE = 60, 500
_MAIL = re.compile(r"[a-z0-9](?:[a-z0-9._+-]{0,62}[a-z0-9])?@(?:[a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?\.)+[a-z]{2,20}")
_FILE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_DATE = "Write a date as YYYY-MM-DD."
_ENTRIES = {
    "action": "l.action = ?",
    "actor": "lower(u.name) = lower(?)",
    "target": "instr(lower(l.target), lower(?))",
    "since": "l.day >= ?",
    "until": "l.day <= ?",
}
_LOGINS = {"since": "u.login >= ?", "idle": "u.login < ?"}


def filter_users(form: Mapping[str, str]) -> tuple[str, list[Any], dict[str, str]]:
    """A condition in SQL with its values from the fields "q" and `FILTERS`, and errors by field. Who never logged in
    has not logged in since any date."""
    conditions, values, errors = ["1"], [], {}
    for word in form.get("q", "").split()[:12]:
        conditions.append("instr(lower(u.name || ' ' || u.mail), lower(?))")
        values.append(word)
    for name in ("team", "role"):
        if form[name]:
            conditions.append(f"u.{name} = ?")
            values.append(read_number(form[name], 1, 10_000, 0))
    for name in ("state", "licence"):
        if form[name]:
            conditions.append(f"u.{name} = ?")
            values.append(form[name])
    for name, condition in _LOGINS.items():
        if form[name] and is_date(form[name]):
            conditions.append(condition)
            values.append(form[name])
        elif form[name]:
            errors[name] = _DATE
    return " AND ".join(conditions), values, errors


def filter_log(wanted: Mapping[str, str]) -> tuple[str, list[Any], dict[str, str]]:
    """The same for entries of the log, by action, actor, target and dates."""
    found = [name for name in _ENTRIES if wanted[name]]
    wrong = [name for name in ("since", "until") if wanted[name] and not is_date(wanted[name])]
    conditions = ["1", *(_ENTRIES[name] for name in found if name not in wrong)]
    values = [wanted[name] for name in found if name not in wrong]
    return " AND ".join(conditions), values, dict.fromkeys(wrong, _DATE)


def check_name(site: WebSite, table: str, name: str, number: int = 0) -> str | None:
    """Validate the name of a row of a table. ``number`` is the row's id, 0 for a new row. Return the error message, or
    None."""
    if not name:
        return "Enter a name."
    if len(name) > MOST_NAME or not name.isprintable():
        return f"Write the name on one line, with at most {MOST_NAME} characters."
    if site.query(f"SELECT 1 FROM {table} WHERE lower(name) = lower(?) AND id <> ?", name, number):
        return "This name is taken."
    return None


def is_mail(text: str) -> bool:
    """True if a text has the form of a mail address, on one line and in ASCII."""
    return len(text) <= 100 and text.isascii() and _MAIL.fullmatch(text.lower()) is not None


def check_mail(site: WebSite, mail: str, user: int = 0) -> str | None:
    """Validate the mail address of a user or an invitation. Return the error message, or None."""
    if not is_mail(mail):
        return "Enter a mail address such as ada.moreau@harbour.example."
    if site.query("SELECT 1 FROM users WHERE lower(mail) = lower(?) AND id <> ?", mail, user):
        return "A user has this mail address."
    if site.query("SELECT 1 FROM invitations WHERE lower(mail) = lower(?)", mail):
        return "This mail address is invited already."
    return None


def check_choices(form: Mapping[str, str], choices: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """Return error messages, by field, for values that are not among a field's choices."""
    return {
        name: f"Choose a {name}."
        for name, values in choices.items()
        if form[name] not in {str(value) for value in values}
    }


def check_users(site: WebSite, changed: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Check users as they would be after a change. Return field and message of the first violated rule, or None."""
    leads = {row["lead"]: row for row in site.query("SELECT id, lead, name FROM teams")}
    for user in changed:
        active, name = user["state"] == STATES[0], user["name"]
        if user["id"] == ADMINISTRATOR and not active:
            return "state", f"You are {ADMINISTRATOR_NAME} and cannot suspend yourself."
        if not active and user["licence"] != LICENCES[0]:
            return "licence", f"{name} is suspended: a suspended user has the licence None."
        team = leads.get(user["id"])
        if team is not None and not (active and user["team"] == team["id"]):
            field = "team" if active else "state"
            return field, f"{name} leads the team {team['name']}: give the team another lead first."
    others = {row["id"] for row in site.query("SELECT id FROM users WHERE role = ? AND state = ?", OWNER, STATES[0])}
    others -= {user["id"] for user in changed}
    if not others and not any((user["role"], user["state"]) == (OWNER, STATES[0]) for user in changed):
        return "role", "This is the last active owner: make somebody else an owner first."
    return None


def check_permissions(granted: Iterable[str]) -> str | None:
    """Check that a set of permissions has "View" for every area with edit or export. Return the error message, or
    None."""
    granted = set(granted)
    for permission in sorted(granted):
        area = permission.partition(" ")[2]
        if f"View {area}" not in granted:
            return f"{permission} needs View {area}."
    return None


def check_setting(name: str, value: str) -> str | None:
    """Validate the value of a setting. Return the error message, or None."""
    _, allowed = SETTINGS[name]
    if allowed is None:
        return None if is_mail(value) else "Enter a mail address."
    if isinstance(allowed[0], str):
        return None if value in allowed else f"Choose one of {', '.join(allowed)}."
    low, high = allowed
    return None if read_number(value, low, high, -1) >= 0 else f"Enter a whole number from {low} to {high}."


def check_file_name(name: str) -> str | None:
    """Validate the name of an exported file. Return the error message, or None."""
    return None if _FILE.fullmatch(name) else "Enter a name of at most 40 small letters, digits and hyphens."


def write_file(users: Iterable[sqlite3.Row], columns: Sequence[str], separator: str) -> str:
    """Return the exported text: a header line, and a line for each user. A cell that a spreadsheet would read as a
    formula is prefixed with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=FORMATS[separator][1], lineterminator="\n")
    writer.writerow(columns)
    fields = {"Team": "team_name", "Role": "role_name", "Last login": "login"}
    for user in users:
        cells = (str(user[fields.get(column, column.lower())]) for column in columns)
        writer.writerow(f"'{cell}" if cell[:1] in tuple("=+-@\t\r") else cell for cell in cells)
    return text.getvalue()
