"""Templates of the project tracker that plan and close tickets: milestones, due dates, assignees, states."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..sites.list_page import name_all
from ..sites.tracker import OPEN, TICKETS
from ..sites.tracker_content import PEOPLE, TODAY, VISITOR
from .draws import pick, pick_several, quote_titles
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows
from .tracker_filing_tasks import BulkTemplate, see_number
from .tracker_reading_tasks import draw_chain
from .walk import Walk

_NAMES = ("Version 4.3", "Version 4.11", "Version 4.1.1", "Version 5.1", "Autumn release", "Test of summer")


def select_milestones(database: Database) -> dict[str, str]:
    """Return name -> due date of all milestones, the earliest first."""
    return dict(map(tuple, database.execute("SELECT name, due FROM milestones ORDER BY due, name")))


class RescheduleTemplate(BulkTemplate):
    """Base of templates that move all tickets that meet conditions to the milestone in the slot ``target``."""

    intent, pages = "plan", ("/milestones", "/tickets/edit")

    def draw_move(
        self, rng: Rng, database: Database, params: Params, always: Mapping[str, str], target: str
    ) -> Slots | None:
        """Draw conditions besides ``always``. Return the slots, with the tickets that meet the conditions and are not
        yet in the milestone ``target``; None if there are none."""
        drawn = self.draw_matches(rng, database, params, always)
        if drawn is None or all(row["milestone"] == target for row in drawn[1]):
            return None
        numbers = tuple(row["id"] for row in drawn[1] if row["milestone"] != target)
        return {"conditions": tuple(drawn[0].items()), "numbers": numbers, "target": target}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {"milestone": slots["target"]} for number in slots["numbers"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Milestones")
        self.edit(walk, slots, slots["numbers"], {"Milestone": slots["target"]})


@add_template
class MoveOverdue(RescheduleTemplate):
    """Move all overdue tickets that meet conditions to the next milestone from today on."""

    name = "move-overdue"
    question = (
        "Move all overdue tickets (not closed, due before today) that are {others} to the next milestone: the first "
        "one that is due today or later."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        always = {"state": OPEN, "until": (TODAY - timedelta(days=1)).isoformat()}
        dates = select_milestones(database)
        target = next(name for name, due in dates.items() if due >= TODAY.isoformat())
        return self.draw_move(rng, database, params, always, target)

    def words(self, slots: Slots) -> Mapping[str, str]:
        others = {name: value for name, value in slots["conditions"] if name not in ("state", "until")}
        return {"others": TICKETS.describe(others)}


@add_template
class PostponeTickets(RescheduleTemplate):
    """Move all tickets of a milestone that are not closed and meet conditions to the milestone that follows it."""

    name = "postpone-tickets"
    question = "Move all tickets that are {what} to the milestone that is due next after theirs."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        names = list(select_milestones(database))
        place = int(rng.integers(len(names) - 1))
        always = {"milestone": names[place], "state": OPEN}
        return self.draw_move(rng, database, params, always, names[place + 1])


@add_template
class MakeMilestone(WebTemplate):
    """Make a milestone, and move tickets to it."""

    site, name, intent = "tracker", "make-milestone", "plan"
    objects, pages = "tickets", ("/milestones", "/ticket/{0}/edit")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_several(rng, TICKETS.select(database, "t.state <> 'Closed'"), params["items"])
        due = (TODAY + timedelta(days=int(rng.integers(7, 300)))).isoformat()
        tickets = tuple((row["id"], row["title"]) for row in chosen)
        return {"target": pick(rng, _NAMES), "due": due, "tickets": tickets} if tickets else None

    def ask(self, slots: Slots) -> str:
        tickets = "the ticket" if len(slots["tickets"]) == 1 else "the tickets"
        titles = quote_titles(slots["tickets"])
        return f'Make the milestone "{slots["target"]}", due {slots["due"]}, and move {tickets} {titles} to it.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes = {number: {"milestone": slots["target"]} for number, _ in slots["tickets"]}
        rows = change_rows(self.site, database, "tickets", changes)
        added = {**rows["added"], "milestones": ((slots["target"], slots["due"]),)}
        return Goal(removed=rows["removed"], added=added, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Milestones")
        walk.fill("Name", slots["target"])
        walk.fill("Due date", slots["due"])
        walk.click("button", "Make milestone")
        for _, title in slots["tickets"]:
            TICKETS.open_row(walk, title)
            walk.click("link", "Edit ticket")
            walk.select("Milestone", slots["target"])
            walk.click("button", "Save ticket")


@add_template
class SetDueDates(ChangeTemplate):
    """Set the due dates of tickets to their milestones' due dates."""

    site, name, intent, table = "tracker", "set-due-dates", "plan", "tickets"
    objects, pages = "tickets", ("/milestones", "/ticket/{0}/edit")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        dates = select_milestones(database)
        rows = [row for row in TICKETS.select(database, "t.milestone <> ''") if row["due"] != dates[row["milestone"]]]
        chosen = [
            (row["id"], row["title"], dates[row["milestone"]]) for row in pick_several(rng, rows, params["items"])
        ]
        return {"tickets": tuple(chosen)} if chosen else None

    def ask(self, slots: Slots) -> str:
        titles = quote_titles(slots["tickets"])
        tickets = "the ticket" if len(slots["tickets"]) == 1 else "each of the tickets"
        return f"Set the due date of {tickets} {titles} to the date on which its milestone is due."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {"due": due} for number, _, due in slots["tickets"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Milestones")
        for _, title, due in slots["tickets"]:
            TICKETS.open_row(walk, title)
            walk.click("link", "Edit ticket")
            walk.fill("Due date", due)
            walk.click("button", "Save ticket")


@add_template
class RelieveAssignee(BulkTemplate):
    """Reassign a person's tickets to the candidate with the fewest tickets."""

    name, intent, pages = "relieve-assignee", "plan", ("/tickets", "/tickets/edit")
    question = (
        "Assign all tickets that are {what} to whoever of {people} now has the fewest tickets that are not closed."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        person, *others = pick_several(rng, PEOPLE, params["items"] + 2)
        slots = self.draw_numbers(rng, database, params, {"assignee": person, "state": OPEN})
        counts = {one: len(TICKETS.find(database, {"assignee": one, "state": OPEN})) for one in others}
        if slots is None or list(counts.values()).count(min(counts.values())) > 1:
            return None
        return {**slots, "others": tuple(others), "target": min(counts, key=counts.__getitem__)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "people": name_all(list(slots["others"]))}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {number: {"assignee": slots["target"]} for number in slots["numbers"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for person in slots["others"]:
            TICKETS.filter(walk, {"state": OPEN, "assignee": person})
        self.edit(walk, slots, slots["numbers"], {"Assignee": slots["target"]})


@add_template
class StartTickets(BulkTemplate):
    """Start all tickets in the state "To do" that meet conditions; those without an assignee need one first."""

    name, intent = "start-tickets", "plan"
    question = (
        "Bring all tickets that are {what} to the state In progress. Assign those of them that are assigned to nobody "
        f"to me, {VISITOR}."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        drawn = self.draw_matches(rng, database, params, {"state": "To do"})
        if drawn is None:
            return None
        tickets = tuple((row["id"], row["assignee"]) for row in drawn[1])
        return {"conditions": tuple(drawn[0].items()), "tickets": tickets}

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {
            number: {"state": "In progress", "assignee": assignee or VISITOR} for number, assignee in slots["tickets"]
        }

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for numbers, changes in (
            ([number for number, assignee in slots["tickets"] if not assignee], {"Assignee": VISITOR}),
            ([number for number, assignee in slots["tickets"] if assignee], {}),
        ):
            if numbers:
                self.edit(walk, slots, numbers, {"State": "In progress", **changes})


_BLOCKED = """
    SELECT b.ticket, b.blocker FROM blockers b JOIN tickets o ON o.id = b.blocker WHERE o.state <> 'Closed'
"""


@add_template
class CloseReviewed(BulkTemplate):
    """Close all tickets in review that meet conditions, except blocked ones."""

    name, intent = "close-reviewed", "close"
    question = "Close as done all tickets that are {what}. Leave those as they are that are blocked."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = self.draw_numbers(rng, database, params, {"state": "In review"})
        if slots is None:
            return None
        found, pairs = {*slots["numbers"]}, [tuple(row) for row in database.execute(_BLOCKED)]
        free = sorted(found - {ticket for ticket, _ in pairs})
        # Closing one of the tickets must not unblock another one.
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
    """Close a ticket after closing the chain of its blockers, from the last one on; all are in review."""

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
                # Go to the ticket that the closed one blocks; if there are several, choose by title.
                walk.click("link", titles[place - 1])
