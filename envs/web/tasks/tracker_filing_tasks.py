"""Templates of the project tracker that file tickets and write comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from ..sites.list_page import name_all
from ..sites.tracker import TICKETS
from ..sites.tracker_content import KINDS, LABELS, MILESTONES, PEOPLE, PLACES, PRIORITIES, PROJECTS, TODAY, VISITOR
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick, pick_several, quote_titles
from .walk import Walk

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
# Fields of a ticket's form: in words, and by their labels.
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
    """Draw a value for each field of a ticket's form but its title and labels."""
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
    """The judged row of a new ticket."""
    every = {"body": "", "assignee": "", "milestone": "", "due": "", "estimate": 0, **fields}
    names = ("assignee", "milestone", "due", "estimate")
    head = (number, every["project"], title, every["body"], every["kind"], every["priority"], "To do", "", 0)
    marks = ", ".join(label for label in LABELS if label in labels)
    return (*head, *(every[name] for name in names), marks, VISITOR)


class FilingTemplate(WebTemplate):
    """Base of templates that file a ticket: slots ``title``, ``fields`` and ``labels``."""

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
        """Fill in the form, and file the ticket."""
        walk.click("link", "New ticket")
        walk.fill("Title", slots["title"])
        fill_fields(walk, dict(slots["fields"]))
        for label in slots["labels"]:
            walk.tick("checkbox", label)
        walk.click("button", "File ticket")


@add_template
class FileTicket(FilingTemplate):
    """File a ticket with several fields, and leave the others at their defaults."""

    name, pages = "file-ticket", ("/new",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return self.draw_ticket(rng, params["constraints"] + 1, params["items"] - 1)

    def ask(self, slots: Slots) -> str:
        about = describe_fields(dict(slots["fields"]), slots["labels"])
        return f'File a ticket with the title "{slots["title"]}", {about}. Leave every other field as it is.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (number,) = database.execute("SELECT max(id) + 1 FROM tickets").fetchone()
        row = write_ticket(number, slots["title"], dict(slots["fields"]), slots["labels"])
        return Goal(added={"tickets": (row,)}, pages=self.pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.file(walk, slots)


@add_template
class FileBlocker(FilingTemplate):
    """File a ticket, and add it as a blocker to other tickets."""

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
        return Goal(added={"tickets": (row,), "blockers": blockers}, pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.file(walk, slots)
        for (_, title), (_, number) in zip(slots["blocked"], goal.added["blockers"], strict=True):
            TICKETS.open_row(walk, title)
            walk.fill("Blocked by ticket", str(number))
            walk.click("button", "Add blocker")


@add_template
class WriteComments(WebTemplate):
    """Comment on tickets, on each in given words."""

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
        return Goal(added={"comments": rows}, pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, title), text in zip(slots["tickets"], slots["texts"], strict=True):
            TICKETS.open_row(walk, title)
            walk.fill("Your comment", text)
            walk.click("button", "Add comment")
