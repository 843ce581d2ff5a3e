"""Templates of the project tracker that close tickets: reviewed tickets, duplicates, and blockers."""

from __future__ import annotations

from ..sites.listing import name_all
from ..sites.tracker import TICKETS
from ..sites.tracker_content import VISITOR
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows, pick_several
from .tracker_editing_tasks import draw_matches, edit_chosen, see_number
from .tracker_reading_tasks import draw_chain
from .walk import Walk

_BLOCKED = """
    SELECT b.ticket, b.blocker FROM blockers b JOIN tickets o ON o.id = b.blocker WHERE o.state <> 'Closed'
"""


@add_template
class CloseReviewed(WebTemplate):
    """Close all reviewed tickets that meet conditions, except blocked ones."""

    site, name, intent = "tracker", "close-reviewed", "close"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        drawn = draw_matches(rng, database, params, {"state": "In review"})
        if drawn is None:
            return None
        found, pairs = {row["id"] for row in drawn[1]}, [tuple(row) for row in database.execute(_BLOCKED)]
        free = sorted(found - {ticket for ticket, _ in pairs})
        # Closing one of them must not unblock another.
        if not free or any(ticket in found and blocker in found for ticket, blocker in pairs):
            return None
        return {"conditions": tuple(drawn[0].items()), "numbers": tuple(free)}

    def ask(self, slots: Slots) -> str:
        what = TICKETS.describe(dict(slots["conditions"]))
        return f"Close as done all tickets that are {what}. Leave those as they are that are blocked."

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes = {number: {"state": "Closed", "reason": "Done"} for number in slots["numbers"]}
        return Goal(**change_rows(self.site, database, "tickets", changes), pages=("/tickets/edit",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        edit_chosen(walk, dict(slots["conditions"]), slots["numbers"], {"State": "Closed as done"})


@add_template
class CloseDuplicates(WebTemplate):
    """Close tickets as duplicates of another one."""

    site, name, intent = "tracker", "close-duplicates", "close"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = TICKETS.select(database, f"t.state <> 'Closed' AND t.id NOT IN (SELECT ticket FROM ({_BLOCKED}))")
        chosen = [(row["id"], row["title"]) for row in pick_several(rng, rows, params["items"] + 1)]
        return {"original": chosen[0], "tickets": tuple(chosen[1:])} if len(chosen) > 1 else None

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{title}"' for _, title in slots["tickets"]])
        tickets = "the ticket" if len(slots["tickets"]) == 1 else "the tickets"
        return f'Close {tickets} {titles} as duplicate{"s"[: len(slots["tickets"]) > 1]} of "{slots["original"][1]}".'

    def goal(self, database: Database, slots: Slots) -> Goal:
        change = {"state": "Closed", "reason": "Duplicate", "original": slots["original"][0]}
        pages = tuple(f"/ticket/{number}" for number, _ in slots["tickets"])
        changes = {number: change for number, _ in slots["tickets"]}
        return Goal(**change_rows(self.site, database, "tickets", changes), pages=pages)

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
class CloseChain(WebTemplate):
    """Close a ticket after closing its chain of blockers; all of them are in review."""

    site, name, intent = "tracker", "close-chain", "close"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chain = draw_chain(rng, database, params["items"])
        return {"chain": tuple((row["id"], row["title"]) for row in chain)} if chain else None

    def prepare(self, database: Database, slots: Slots) -> None:
        sql = "UPDATE tickets SET state = 'In review', assignee = coalesce(nullif(assignee, ''), ?) WHERE id = ?"
        database.executemany(sql, [(VISITOR, number) for number, _ in slots["chain"]])

    def ask(self, slots: Slots) -> str:
        return (
            f'Close the ticket "{slots["chain"][0][1]}" as done. It is blocked: close as done, too, what blocks it, '
            "and whatever blocks that in turn."
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes = {number: {"state": "Closed", "reason": "Done"} for number, _ in slots["chain"]}
        pages = tuple(f"/ticket/{number}" for number in changes)
        return Goal(**change_rows(self.site, database, "tickets", changes), pages=pages)

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
