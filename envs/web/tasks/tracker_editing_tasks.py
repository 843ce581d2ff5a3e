"""Templates of the project tracker that edit fields, labels and blockers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ..sites.tracker import OPEN, TICKETS
from ..sites.tracker_content import LABELS, PEOPLE, PRIORITIES
from .template import (
    ChangeTemplate,
    Database,
    Goal,
    Params,
    Rng,
    Slots,
    WebTemplate,
    add_template,
    change_rows,
    pick,
    pick_several,
)
from .tracker_filing_tasks import FIELDS, describe_fields, draw_fields, fill_fields
from .tracker_reading_tasks import TicketTemplate, draw_conditions
from .walk import Walk


class BulkTemplate(TicketTemplate, ChangeTemplate):
    """Base of templates that edit all tickets under conditions with the form for several tickets. Slots: ``conditions``
    and ``numbers``, the tickets that change."""

    table, pages = "tickets", ("/tickets/edit",)

    def draw_matches(
        self, rng: Rng, database: Database, params: Params, always: Mapping[str, str]
    ) -> tuple[dict[str, str], list[sqlite3.Row]] | None:
        """Draw conditions, besides ``always``, and return them with the tickets that meet them. Their number is between
        "items" and twice "items" plus two, or the nearest of several draws. Return None if no ticket meets
        ``always``."""
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
        """Draw the slots ``conditions`` and ``numbers``, all tickets under the conditions."""
        drawn = self.draw_matches(rng, database, params, always)
        return drawn and {"conditions": tuple(drawn[0].items()), "numbers": tuple(row["id"] for row in drawn[1])}

    def edit(self, walk: Walk, slots: Slots, numbers: Iterable[int], changes: Mapping[str, str]) -> None:
        """List the tickets under the conditions, choose those with ``numbers`` and apply a bulk edit, page by page."""
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
    """Search for a ticket until its number is shown in the list of results."""
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
    """Replace a label by another on all tickets that have it and meet conditions."""

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
        return Goal(**change_rows(self.site, database, self.table, changes), pages=self.pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.edit(walk, slots, slots["numbers"], {"Add label": slots["other"], "Remove label": slots["label"]})


@add_template
class EditFields(ChangeTemplate):
    """Change fields of tickets, of each its own."""

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
            pages=self.paths(slots),
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
