"""Contents of `tracker`, drawn from a seed: projects, tickets with comments and blockers, and milestones.

Each project has a team, to which most of its tickets are assigned. Many titles, some names and some labels differ in
one word or letter only. The date is always `TODAY`.
"""

from __future__ import annotations

import functools
import itertools
import sqlite3
from datetime import date, timedelta
from typing import Any

import numpy as np

from .databases import insert_rows

TODAY = date(2026, 5, 4)
# The first user is signed in.
PEOPLE = (
    *("Dana Whitfield", "Dana Whitman", "Ilse Berger", "Ilsa Berger", "Omar Farouk", "Omar Faris"),
    *("Priya Nair", "Tom Ashby", "Nadia Petrova", "Luís Prado"),
)
VISITOR = PEOPLE[0]
# Project -> (description, components).
PROJECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Billing": ("Invoices and payments", ("invoice", "tax report", "refund form", "bank import", "price list")),
    "Mobile App": ("The app for customers", ("sign-in screen", "start screen", "photo upload", "map", "settings")),
    "Warehouse": (
        "Stock and parcels",
        ("stock list", "packing list", "label printer", "scanner", "parcel map"),
    ),
    "Web Shop": ("The shop on the web", ("checkout", "product page", "search page", "wish list", "order list")),
}
# (kind of a ticket, title with {} for component and place), ordered such that each project has all kinds.
TITLES = (
    ("Bug", "Wrong date in the {}{}"),
    ("Feature", "Add filters to the {}{}"),
    ("Task", "Write tests of the {}{}"),
    ("Bug", "Slow loading of the {}{}"),
    ("Feature", "Add a help text to the {}{}"),
    ("Task", "Write a manual of the {}{}"),
    ("Bug", "Slow search in the {}{}"),
    ("Feature", "Add an export to the {}{}"),
)
KINDS = ("Bug", "Feature", "Task")
PLACES = ("", " on phones", " on tablets", " in German", " in French")
PRIORITIES = ("Urgent", "High", "Medium", "Low")
STATES = ("To do", "In progress", "In review", "Closed")
REASONS = ("Done", "Duplicate", "Not planned")
LABELS = (
    *("accessibility", "backend", "design", "design system", "docs", "frontend"),
    *("performance", "security", "security audit"),
)
MILESTONES = ("Version 4.0", "Version 4.0.1", "Version 4.1", "Version 4.2", "Version 4.10", "Version 5.0")
MOST_HOURS = 200
BODIES = (
    "A customer wrote to us about the {}.",
    "It happens every second time.",
    "Please look at the {} of the old version first.",
    "The steps are in the shared folder.",
    "Réservé à l’équipe du support.",
    "We promised this for the {} a year ago.",
    "Nobody knows who made the {}.",
    "There is a sketch on the wall of the kitchen.",
)
REMARKS = (
    "I can see this on my machine as well.",
    "Let us talk about the {} on Monday.",
    "Das dauert länger, als ich dachte.",
    "Is this still so in the newest version?",
    "I have a first draft.",
    "The {} worked well last week.",
    "Who can review this?",
    "I asked the customer for a picture of the {}.",
)
# Number of tickets in the longest chain of blockers.
LONGEST_CHAIN = 6


@functools.cache
def _day(days: int) -> str:
    """Return the date ``days`` days after today."""
    return (TODAY + timedelta(days=days)).isoformat()


def fill_tracker(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables of the tracker: ``size`` tickets with up to four comments each, blockers and milestones."""
    past = int(rng.integers(1, 4))
    # Some milestones are over.
    days = (rng.integers(7, 27, len(MILESTONES)) + 35 * (np.arange(len(MILESTONES)) - past)).tolist()
    insert_rows(database, "milestones", zip(MILESTONES, map(_day, days), strict=True))
    tickets: list[tuple[Any, ...]] = []
    comments: list[tuple[Any, ...]] = []
    titles: set[str] = set()
    projects = list(PROJECTS)
    for number, draw in enumerate(rng.integers(0, 1 << 30, (size, 16)).tolist(), 1):
        place = draw[0] % len(projects)
        parts = PROJECTS[projects[place]][1]
        # Vary the place first, then the part, then the pattern, so that titles are alike.
        step = draw[1] % 75
        while True:
            kind, pattern = TITLES[(2 * place + step // 25) % len(TITLES)]
            part = parts[step // 5 % len(parts)]
            title = pattern.format(part, PLACES[step % 5])
            if title not in titles:
                break
            step += 1
        titles.add(title)
        state = STATES[(0, 0, 0, 1, 1, 2, 2, 3, 3, 3)[draw[2] % 10]]
        reason = "" if state != "Closed" else REASONS[0 if draw[3] % 3 else 2]
        # A fifth of the tickets is assigned outside the team.
        assignee = PEOPLE[(2 * place + draw[4] % 4 if draw[4] % 5 else draw[5]) % len(PEOPLE)]
        if state == "To do" and draw[6] % 4 == 0:
            assignee = ""
        milestone = MILESTONES[draw[7] % len(MILESTONES)] if draw[8] % 6 else ""
        due = _day(draw[9] % 75 - 30) if draw[10] % 5 else ""
        marks = {draw[11] >> 4 * turn & 15 for turn in range(3)}
        labels = ", ".join([label for mark, label in enumerate(LABELS) if mark in marks])
        body = " ".join(dict.fromkeys((BODIES[draw[12] % 8], BODIES[draw[13] % 8]))).replace("{}", part)
        ago = 40 + draw[14] % 120
        priority, reporter = PRIORITIES[(0, 1, 1, 2, 2, 2, 3, 3)[draw[3] % 8]], PEOPLE[draw[5] % 7]
        about = (number, projects[place], title, body, kind, priority, state, reason, 0, assignee, milestone)
        tickets.append((*about, due, 1 + draw[6] % 40, labels, reporter, _day(-ago)))
        for turn in range(draw[15] % 5):
            author = PEOPLE[(2 * place + (draw[15] >> 3 + 2 * turn)) % len(PEOPLE)]
            remark = REMARKS[(draw[13] >> 3 * turn) % 8].replace("{}", part)
            comments.append((number, author, _day(7 * (turn + 1) - ago), remark))
    insert_rows(database, "tickets", tickets)
    insert_rows(database, "comments (ticket, author, day, body)", comments)
    order = [place + 1 for place in rng.permutation(size).tolist() if tickets[place][6] != "Closed"]
    insert_rows(database, "blockers", _draw_blockers(order, rng))
    # A few of the closed tickets were duplicates.
    closed = [ticket[0] for ticket in tickets if ticket[6] == "Closed"][::3]
    database.executemany(
        "UPDATE tickets SET reason = 'Duplicate', original = ? WHERE id = ?",
        [(order[place % len(order)], number) for place, number in enumerate(closed)],
    )


def _draw_blockers(order: list[int], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw pairs (ticket, ticket that blocks it): one long chain, short ones, and a few tickets with two blockers.

    Args:
        order: ids of the open tickets. A ticket is blocked only by later ones, so that there is no cycle.
    """
    pairs, first = [], 0
    for length in (LONGEST_CHAIN, *(2 + rng.integers(0, 3, len(order) // 12)).tolist()):
        chain = order[first : first + length]
        pairs += itertools.pairwise(chain)
        if first and chain[-1] != order[-1]:
            pairs.append((chain[0], order[-1]))
        first += length
    return pairs
