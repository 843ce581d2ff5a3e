"""Templates of the project tracker that plan: milestones, due dates, assignees, and starting tickets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..sites.list_page import name_all
from ..sites.tracker import OPEN, TICKETS
from ..sites.tracker_content import PEOPLE, TODAY, VISITOR
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
    quote_titles,
)
from .tracker_editing_tasks import BulkTemplate
from .walk import Walk

_NAMES = ("Version 4.3", "Version 4.11", "Version 4.1.1", "Version 5.1", "Autumn release", "Test of summer")


def select_milestones(database: Database) -> dict[str, str]:
    """The dates of milestones by name, the earliest first."""
    return dict(map(tuple, database.execute("SELECT name, due FROM milestones ORDER BY due, name")))


class RescheduleTemplate(BulkTemplate):
    """Base of templates that move tickets to a milestone, the slot ``target``."""

    intent, pages = "plan", ("/milestones", "/tickets/edit")

    def draw_move(
        self, rng: Rng, database: Database, params: Params, always: Mapping[str, str], target: str
    ) -> Slots | None:
        """Draw conditions, and return the matching tickets outside the milestone ``target``; None if there are none."""
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
    """Move all overdue tickets that meet conditions to the next milestone."""

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
        return Goal(removed=rows["removed"], added=added, pages=self.paths(slots))

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
    """Start all tickets in the state "to do" that meet conditions; some need an assignee first."""

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
