"""Site "tracker", a project tracker: tickets with blockers and comments, boards, lists with filters, milestones.

The signed-in user may change everything, except for changes of states that the rules forbid; see
`ProjectTracker._refuse`.
"""

from __future__ import annotations

import sqlite3
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from .details import HasDetails
from .exchange import Response, WebRequest
from .list_page import Filter, ListPage, date_filter
from .site import SITES, is_date, read_form, read_number, route
from .tracker_content import (
    KINDS,
    LABELS,
    MOST_HOURS,
    PEOPLE,
    PRIORITIES,
    PROJECTS,
    REASONS,
    STATES,
    TODAY,
    VISITOR,
    fill_tracker,
)

TICKETS_IN_COLUMN, MOST_TITLE, MOST_BULK = 5, 120, 100
NOW = TODAY.isoformat()
# Value of the form for tickets without assignee or milestone, and value for all states but "Closed".
NONE, OPEN = "-", "open"


def _name_filter(column: str, words: str, option: str, words_for_none: str) -> Filter:
    return Filter(
        f"t.{column} = ?",
        column.capitalize(),
        words.format,
        read=lambda text: "" if text == NONE else text,
        special_words={"": (option, words_for_none)},
    )


TICKETS = ListPage(
    path="/tickets",
    links=("Tickets",),
    search_box="Search tickets",
    table="tickets t",
    columns="t.*",
    page_columns="""EXISTS (SELECT 1 FROM blockers b JOIN tickets o ON o.id = b.blocker
        WHERE b.ticket = t.id AND o.state <> 'Closed') AS blocked""",
    key="t.id",
    search="t.title",
    filters={
        "project": Filter("t.project = ?", "Project", "in the project {}".format),
        "kind": Filter("t.kind = ?", "Kind", "of the kind {}".format),
        "priority": Filter("t.priority = ?", "Priority", "of the priority {}".format),
        "assignee": _name_filter("assignee", "assigned to {}", "Nobody", "assigned to nobody"),
        "milestone": _name_filter("milestone", "in the milestone {}", "No milestone", "in no milestone"),
        "state": Filter(
            "t.state = ?",
            "State",
            "in the state {}".format,
            special_words={OPEN: ("Not closed", "not closed")},
            special_sql={OPEN: "t.state <> 'Closed' AND ? <> ''"},
        ),
        "label": Filter("instr(', ' || t.labels || ', ', ', ' || ? || ', ')", "Label", 'labelled "{}"'.format),
        "since": date_filter("t.due >= ?", "Due from", "due on or after {}"),
        "until": date_filter("t.due <> '' AND t.due <= ?", "Due until", "due on or before {}"),
    },
    sorts={
        "new": ("Newest", "t.id DESC"),
        "due": ("Due date, earliest first", "t.due = '', t.due, t.id"),
        "priority": ("Priority, highest first", f"instr('{' '.join(PRIORITIES)}', t.priority), t.id"),
        "estimate": ("Estimate, largest first", "t.estimate DESC, t.id"),
        "title": ("Title", "t.title"),
    },
    per_page=8,
    in_given_order=True,
)
# Successors of each state. A ticket can be closed as done only from "In review", for other reasons from any state.
FOLLOWING = {
    "To do": ("In progress",),
    "In progress": ("To do", "In review"),
    "In review": ("In progress", "Closed"),
    "Closed": ("To do",),
}
_FIELDS = ("project", "title", "body", "kind", "priority", "assignee", "milestone", "due", "estimate")
_CHOICES = {"projects": PROJECTS, "kinds": KINDS, "priorities": PRIORITIES, "people": PEOPLE, "labels": LABELS}
_LISTS = {name: tuple((value, value) for value in values) for name, values in {**_CHOICES, "reasons": REASONS}.items()}
_STATES_TO_FIND = ((OPEN, "Not closed"), *((state, state) for state in STATES))
_STATES_TO_SET = (*((state, state) for state in STATES[:3]), ("Closed", "Closed as done"))
# Query that has a row if the first value, a ticket, is the second value or waits for it, directly or indirectly.
_WAITS_FOR = """
    WITH RECURSIVE before (id) AS (
        VALUES (?) UNION SELECT b.blocker FROM blockers b JOIN before ON b.ticket = before.id
    ) SELECT 1 FROM before WHERE id = ?
"""


class ProjectTracker(HasDetails):
    """Web application of the project tracker; see the module."""

    name = "tracker"
    schema = """
        CREATE TABLE milestones (name TEXT PRIMARY KEY, due TEXT);
        CREATE TABLE tickets (
            id INTEGER PRIMARY KEY, project TEXT, title TEXT, body TEXT, kind TEXT, priority TEXT, state TEXT,
            reason TEXT, original INTEGER, assignee TEXT, milestone TEXT, due TEXT, estimate INTEGER, labels TEXT,
            reporter TEXT, opened TEXT
        );
        CREATE TABLE comments (id INTEGER PRIMARY KEY, ticket INTEGER, author TEXT, day TEXT, body TEXT);
        CREATE INDEX comments_of ON comments (ticket);
        CREATE TABLE blockers (ticket INTEGER, blocker INTEGER, PRIMARY KEY (ticket, blocker));
    """
    judged = {  # noqa: RUF012
        "tickets": """
            SELECT id, project, title, body, kind, priority, state, reason, original, assignee, milestone, due,
            estimate, labels, reporter FROM tickets
        """,
        "comments": "SELECT ticket, author, body FROM comments",
        "blockers": "SELECT ticket, blocker FROM blockers",
        "milestones": "SELECT name, due FROM milestones",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_tracker(database, size, rng)

    def surroundings(self) -> dict[str, Any]:
        return {"visitor": VISITOR, "today": NOW, "nothing": NONE, **_LISTS}

    def _milestones(self) -> tuple[tuple[str, str], ...]:
        """Return the options of a list of all milestones, ordered by due date."""
        return tuple((row["name"], row["name"]) for row in self.query("SELECT name FROM milestones ORDER BY due, name"))

    # Reading.

    @route("/")
    def home(self, request: WebRequest) -> Response:
        sql = "SELECT project, count(*) AS number, sum(state <> 'Closed') AS open FROM tickets GROUP BY project"
        counts = {row["project"]: row for row in self.query(sql)}
        sql = f"{TICKETS.sql} WHERE t.assignee = ? AND t.state <> 'Closed' ORDER BY {TICKETS.order_of('due')} LIMIT 3"
        mine = self.query(sql, VISITOR)
        return self.page(request, "home.html", projects_about=PROJECTS, counts=counts, tickets=mine)

    @route("/project/<project>")
    def board(self, request: WebRequest, project: str) -> Response:
        """Show the tickets of a project in a column for each state."""
        tickets = self.query(f"{TICKETS.sql} WHERE t.project = ? ORDER BY {TICKETS.order_of('priority')}", project)
        self.one("SELECT 1 WHERE ?", project in PROJECTS)
        columns = {state: [row for row in tickets if row["state"] == state] for state in STATES}
        context = {"about": PROJECTS[project][0], "columns": columns, "most": TICKETS_IN_COLUMN}
        return self.page(request, "board.html", project=project, **context)

    @route("/tickets")
    def tickets(self, request: WebRequest) -> Response:
        wanted = {name: request.args.get(name, "").strip()[:200] for name in TICKETS.fields}
        shown = TICKETS.show(self, wanted, request.args)
        lists = {"milestones": self._milestones(), "states": _STATES_TO_FIND}
        return self.page(request, "tickets.html", **lists, **shown)

    @route("/ticket/<int:ticket>")
    def ticket(self, request: WebRequest, ticket: int) -> Response:
        return self._show_ticket(request, ticket)

    def _show_ticket(self, request: WebRequest, ticket: int, **context: Any) -> Response:
        found = self.one(f"{TICKETS.sql} WHERE t.id = ?", ticket)
        sql = "SELECT t.id, t.title, t.state FROM tickets t JOIN blockers b ON {} = t.id WHERE {} = ? ORDER BY t.id"
        links = {
            "blockers": self.query(sql.format("b.blocker", "b.ticket"), ticket),
            "blocking": self.query(sql.format("b.ticket", "b.blocker"), ticket),
            "comments": self.query("SELECT * FROM comments WHERE ticket = ? ORDER BY id", ticket),
            "original": self.query("SELECT id, title FROM tickets WHERE id = ?", found["original"]),
        }
        targets = tuple((state, state) for state in dict.fromkeys((*FOLLOWING[found["state"]], "Closed")))
        form = {"body": "", "state": "", "reason": "", "original": "", "blocker": ""}
        context = {"form": form, "errors": {}} | context
        return self.page(request, "ticket.html", ticket=found, targets=targets, **links, **context)

    @route("/milestones", "GET", "POST")
    def milestones(self, request: WebRequest) -> Response:
        form, errors = read_form(request, "name", "due"), {}
        if request.method == "POST":
            name = form["name"] = " ".join(form["name"].split())
            if not any(character.isalnum() for character in name) or len(name) > 40:
                errors["name"] = "Enter a name of at most 40 characters, with letters or digits."
            elif self.query("SELECT 1 FROM milestones WHERE lower(name) = lower(?)", name):
                errors["name"] = "There is a milestone with this name."
            if not is_date(form["due"]):
                errors["due"] = "Write a date as YYYY-MM-DD."
            if not errors:
                self.query("INSERT INTO milestones VALUES (?, ?)", name, form["due"])
                return self.redirect("/milestones", "The milestone is made.")
        sql = """
            SELECT m.name, m.due, count(t.id) AS number, coalesce(sum(t.state = 'Closed'), 0) AS closed
            FROM milestones m LEFT JOIN tickets t ON t.milestone = m.name GROUP BY m.name ORDER BY m.due, m.name
        """
        context = {"milestones": self.query(sql), "form": form, "errors": errors}
        return self.page(request, "milestones.html", **context)

    # Writing.

    @route("/new", "GET", "POST")
    def new(self, request: WebRequest) -> Response:
        if request.method == "GET":
            form = dict.fromkeys(_FIELDS, "") | {"project": request.args.get("project", ""), "estimate": "0"}
            return self._show_form(request, None, form, ())
        form, labels, errors = self._read_ticket(request, None)
        if errors:
            return self._show_form(request, None, form, labels, errors)
        (ticket,) = self.one("SELECT coalesce(max(id), 0) + 1 FROM tickets")
        sql = f"""
            INSERT INTO tickets (id, {", ".join(_FIELDS)}, labels, state, reason, original, reporter, opened)
            VALUES (?, {", ".join("?" for _ in _FIELDS)}, ?, 'To do', '', 0, ?, ?)
        """
        self.query(sql, ticket, *form.values(), ", ".join(labels), VISITOR, NOW)
        return self.redirect(f"/ticket/{ticket}", f"Ticket {ticket} is filed.")

    @route("/ticket/<int:ticket>/edit", "GET", "POST")
    def edit(self, request: WebRequest, ticket: int) -> Response:
        found = self.one("SELECT * FROM tickets WHERE id = ?", ticket)
        if request.method == "GET":
            form = {name: str(found[name]) for name in _FIELDS}
            return self._show_form(request, found, form, tuple(found["labels"].split(", ")))
        form, labels, errors = self._read_ticket(request, found)
        if errors:
            return self._show_form(request, found, form, labels, errors)
        self._update(ticket, **form, labels=", ".join(labels))
        return self.redirect(f"/ticket/{ticket}", f"Ticket {ticket} is changed.")

    def _show_form(
        self,
        request: WebRequest,
        ticket: sqlite3.Row | None,
        form: dict[str, str],
        marked: tuple[str, ...],
        errors: dict[str, str] | None = None,
    ) -> Response:
        """Render the form of a ticket (None: of a new one)."""
        context = {"form": form, "marked": marked, "errors": errors or {}, "milestones": self._milestones()}
        return self.page(request, "form.html", ticket=ticket, **context)

    def _read_ticket(
        self, request: WebRequest, ticket: sqlite3.Row | None
    ) -> tuple[dict[str, str], tuple[str, ...], dict[str, str]]:
        """Read the form of a ticket (None: of a new one). Return (fields, labels, field -> error message)."""
        form = read_form(request, *_FIELDS)
        form["title"] = " ".join(form["title"].split())
        marked, errors = request.form.getlist("labels"), {}
        own = 0 if ticket is None else ticket["id"]
        if not form["title"] or len(form["title"]) > MOST_TITLE:
            errors["title"] = f"Enter a title of at most {MOST_TITLE} characters."
        elif self.query("SELECT 1 FROM tickets WHERE lower(title) = lower(?) AND id <> ?", form["title"], own):
            errors["title"] = "There is a ticket with this title."
        for name, choices in (("project", PROJECTS), ("kind", KINDS), ("priority", PRIORITIES)):
            if form[name] not in choices:
                errors[name] = f"Choose a {name}."
        if form["assignee"] and form["assignee"] not in PEOPLE:
            errors["assignee"] = "Choose an assignee of the list."
        elif not form["assignee"] and ticket is not None and ticket["state"] in STATES[1:3]:
            errors["assignee"] = f"A ticket in the state {ticket['state']} needs an assignee."
        if form["milestone"] and not self.query("SELECT 1 FROM milestones WHERE name = ?", form["milestone"]):
            errors["milestone"] = "Choose a milestone of the list."
        if form["due"] and not is_date(form["due"]):
            errors["due"] = "Write a date as YYYY-MM-DD, or leave this empty."
        hours = read_number(form["estimate"], 0, MOST_HOURS, -1)
        if hours < 0:
            errors["estimate"] = f"Enter whole hours from 0 to {MOST_HOURS}."
        if not {*marked} <= {*LABELS}:
            errors["labels"] = "Choose labels of the list."
        return form, tuple(label for label in LABELS if label in marked), errors

    def _update(self, ticket: int, **changes: Any) -> None:
        """Set columns of a ticket to new values."""
        columns = ", ".join(f"{name} = ?" for name in changes)
        self.query(f"UPDATE tickets SET {columns} WHERE id = ?", *changes.values(), ticket)

    # States.

    def _refuse(self, ticket: sqlite3.Row, state: str, reason: str, assignee: str) -> str:
        """Return an error message if a ticket cannot change to a state; "" if it can."""
        number, following = f"Ticket {ticket['id']}", FOLLOWING[ticket["state"]]
        if state == ticket["state"]:
            return ""
        if state not in following and not (state == "Closed" and reason != "Done"):
            where = f"{state} as done" if state == "Closed" else state
            return f"{number} goes from {ticket['state']} to {' or '.join(following)}, not to {where}."
        if state in STATES[1:3] and not assignee:
            return f"{number} has no assignee, so that nobody would work on it. Assign it first."
        if state == "Closed":
            sql = "SELECT id FROM blockers JOIN tickets ON id = blocker WHERE ticket = ? AND state <> 'Closed'"
            blockers = " and ".join(str(row["id"]) for row in self.query(f"{sql} ORDER BY id", ticket["id"]))
            if blockers:
                return f"{number} is blocked by ticket {blockers}. Close what blocks it first."
        return ""

    @route("/ticket/<int:ticket>/state", "POST")
    def change_state(self, request: WebRequest, ticket: int) -> Response:
        found = self.one("SELECT * FROM tickets WHERE id = ?", ticket)
        form, errors = read_form(request, "state", "reason", "original"), {}
        original = read_number(form["original"].removeprefix("#"), 1, 999_999_999, 0)
        if form["state"] not in STATES or form["state"] == found["state"]:
            errors["state"] = "Choose another state."
        elif form["state"] == "Closed" and form["reason"] not in REASONS:
            errors["reason"] = "Choose a reason for closing."
        elif form["state"] == "Closed" and form["reason"] == "Duplicate":
            if original == ticket or not self.query("SELECT 1 FROM tickets WHERE id = ?", original):
                errors["original"] = "Enter the number of the other ticket that this one repeats."
        elif form["original"]:
            errors["original"] = "Only a ticket that is closed as a duplicate has an original."
        if not errors and (refusal := self._refuse(found, form["state"], form["reason"], found["assignee"])):
            errors["state"] = refusal
        if errors:
            return self._show_ticket(request, ticket, form={"body": "", "blocker": "", **form}, errors=errors)
        is_closed = form["state"] == "Closed"
        self._update(ticket, state=form["state"], reason=form["reason"] if is_closed else "", original=original)
        return self.redirect(f"/ticket/{ticket}", f"Ticket {ticket} is in the state {form['state']}.")

    @route("/ticket/<int:ticket>/comment", "POST")
    def comment(self, request: WebRequest, ticket: int) -> Response:
        self.one("SELECT 1 FROM tickets WHERE id = ?", ticket)
        body = read_form(request, "body")["body"]
        if not body:
            return self._show_ticket(request, ticket, errors={"body": "Write a text."})
        self.query("INSERT INTO comments (ticket, author, day, body) VALUES (?, ?, ?, ?)", ticket, VISITOR, NOW, body)
        return self.redirect(f"/ticket/{ticket}", "Your comment is added.")

    @route("/ticket/<int:ticket>/blockers", "POST")
    def change_blockers(self, request: WebRequest, ticket: int) -> Response:
        self.one("SELECT 1 FROM tickets WHERE id = ?", ticket)
        text = read_form(request, "blocker")["blocker"]
        blocker = read_number(text.removeprefix("#"), 1, 999_999_999, 0)
        if request.form.get("action") == "remove":
            self.query("DELETE FROM blockers WHERE ticket = ? AND blocker = ?", ticket, blocker)
            return self.redirect(f"/ticket/{ticket}", f"Ticket {blocker} is no blocker any more.")
        error = ""
        if not self.query("SELECT 1 FROM tickets WHERE id = ?", blocker):
            error = "Enter the number of a ticket."
        elif self.query("SELECT 1 FROM blockers WHERE ticket = ? AND blocker = ?", ticket, blocker):
            error = f"Ticket {blocker} is a blocker already."
        elif self.query(_WAITS_FOR, blocker, ticket):
            error = f"Ticket {blocker} is this ticket, or waits for it; both would wait for ever."
        if error:
            form = {"body": "", "state": "", "reason": "", "original": "", "blocker": text}
            return self._show_ticket(request, ticket, form=form, errors={"blocker": error})
        self.query("INSERT INTO blockers VALUES (?, ?)", ticket, blocker)
        return self.redirect(f"/ticket/{ticket}", f"Ticket {blocker} is a blocker now.")

    @route("/tickets/edit", "GET", "POST")
    def edit_several(self, request: WebRequest) -> Response:
        """Edit all tickets chosen from a list with one form. An error with one ticket leaves all unchanged."""
        sent = request.args if request.method == "GET" else request.form
        numbers = {read_number(text, 1, 999_999_999, 0) for text in sent.getlist("ticket")[:MOST_BULK]}
        marks = ", ".join("?" for _ in numbers)
        chosen = self.query(f"SELECT * FROM tickets WHERE id IN ({marks}) ORDER BY id", *sorted(numbers))
        # Rebuild the address from its parsed parts, so that it can only lead to a list of tickets.
        back = f"/tickets?{urlencode(parse_qsl(sent.get('back', '')[:1000]))}"
        if not chosen:
            return self.redirect(back, "Choose at least one ticket.")
        form, errors = read_form(request, "state", "priority", "assignee", "milestone", "add", "drop"), {}
        if request.method == "POST":
            errors = self._check_bulk(chosen, form)
            if not errors:
                for ticket in chosen:
                    self._change_one_of_several(ticket, form)
                return self.redirect(back, "The tickets are changed.")
        context = {"form": form, "errors": errors, "chosen": chosen, "back": back.partition("?")[2]}
        lists = {"milestones": self._milestones(), "states": _STATES_TO_SET}
        return self.page(request, "several.html", **context, **lists)

    def _check_bulk(self, chosen: list[sqlite3.Row], form: dict[str, str]) -> dict[str, str]:
        errors = {}
        choices = {
            "state": STATES,
            "priority": PRIORITIES,
            "assignee": (NONE, *PEOPLE),
            "milestone": (NONE, *(name for name, _ in self._milestones())),
            "add": LABELS,
            "drop": LABELS,
        }
        for name, values in choices.items():
            if form[name] and form[name] not in values:
                errors[name] = "Choose from the list."
        if not any(form.values()):
            errors["state"] = "Choose what to change."
        elif form["add"] and form["add"] == form["drop"]:
            errors["drop"] = "Choose another label than the one that is added."
        if errors:
            return errors
        for ticket in chosen:
            assignee = ticket["assignee"] if not form["assignee"] else form["assignee"].removeprefix(NONE)
            state = form["state"] or ticket["state"]
            if refusal := self._refuse(ticket, state, "Done", assignee):
                return {"state": refusal}
            if not assignee and state in STATES[1:3]:
                return {"assignee": f"Ticket {ticket['id']} in the state {state} needs an assignee."}
        return {}

    def _change_one_of_several(self, ticket: sqlite3.Row, form: dict[str, str]) -> None:
        changes: dict[str, Any] = {}
        if form["state"] and form["state"] != ticket["state"]:
            reason = "Done" if form["state"] == "Closed" else ""
            changes |= {"state": form["state"], "reason": reason, "original": 0}
        if form["priority"]:
            changes["priority"] = form["priority"]
        for name in ("assignee", "milestone"):
            if form[name]:
                changes[name] = "" if form[name] == NONE else form[name]
        labels = {*ticket["labels"].split(", "), form["add"]} - {form["drop"]}
        changes["labels"] = ", ".join(label for label in LABELS if label in labels)
        self._update(ticket["id"], **changes)


SITES.add(ProjectTracker.name, ProjectTracker)
