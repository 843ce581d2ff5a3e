"""Templates of the project tracker that create tickets, write comments, and edit fields, labels and blockers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from ..sites.list_page import name_all
from ..sites.tracker import OPEN, TICKETS
from ..sites.tracker_content import KINDS, LABELS, MILESTONES, PEOPLE, PLACES, PRIORITIES, PROJECTS, TODAY, VISITOR
from .draws import pick, pick_several, quote_titles
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows
from .tracker_reading_tasks import TicketTemplate, draw_conditions
from .walk import Walk


class BulkTemplate(TicketTemplate, ChangeTemplate):
    """Base of templates that edit all tickets that meet conditions with the form for several tickets. Slots:
    ``conditions``, and ``numbers``, the numbers of the tickets that change."""

    table, pages = "tickets", ("/tickets/edit",)

    def draw_matches(
        self, rng: Rng, database: Database, params: Params, always: Mapping[str, str]
    ) -> tuple[dict[str, str], list[sqlite3.Row]] | None:
        """Draw conditions besides ``always``. Return (all conditions, tickets that meet them); None if no ticket meets
        ``always``. Of several draws, the one whose number of tickets is nearest to the range from "items" to 2 *
        "items" + 2 is used."""
        rows, best = TICKETS.find(database, always), None
        least, most = params["items"], 2 + 2 * params["items"]
        without = (*always, "state", *(("since",) if "until" in always else ()))
        for row in pick_several(rng, rows, 8):
            conditions = {**always, **draw_conditions(rng, row, params["constraints"], without)}
            found = TICKETS.find(database, conditions)
            miss = max(least - len(found), len(found) - most, 0)
            if best is None or miss < best[0]:
                best = miss, conditions, found
            if miss == 0:
                break
        return None if best is None else best[1:]

    def draw_numbers(self, rng: Rng, database: Database, params: Params, always: Mapping[str, str]) -> Slots | None:
        """Draw the slots ``conditions`` and ``numbers``, with all tickets that meet the conditions."""
        drawn = self.draw_matches(rng, database, params, always)
        return drawn and {"conditions": tuple(drawn[0].items()), "numbers": tuple(row["id"] for row in drawn[1])}

    def edit(self, walk: Walk, slots: Slots, numbers: Iterable[int], changes: Mapping[str, str]) -> None:
        """List the tickets that meet the conditions, choose those with ``numbers``, and apply ``changes`` (label of a
        field -> option) to them, page by page."""
        TICKETS.filter(walk, self.conditions_of(slots))
        left = {*numbers}
        while left:
            boxes = {f"Choose ticket {number}": number for number in left}
            there = [one.name for one in walk.browser.page.controls if one.name in boxes]
            if not there:
                walk.click("link", "Next page")
                continue
            for name in there:
                walk.tick("checkbox", name)
            walk.click("button", "Edit chosen tickets")
            for label, option in changes.items():
                walk.select(label, option)
            walk.click("button", "Change tickets")
            left -= {boxes[name] for name in there}


def see_number(walk: Walk, title: str, number: int) -> None:
    """Search for a ticket by its title, and turn pages until its number is shown in the list of results."""
    walk.fill("Search tickets", title)
    walk.press_enter("searchbox", "Search tickets")
    while walk.find("checkbox", f"Choose ticket {number}") is None:
        walk.click("link", "Next page")


@add_template
class EditMatching(BulkTemplate):
    """Give all tickets that meet conditions another priority or assignee."""

    name, intent, question = "edit-matching", "edit", "Give all tickets that are {what} {change}."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        drawn = self.draw_matches(rng, database, params, {"state": OPEN})
        if drawn is None:
            return None
        field, values = pick(rng, (("priority", PRIORITIES), ("assignee", PEOPLE)))
        value = pick(rng, [one for one in values if one != drawn[0].get(field)])
        if all(row[field] == value for row in drawn[1]):
            return None
        numbers = tuple(row["id"] for row in drawn[1])
        return {"conditions": tuple(drawn[0].items()), "numbers": numbers, "field": field, "value": value}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "change": FIELDS[slots["field"]][0].format(slots["value"])}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {slots["field"]: slots["value"]} for number in slots["numbers"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        changes = {FIELDS[slots["field"]][1]: slots["value"]}
        self.edit(walk, slots, [row[0] for row in goal.removed["tickets"]], changes)


@add_template
class RelabelTickets(BulkTemplate):
    """Replace a label by another one on all tickets that have the label and meet conditions."""

    name, intent = "relabel-tickets", "edit"
    question = 'At all tickets that are {what}, replace the label "{label}" by "{other}". Leave their other labels.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        label, other = pick_several(rng, LABELS, 2)
        slots = self.draw_numbers(rng, database, params, {"label": label})
        return slots and {**slots, "label": label, "other": other}

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes = {}
        for row in TICKETS.select(database):
            if row["id"] in slots["numbers"]:
                labels = {*row["labels"].split(", "), slots["other"]} - {slots["label"]}
                changes[row["id"]] = {"labels": ", ".join(label for label in LABELS if label in labels)}
        return Goal(**change_rows(self.site, database, self.table, changes), milestone_pages=self.pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.edit(walk, slots, slots["numbers"], {"Add label": slots["other"], "Remove label": slots["label"]})


@add_template
class EditFields(ChangeTemplate):
    """Change fields of tickets, with separate fields and values for each ticket."""

    site, name, intent, table = "tracker", "edit-fields", "edit", "tickets"
    objects, pages = "edits", ("/ticket/{0}/edit",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        edits = []
        for row in pick_several(rng, TICKETS.select(database), params["items"]):
            values = {name: value for name, value in draw_fields(rng).items() if row[name] != value}
            del values["body"]
            names = pick_several(rng, tuple(values), params["constraints"])
            edits.append((row["id"], row["title"], tuple((name, values[name]) for name in values if name in names)))
        return {"edits": tuple(edits)}

    def ask(self, slots: Slots) -> str:
        parts = [f'the ticket "{title}" {describe_fields(dict(fields))}' for _, title, fields in slots["edits"]]
        return f"Give {'; and '.join(parts)}."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: dict(fields) for number, _, fields in slots["edits"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title, fields in slots["edits"]:
            TICKETS.open_row(walk, title)
            walk.click("link", "Edit ticket")
            fill_fields(walk, dict(fields))
            walk.click("button", "Save ticket")


@add_template
class ReplaceBlockers(WebTemplate):
    """Replace the blockers of a ticket by other tickets."""

    site, name, intent, objects, pages = "tracker", "replace-blockers", "edit", "blockers", ("/ticket/{ticket}",)
    question = 'Note at the ticket "{title}" that it is blocked by {titles}{instead}.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        is_blocked = "EXISTS (SELECT 1 FROM blockers b WHERE b.ticket = t.id)"
        blocks = "EXISTS (SELECT 1 FROM blockers b WHERE b.blocker = t.id)"
        # A ticket that blocks nothing can be blocked by any ticket without a cycle.
        wanted = is_blocked if params["constraints"] > 1 else f"NOT {is_blocked}"
        rows = TICKETS.select(database, f"t.state <> 'Closed' AND NOT {blocks} AND {wanted}")
        if not rows:
            return None
        ticket = pick(rng, rows)
        pairs = database.execute("SELECT blocker FROM blockers WHERE ticket = ? ORDER BY 1", (ticket["id"],)).fetchall()
        before = tuple(number for (number,) in pairs)
        others = [
            row for row in TICKETS.select(database, "t.state <> 'Closed'") if row["id"] not in (*before, ticket["id"])
        ]
        chosen = pick_several(rng, others, params["items"])
        blockers = tuple((row["id"], row["title"]) for row in chosen)
        return {"ticket": ticket["id"], "title": ticket["title"], "before": before, "blockers": blockers}

    def words(self, slots: Slots) -> Mapping[str, str]:
        instead = ", and by nothing else; take away what blocks it now" if slots["before"] else ""
        return {**super().words(slots), "instead": instead}

    def goal(self, database: Database, slots: Slots) -> Goal:
        number = slots["ticket"]
        return Goal(
            removed={"blockers": tuple((number, blocker) for blocker in slots["before"])},
            added={"blockers": tuple((number, blocker) for blocker, _ in slots["blockers"])},
            milestone_pages=self.paths(slots),
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for number, title in slots["blockers"]:
            see_number(walk, title, number)
        TICKETS.open_row(walk, slots["title"])
        for number in slots["before"]:
            walk.click("button", f"Remove blocker {number}")
        for number, _ in slots["blockers"]:
            walk.fill("Blocked by ticket", str(number))
            walk.click("button", "Add blocker")


_TITLES = (
    "Missing total in the {}{}",
    "Empty page after the {}{}",
    "Shorter texts for the {}{}",
    "Test data for the {}{}",
)
_TEXTS = (
    "I can take this over next week.",
    "The customer called again about this.",
    "Tested on the newest version; all is well.",
    "Wir warten noch auf das Angebot.",
    "Please do not close this before Friday.",
    "See the notes of our last meeting.",
    "Is there a plan for this?",
)
# Fields of a ticket's form: name -> (words for a value, label).
FIELDS = {
    "project": ("the project {}", "Project"),
    "kind": ("the kind {}", "Kind"),
    "priority": ("the priority {}", "Priority"),
    "assignee": ("the assignee {}", "Assignee"),
    "milestone": ("the milestone {}", "Milestone"),
    "due": ("the due date {}", "Due date"),
    "estimate": ("an estimate of {} hours", "Estimate in hours"),
    "body": ('the description "{}"', "Description"),
}


def draw_fields(rng: Rng) -> dict[str, Any]:
    """Draw a value for each field of a ticket's form except title and labels."""
    return {
        "project": pick(rng, tuple(PROJECTS)),
        "kind": pick(rng, KINDS),
        "priority": pick(rng, PRIORITIES),
        "assignee": pick(rng, PEOPLE),
        "milestone": pick(rng, MILESTONES),
        "due": (TODAY + timedelta(days=int(rng.integers(1, 60)))).isoformat(),
        "estimate": int(rng.integers(2, 60)),
        "body": pick(rng, _TEXTS),
    }


def describe_fields(fields: Mapping[str, Any], labels: Iterable[str] = ()) -> str:
    """Describe fields with their values, as in "the kind Bug and the priority High"."""
    parts = [FIELDS[name][0].format(value) for name, value in fields.items()]
    marks = ", ".join(f'"{label}"' for label in labels)
    return name_all([*parts, *([f"the label{'s' if ',' in marks else ''} {marks}"] if marks else [])])


def fill_fields(walk: Walk, fields: Mapping[str, Any]) -> None:
    """Fill in a ticket's form."""
    for name, value in fields.items():
        label = FIELDS[name][1]
        if name in ("due", "estimate", "body"):
            walk.fill(label, str(value))
        else:
            walk.select(label, value)


def write_ticket(number: int, title: str, fields: Mapping[str, Any], labels: Iterable[str]) -> tuple[Any, ...]:
    """Return the judged row of a new ticket."""
    every = {"body": "", "assignee": "", "milestone": "", "due": "", "estimate": 0, **fields}
    names = ("assignee", "milestone", "due", "estimate")
    head = (number, every["project"], title, every["body"], every["kind"], every["priority"], "To do", "", 0)
    marks = ", ".join(label for label in LABELS if label in labels)
    return (*head, *(every[name] for name in names), marks, VISITOR)


class FilingTemplate(WebTemplate):
    """Base of templates that create a ticket. Slots: ``title``, ``fields`` and ``labels``."""

    site, intent = "tracker", "file"

    def draw_ticket(self, rng: Rng, fields: int, labels: int) -> dict[str, Any]:
        """Draw a ticket with project, kind, priority, ``fields`` further fields and ``labels`` labels."""
        values = draw_fields(rng)
        names = (*tuple(values)[:3], *pick_several(rng, tuple(values)[3:], fields))
        part = pick(rng, PROJECTS[values["project"]][1])
        return {
            "title": pick(rng, _TITLES).format(part, pick(rng, PLACES)),
            "fields": tuple((name, values[name]) for name in values if name in names),
            "labels": tuple(sorted(pick_several(rng, LABELS, labels))),
        }

    def file(self, walk: Walk, slots: Slots) -> None:
        """Fill in the form of a new ticket, and create the ticket."""
        walk.click("link", "New ticket")
        walk.fill("Title", slots["title"])
        fill_fields(walk, dict(slots["fields"]))
        for label in slots["labels"]:
            walk.tick("checkbox", label)
        walk.click("button", "File ticket")


@add_template
class FileTicket(FilingTemplate):
    """Create a ticket with values for several fields, and leave the other fields at their defaults."""

    name, pages = "file-ticket", ("/new",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return self.draw_ticket(rng, params["constraints"] + 1, params["items"] - 1)

    def ask(self, slots: Slots) -> str:
        about = describe_fields(dict(slots["fields"]), slots["labels"])
        return f'File a ticket with the title "{slots["title"]}", {about}. Leave every other field as it is.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (number,) = database.execute("SELECT max(id) + 1 FROM tickets").fetchone()
        row = write_ticket(number, slots["title"], dict(slots["fields"]), slots["labels"])
        return Goal(added={"tickets": (row,)}, milestone_pages=self.pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.file(walk, slots)


@add_template
class FileBlocker(FilingTemplate):
    """Create a ticket, and add it as a blocker to other tickets."""

    name, objects, pages = "file-blocker", "blocked", ("/new", "/ticket/{0}")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = pick_several(rng, TICKETS.select(database, "t.state <> 'Closed'"), params["items"])
        blocked = tuple((row["id"], row["title"]) for row in rows)
        return {"blocked": blocked, **self.draw_ticket(rng, params["constraints"] - 1, 0)} if rows else None

    def ask(self, slots: Slots) -> str:
        titles = quote_titles(slots["blocked"])
        tickets = "the ticket" if len(slots["blocked"]) == 1 else "each of the tickets"
        return (
            f'File a ticket with the title "{slots["title"]}", {describe_fields(dict(slots["fields"]))}; leave every '
            f"other field as it is. Then note at {tickets} {titles} that the new ticket blocks it."
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        (number,) = database.execute("SELECT max(id) + 1 FROM tickets").fetchone()
        row = write_ticket(number, slots["title"], dict(slots["fields"]), ())
        blockers = tuple((ticket, number) for ticket, _ in slots["blocked"])
        return Goal(added={"tickets": (row,), "blockers": blockers}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.file(walk, slots)
        for (_, title), (_, number) in zip(slots["blocked"], goal.added["blockers"], strict=True):
            TICKETS.open_row(walk, title)
            walk.fill("Blocked by ticket", str(number))
            walk.click("button", "Add blocker")


@add_template
class WriteComments(WebTemplate):
    """Comment on tickets, on each with a given text."""

    site, name, intent, objects, pages = "tracker", "write-comments", "file", "tickets", ("/ticket/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_several(rng, TICKETS.select(database), params["items"])
        texts = pick_several(rng, _TEXTS, params["items"])
        return {"tickets": tuple((row["id"], row["title"]) for row in chosen), "texts": tuple(texts)}

    def ask(self, slots: Slots) -> str:
        pairs = zip(slots["tickets"], slots["texts"], strict=True)
        parts = [f'"{text}" to the ticket "{title}"' for (_, title), text in pairs]
        return f"Add the comment{'s' if len(parts) > 1 else ''} {name_all(parts)}"

    def goal(self, database: Database, slots: Slots) -> Goal:
        pairs = zip(slots["tickets"], slots["texts"], strict=True)
        rows = tuple((ticket, VISITOR, text) for (ticket, _), text in pairs)
        return Goal(added={"comments": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, title), text in zip(slots["tickets"], slots["texts"], strict=True):
            TICKETS.open_row(walk, title)
            walk.fill("Your comment", text)
            walk.click("button", "Add comment")
