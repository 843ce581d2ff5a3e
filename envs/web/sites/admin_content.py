"""Contents of `admin`, drawn from a seed: users in teams with roles, invitations, settings and the log of all changes.

Users come in groups whose names, and so mail addresses, differ in one or two letters; names of teams and roles differ
in one word. The log agrees with the present state: the last logged change of a setting gives its value, and every
suspension is logged. The date is always `TODAY`.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from datetime import date, timedelta
from typing import Any

import numpy as np

from .databases import insert_rows

TODAY = date(2026, 6, 15)
# The user who is signed in, and the role that owns the organisation.
ADMINISTRATOR, ADMINISTRATOR_NAME, OWNER = 1, "Robin Vega", 1
FIRST_NAMES = (
    *(("Alex", "Alexa"), ("Jan", "Jana"), ("Maria", "Marie"), ("Eva", "Ewa"), ("John", "Jon"), ("Noor", "Nora")),
    *(("Zoë", "Zora"), ("Ida", "Ada"), ("Tomás", "Thomas")),
)
LAST_NAMES = (
    *(("Okafor", "Okoro"), ("Haddad", "Haddou"), ("Lindqvist", "Lindquist"), ("Meyer", "Meier"), ("Costa", "Acosta")),
    *(("Novak", "Nowak"), ("Brandt", "Brand"), ("Moreau", "Morel"), ("Sørensen", "Sorenson")),
)
DOMAINS = ("harbour.example", "harbour-labs.example")
TEAMS = ("Field Sales", "Field Support", "Platform", "Platform Tools", "Design", "Design Systems", "Finance", "People")
AREAS = ("Users", "Billing", "Reports", "Projects", "Settings", "Audit log")
VERBS = ("View", "Edit", "Export")
# "View users" to "Export audit log", in the order of the matrix; a verb beyond "View" needs "View" as well.
PERMISSIONS = tuple(f"{verb} {area.lower()}" for area in AREAS for verb in VERBS)
ROLES = (
    *("Owner", "Administrator", "Team manager", "Team member", "Billing manager", "Billing viewer", "Report editor"),
    *("Report viewer", "Guest"),
)
STATES = ("Active", "Suspended")
LICENCES = ("None", "Basic", "Basic Plus", "Full")
# Setting -> (section, allowed values); these are (minimum, maximum), the choices, or None for a mail address.
SETTINGS: dict[str, tuple[str, tuple[Any, ...] | None]] = {
    "Session length in minutes": ("Security", (5, 720)),
    "Idle time in minutes": ("Security", (1, 120)),
    "Password length": ("Security", (8, 64)),
    "Password age in days": ("Security", (0, 365)),
    "Failed sign-ins before a lock": ("Security", (3, 20)),
    "Two-step sign-in": ("Security", ("Off", "Optional", "Required")),
    "Invitation validity in days": ("Organisation", (1, 60)),
    "Log retention in months": ("Organisation", (6, 120)),
    "Language": ("Organisation", ("Deutsch", "English", "Français", "Türkçe")),
    "Support mail": ("Organisation", None),
}
SUPPORT_MAILS = ("support@harbour.example", "help@harbour.example", "support@harbour-labs.example")
MESSAGES = ("", "Welcome on board!", "Please sign in by Friday.", "", "See you on Monday.")
ACTIONS = ("Setting changed", "Role given", "Team changed", "Licence given", "User suspended", "Invitation sent")
FORMATS = {"comma": ("Commas", ","), "semicolon": ("Semicolons", ";"), "tab": ("Tabs", "\t")}
COLUMNS = ("Name", "Mail", "Team", "Role", "State", "Licence", "Last login")
# Dates, indexed by age in days.
_DAYS = tuple((TODAY - timedelta(days=ago)).isoformat() for ago in range(700))
# Users who appear in the log as authors of changes.
_ACTORS = 7


def mail_of(name: str, domain: str, short: bool = False) -> str:
    """Return a mail address for a name: "ada.moreau@harbour.example", or with ``short`` "a.moreau@harbour.example"."""
    plain = unicodedata.normalize("NFKD", name.replace("ø", "o")).encode("ascii", "ignore").decode().lower()
    first, last = plain.split(" ", 1)
    return f"{first[0] if short else first}.{last}@{domain}"


def make_names(rng: np.random.Generator, number: int) -> list[str]:
    """Return ``number`` distinct names, at most 323, in groups of four that differ in few letters."""
    groups = rng.permutation(len(FIRST_NAMES) * len(LAST_NAMES))[: -(-number // 4)].tolist()
    pairs = [(FIRST_NAMES[group % len(FIRST_NAMES)], LAST_NAMES[group // len(FIRST_NAMES)]) for group in groups]
    return [f"{first} {last}" for some, others in pairs for first in some for last in others][:number]


def fill_admin(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables: ``size`` users, of whom the first is signed in, and about twice as many entries in the log."""
    teams = TEAMS[: 4 + min(4, size // 24)]
    names = [ADMINISTRATOR_NAME, *make_names(rng, size + 11)]
    draws = rng.integers(0, 1 << 30, (size + 12, 8)).tolist()
    places = rng.permutation(size - 1).tolist()
    people, invited = [names[0], *(names[1 + place] for place in places)], names[size:]

    users: list[tuple[Any, ...]] = []
    mails: set[str] = set()
    leads: dict[int, int] = {}
    for number, (name, draw) in enumerate(zip(people, draws, strict=False), 1):
        mail = mail_of(name, DOMAINS[draw[0] % 6 == 0], draw[0] % 7 == 1)
        if mail in mails:
            mail = mail_of(name, DOMAINS[0])
        mails.add(mail)
        team = draw[1] % len(teams) + 1
        if number <= _ACTORS:
            # Authors of changes: administrators, the one or two owners, and managers.
            role, state = (2, OWNER, OWNER if draw[2] % 2 else 2, 2, 3, 3, 5)[number - 1], "Active"
        else:
            role, state = 3 + draw[2] % (len(ROLES) - 2), STATES[draw[3] % 6 == 0]
        licence = LICENCES[0] if state != "Active" else LICENCES[draw[4] % 4]
        ago = draw[5] % 30 if draw[6] % 2 else draw[5] % 420
        login = "" if draw[6] % 13 == 0 and number > _ACTORS else _DAYS[ago]
        if team not in leads and state == "Active" and number > _ACTORS:
            leads[team], login = number, _DAYS[ago % 9]
        users.append((number, name, mail, team, role, state, licence, login))
    insert_rows(database, "users", users)
    rows = [
        (place, name, leads.get(place, 0), str(2000 + draws[place][7] % 8000)) for place, name in enumerate(teams, 1)
    ]
    insert_rows(database, "teams", rows)
    insert_rows(database, "roles", list(enumerate(ROLES, 1)))
    grants = [(OWNER, permission) for permission in PERMISSIONS]
    for role in range(2, len(ROLES) + 1):
        for area, bits in enumerate(rng.integers(0, 8, len(AREAS)).tolist()):
            # The bit of value 2 grants edit, the bit of value 4 export, and any value above 0 view.
            granted = (bits > 0, bits & 2, bits & 4) if role > 2 else (1, 1, bits & 4)
            grants += [(role, PERMISSIONS[3 * area + place]) for place in range(3) if granted[place]]
    insert_rows(database, "grants", grants)

    invitations, mails_invited = [], set()
    for name, draw in zip(invited[: 4 + size // 12], draws, strict=False):
        mail = mail_of(name, DOMAINS[draw[7] % 5 == 0])
        if mail not in mails:
            mails_invited.add(mail)
            about = (2 + draw[1] % (len(ROLES) - 1), 1 + draw[2] % len(teams), MESSAGES[draw[3] % 5])
            invitations.append((mail, *about, _DAYS[1 + draw[4] % 60]))
    insert_rows(database, "invitations (mail, role, team, message, sent)", sorted(invitations))

    log = [
        (sent, 1 + draw[5] % _ACTORS, "Invitation sent", mail, f"as {ROLES[role - 1]}")
        for (mail, role, _, _, sent), draw in zip(invitations, draws, strict=False)
    ]
    for number, name, _, team, role, state, licence, login in users[1:]:
        draw = draws[number]
        ago = draw[7] % 300
        actor = 1 + draw[0] % _ACTORS
        if state == "Suspended":
            # A suspended user has no later login.
            last = (TODAY - date.fromisoformat(login)).days if login else 300
            log.append((_DAYS[draw[7] % (last + 1)], actor, "User suspended", name, ""))
        elif draw[1] % 2:
            log.append((_DAYS[ago], actor, "Role given", name, ROLES[role - 1]))
        if draw[2] % 3 == 0:
            log.append((_DAYS[ago + draw[3] % 300], actor % _ACTORS + 1, "Team changed", name, f"to {teams[team - 1]}"))
        if licence != LICENCES[0] and draw[4] % 2:
            log.append((_DAYS[ago + draw[5] % 300], actor, "Licence given", name, licence))
    settings = []
    for name, draw in zip(SETTINGS, rng.integers(0, 1 << 30, (len(SETTINGS), 12)).tolist()):
        values = [draw_setting(name, draw[place]) for place in range(5)]
        values = [value for place, value in enumerate(values) if place == 0 or value != values[place - 1]]
        settings.append((name, values[-1]))
        ago = 10 + draw[5] % 60
        for place in range(len(values) - 1, 0, -1):
            change = f"from {values[place - 1]} to {values[place]}"
            log.append((_DAYS[ago], 1 + draw[5 + place] % _ACTORS, "Setting changed", name, change))
            ago += 1 + draw[6 + place] % 120
    insert_rows(database, "settings", settings)
    insert_rows(database, "log (day, actor, action, target, detail)", sorted(log))
    for number, draw in enumerate(draws[:3]):
        columns, team = ", ".join(COLUMNS[: 2 + draw[1] % 5]), 1 + draw[2] % len(teams)
        job = (f"list-{number + 1}", columns, team, list(FORMATS)[draw[3] % 3], _DAYS[40 - 9 * number])
        database.execute("INSERT INTO exports (name, columns, team, format, day) VALUES (?, ?, ?, ?, ?)", job)


def draw_setting(name: str, number: int) -> str:
    """Return a value of a setting, chosen by ``number``, which may be any number; numeric settings get a value in the
    lower half of their range."""
    allowed = SETTINGS[name][1]
    if allowed is None:
        return SUPPORT_MAILS[number % len(SUPPORT_MAILS)]
    if isinstance(allowed[0], str):
        return allowed[number % len(allowed)]
    low, high = allowed
    step = max(1, (high - low) // 20)
    return str(low + step * (number % 10))
