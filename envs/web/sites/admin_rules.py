"""Rules of `admin`: the lists of users and of log entries, checks of forms, and the text of an exported file.

If a rule is violated, the check returns an error message for the field, and the site changes nothing.
"""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .admin_content import ADMINISTRATOR, ADMINISTRATOR_NAME, FORMATS, LICENCES, OWNER, SETTINGS, STATES
from .list_page import Filter, ListPage, date_filter, name_all, read_id
from .site import WebSite, read_number


def _describe_users(parts: Mapping[str, str]) -> str:
    """Join conditions in words, as in "users in the team Finance with the role Guest"."""
    kinds = [parts[name] for name in ("role", "state", "licence") if name in parts]
    with_all = f"with {name_all(kinds)}" if kinds else ""
    words = ("users", parts.get("team"), with_all, parts.get("since"), parts.get("idle"))
    return " ".join(filter(None, words))


USERS = ListPage(
    path="/users",
    links=("Users",),
    search_box="Search users",
    table="users u",
    joins="JOIN teams t ON t.id = u.team JOIN roles r ON r.id = u.role",
    columns="u.*, t.name AS team_name, r.name AS role_name",
    key="u.id",
    search="u.name || ' ' || u.mail",
    filters={
        "team": Filter("u.team = ?", "Team", "in the team {}".format, task_sql="t.name = ?", read=read_id),
        "role": Filter("u.role = ?", "Role", "the role {}".format, task_sql="r.name = ?", read=read_id),
        "state": Filter("u.state = ?", "State", "the state {}".format),
        "licence": Filter("u.licence = ?", "Licence", "the licence {}".format),
        # Users who have never logged in have "" as the date, so that they count as idle since any date.
        "since": date_filter("u.login >= ?", "Last login on or after", "who last logged in on or after {}"),
        "idle": date_filter(
            "u.login < ?",
            "No login on or after",
            "who did not log in on or after {} (users who never did count as well)",
        ),
    },
    sorts={
        "name": ("Name", "u.name"),
        "mail": ("Mail", "u.mail"),
        "latest": ("Last login, newest first", "u.login DESC, u.name"),
        "earliest": ("Last login, oldest first", "u.login, u.name"),
    },
    per_page=8,
    join=_describe_users,
)
LOG = ListPage(
    path="/log",
    links=("Audit log",),
    table="log l JOIN users u ON u.id = l.actor",
    columns="l.*, u.name AS actor_name",
    key="l.id",
    filters={
        "action": Filter("l.action = ?", "Action"),
        "actor": Filter("lower(u.name) = lower(?)", "By", control="text"),
        "target": Filter("instr(lower(l.target), lower(?))", "Concerns", control="text"),
        "since": date_filter("l.day >= ?", "From date"),
        "until": date_filter("l.day <= ?", "To date"),
    },
    sorts={"new": ("Newest", "l.day DESC, l.id DESC"), "old": ("Oldest", "l.day, l.id")},
    per_page=12,
)
MOST_NAME, MOST_MESSAGE = 60, 500
_MAIL = re.compile(r"[a-z0-9](?:[a-z0-9._+-]{0,62}[a-z0-9])?@(?:[a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?\.)+[a-z]{2,20}")
_FILE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


def check_name(site: WebSite, table: str, name: str, number: int = 0) -> str | None:
    """Check the name of a row of a table. ``number`` is the id of the row, 0 for a new row. Return the error message,
    or None."""
    if not name:
        return "Enter a name."
    if len(name) > MOST_NAME or not name.isprintable():
        return f"Write the name on one line, with at most {MOST_NAME} characters."
    if site.query(f"SELECT 1 FROM {table} WHERE lower(name) = lower(?) AND id <> ?", name, number):
        return "This name is taken."
    return None


def is_mail(text: str) -> bool:
    """Return True if a text has the form of a mail address, on one line and in ASCII."""
    return len(text) <= 100 and text.isascii() and _MAIL.fullmatch(text.lower()) is not None


def check_mail(site: WebSite, mail: str, user: int = 0) -> str | None:
    """Check the mail address of a user or an invitation. ``user`` is the id of the user, 0 for a new one. Return the
    error message, or None."""
    if not is_mail(mail):
        return "Enter a mail address such as ada.moreau@harbour.example."
    if site.query("SELECT 1 FROM users WHERE lower(mail) = lower(?) AND id <> ?", mail, user):
        return "A user has this mail address."
    if site.query("SELECT 1 FROM invitations WHERE lower(mail) = lower(?)", mail):
        return "This mail address is invited already."
    return None


def check_choices(form: Mapping[str, str], choices: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """Return field -> error message for all fields whose value is not among the field's ``choices``."""
    return {
        name: f"Choose a {name}."
        for name, values in choices.items()
        if form[name] not in {str(value) for value in values}
    }


def check_users(site: WebSite, changed: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Check users as they would be after a change. Return (field, error message) of the first violated rule, or
    None."""
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
    """Check that a set of permissions has "View" for every area for which it has "Edit" or "Export". Return the error
    message, or None."""
    granted = set(granted)
    for permission in sorted(granted):
        area = permission.partition(" ")[2]
        if f"View {area}" not in granted:
            return f"{permission} needs View {area}."
    return None


def check_setting(name: str, value: str) -> str | None:
    """Check the value of a setting. Return the error message, or None."""
    _, allowed = SETTINGS[name]
    if allowed is None:
        return None if is_mail(value) else "Enter a mail address."
    if isinstance(allowed[0], str):
        return None if value in allowed else f"Choose one of {', '.join(allowed)}."
    low, high = allowed
    return None if read_number(value, low, high, -1) >= 0 else f"Enter a whole number from {low} to {high}."


def check_file_name(name: str) -> str | None:
    """Check the name of an exported file. Return the error message, or None."""
    return None if _FILE.fullmatch(name) else "Enter a name of at most 40 small letters, digits and hyphens."


def write_file(users: Iterable[sqlite3.Row], columns: Sequence[str], separator: str) -> str:
    """Return the text of an exported file: a header line, and a line for each user. ``separator`` is a key of
    `FORMATS`. A cell that a spreadsheet would read as a formula gets an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=FORMATS[separator][1], lineterminator="\n")
    writer.writerow(columns)
    fields = {"Team": "team_name", "Role": "role_name", "Last login": "login"}
    for user in users:
        cells = (str(user[fields.get(column, column.lower())]) for column in columns)
        writer.writerow(f"'{cell}" if cell[:1] in tuple("=+-@\t\r") else cell for cell in cells)
    return text.getvalue()
