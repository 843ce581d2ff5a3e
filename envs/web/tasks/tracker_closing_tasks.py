"""Templates of the project tracker that close tickets: reviewed tickets, duplicates, and blockers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.tracker import TICKETS
from ..sites.tracker_content import VISITOR
from .template import (
    ChangeTemplate,
    Database,
    Goal,
    Params,
    Rng,
    Slots,
    add_template,
    pick_several,
    quote_titles,
)
from .tracker_editing_tasks import BulkTemplate, see_number
from .tracker_reading_tasks import draw_chain
from .walk import Walk

_BLOCKED = """
    SELECT b.ticket, b.blocker FROM blockers b JOIN tickets o ON o.id = b.blocker WHERE o.state <> 'Closed'
"""


@add_template
class CloseReviewed(BulkTemplate):
    """Close all reviewed tickets that meet conditions, except blocked ones."""

    name, intent = "close-reviewed", "close"
    question = "Close as done all tickets that are {what}. Leave those as they are that are blocked."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = self.draw_numbers(rng, database, params, {"state": "In review"})
        if slots is None:
            return None
        found, pairs = {*slots["numbers"]}, [tuple(row) for row in database.execute(_BLOCKED)]
        free = sorted(found - {ticket for ticket, _ in pairs})
        # Closing one of them must not unblock another.
        if not free or any(ticket in found and blocker in found for ticket, blocker in pairs):
            return None
        return {**slots, "numbers": tuple(free)}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {"state": "Closed", "reason": "Done"} for number in slots["numbers"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.edit(walk, slots, slots["numbers"], {"State": "Closed as done"})


@add_template
class CloseDuplicates(ChangeTemplate):
    """Close tickets as duplicates of another one."""

    site, name, intent, table = "tracker", "close-duplicates", "close", "tickets"
    objects, pages = "tickets", ("/ticket/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = TICKETS.select(database, f"t.state <> 'Closed' AND t.id NOT IN (SELECT ticket FROM ({_BLOCKED}))")
        chosen = [(row["id"], row["title"]) for row in pick_several(rng, rows, params["items"] + 1)]
        return {"original": chosen[0], "tickets": tuple(chosen[1:])} if len(chosen) > 1 else None

    def ask(self, slots: Slots) -> str:
        titles, s = quote_titles(slots["tickets"]), "s" if len(slots["tickets"]) > 1 else ""
        return f'Close the ticket{s} {titles} as duplicate{s} of "{slots["original"][1]}".'

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        change = {"state": "Closed", "reason": "Duplicate", "original": slots["original"][0]}
        return {number: change for number, _ in slots["tickets"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        number, title = slots["original"]
        see_number(walk, title, number)
        for _, title in slots["tickets"]:
            TICKETS.open_row(walk, title)
            walk.select("New state", "Closed")
            walk.select("Reason for closing", "Duplicate")
            walk.fill("Duplicate of ticket", str(number))
            walk.click("button", "Change state")


@add_template
class CloseChain(ChangeTemplate):
    """Close a ticket after closing its chain of blockers; all of them are in review."""

    site, name, intent, table = "tracker", "close-chain", "close", "tickets"
    objects, pages = "chain", ("/ticket/{0}",)
    question = (
        'Close the ticket "{chain[0][1]}" as done. It is blocked: close as done, too, what blocks it, and whatever '
        "blocks that in turn."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chain = draw_chain(rng, database, params["items"])
        return {"chain": tuple((row["id"], row["title"]) for row in chain)} if chain else None

    def prepare(self, database: Database, slots: Slots) -> None:
        sql = "UPDATE tickets SET state = 'In review', assignee = coalesce(nullif(assignee, ''), ?) WHERE id = ?"
        database.executemany(sql, [(VISITOR, number) for number, _ in slots["chain"]])

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {"state": "Closed", "reason": "Done"} for number, _ in slots["chain"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        titles = [title for _, title in slots["chain"]]
        TICKETS.open_row(walk, titles[0])
        for title in titles[1:]:
            walk.click("link", title)
        for place in reversed(range(len(titles))):
            walk.select("New state", "Closed")
            walk.select("Reason for closing", "Done")
            walk.click("button", "Change state")
            if place:
                # Go to the ticket that this one blocks; if it blocks several, choose by title.
                walk.click("link", titles[place - 1])
