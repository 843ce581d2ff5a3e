"""Templates of the project tracker that ask a question: find and report, count, follow blockers, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, ClassVar

from ..sites.list_page import name_all
from ..sites.tracker import TICKETS
from ..sites.tracker_content import PEOPLE
from .draws import best_of, pick, pick_several
from .list_page_templates import BestTemplate, CountTemplate, GroupTemplate, ListPageTemplate, OpeningTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

# The order of conditions in questions.
_ORDER = ("project", "kind", "priority", "state", "assignee", "label", "milestone", "since", "until")


def draw_conditions(rng: Rng, ticket: sqlite3.Row, number: int, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Draw ``number`` conditions that a ticket meets, other than those named in ``without``."""
    days = timedelta(days=int(rng.integers(0, 20)))
    values: dict[str, str] = {name: ticket[name] for name in ("project", "kind", "priority", "state")}
    values |= {name: ticket[name] for name in ("assignee", "milestone") if ticket[name] or rng.integers(2)}
    if ticket["labels"]:
        values["label"] = pick(rng, ticket["labels"].split(", "))
    if ticket["due"]:
        since = bool(rng.integers(2))
        day = date.fromisoformat(ticket["due"]) - days if since else date.fromisoformat(ticket["due"]) + days
        values["since" if since else "until"] = day.isoformat()
    names = pick_several(rng, [name for name in values if name not in without], number)
    return {name: values[name] for name in _ORDER if name in names}


def draw_chain(rng: Rng, database: Database, length: int) -> list[sqlite3.Row]:
    """Draw a chain of tickets of which each is blocked by the next one alone, and the last one by none. The chain has
    ``length`` blockers, or the largest smaller number that occurs. Return an empty list if there is no chain."""
    blockers: dict[int, list[int]] = {}
    for ticket, blocker in database.execute("SELECT ticket, blocker FROM blockers ORDER BY blocker"):
        blockers.setdefault(ticket, []).append(blocker)
    chains: dict[int, list[list[int]]] = {}
    for ticket in blockers:
        chain = [ticket]
        while len(blockers.get(chain[-1], ())) == 1:
            chain.append(blockers[chain[-1]][0])
        if len(chain) > 1 and chain[-1] not in blockers:
            chains.setdefault(len(chain) - 1, []).append(chain)
    lengths = [one for one in chains if one <= length]
    if not lengths:
        return []
    tickets = {row["id"]: row for row in TICKETS.select(database)}
    return [tickets[number] for number in pick(rng, chains[max(lengths)])]


class TicketTemplate(ListPageTemplate):
    """Base of templates about the tickets that meet conditions."""

    site, list_page = "tracker", TICKETS

    def draw_conditions(self, rng: Rng, row: sqlite3.Row, number: int) -> dict[str, Any]:
        return draw_conditions(rng, row, number)


@add_template
class CountTickets(TicketTemplate, CountTemplate):
    """Count the tickets that meet conditions."""

    name, question = "count-tickets", "How many tickets are {what}? Answer with the number."


@add_template
class SumEstimates(TicketTemplate):
    """Add up the estimates of a few tickets that meet conditions."""

    name, intent = "sum-estimates", "report"
    question = "How many hours are estimated for all tickets together that are {what}? Answer with the number."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = TICKETS.select(database)
        for row in (pick(rng, rows) for _ in range(12)):
            conditions = draw_conditions(rng, row, params["constraints"] + 1)
            if 1 < len(TICKETS.find(database, conditions)) <= 2 + params["items"] * 2:
                return {"conditions": tuple(conditions.items())}
        return None

    def goal(self, database: Database, slots: Slots) -> Goal:
        hours = sum(row["estimate"] for row in self.rows(database, slots))
        return Goal(str(hours), "number", milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        super().solve(walk, slots, goal)
        while walk.find("link", "Next page") is not None:
            walk.click("link", "Next page")


@add_template
class ReportReporter(TicketTemplate):
    """Report who opened a ticket, which only the page of the ticket shows. The ticket is given by its title or, with
    more conditions, as the one with the largest estimate among those that meet conditions."""

    name, intent, answer, pages = "report-reporter", "report", "reporter", ("/ticket/{id}",)
    question = "Who opened the ticket with the largest estimate of those that are {what}? Answer with the full name."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        ticket, conditions = pick(rng, TICKETS.select(database)), {}
        if params["constraints"] > 1:
            conditions = draw_conditions(rng, ticket, params["constraints"] - 1, ("since", "until"))
            ticket = best_of(TICKETS.find(database, conditions), "estimate")
        if ticket is None:
            return None
        about = {name: ticket[name] for name in ("id", "title", "reporter")}
        return {**about, "conditions": tuple(conditions.items())}

    def ask(self, slots: Slots) -> str:
        if slots["conditions"]:
            return super().ask(slots)
        return f'Who opened the ticket "{slots["title"]}"? Answer with the full name.'

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["conditions"]:
            TICKETS.filter(walk, self.conditions_of(slots), "Estimate, largest first")
            walk.click("link", slots["title"])
        else:
            TICKETS.open_row(walk, slots["title"])


@add_template
class FindRootBlocker(WebTemplate):
    """Follow a chain of blockers to its root."""

    site, name, intent, objects, pages = "tracker", "find-root-blocker", "report", "chain", ("/ticket/{0}",)
    question = (
        'The ticket "{chain[0][1]}" is blocked. Follow what blocks it, and what blocks that, up to the ticket that no '
        "other one blocks. Answer with its title."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chain = draw_chain(rng, database, params["items"])
        return {"chain": tuple((row["id"], row["title"]) for row in chain)} if chain else None

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["chain"][-1][1], milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        TICKETS.open_row(walk, slots["chain"][0][1])
        for _, title in slots["chain"][1:]:
            walk.click("link", title)


@add_template
class CompareAssignees(TicketTemplate, GroupTemplate):
    """Name the person, of several, with the most tickets that meet conditions."""

    name, group, groups = "compare-assignees", "assignee", "people"
    question = "Of {groups}, who has the most tickets that are {what}? Answer with the full name."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        for row in pick_several(rng, TICKETS.select(database), 6):
            people = pick_several(rng, PEOPLE, params["items"] + 1)
            conditions = draw_conditions(rng, row, params["constraints"], ("assignee",))
            found = [ticket["assignee"] for ticket in TICKETS.find(database, conditions)]
            slots = self.slots_of(conditions, people, [found.count(person) for person in people])
            if slots is not None:
                return slots
        return None


@add_template
class CompareMilestones(WebTemplate):
    """Name the milestone with the largest share of closed tickets among several."""

    site, name, intent, answer, pages = "tracker", "compare-milestones", "compare", "best", ("/milestones",)
    question = "Of the milestones {names}, which has the largest share of its tickets closed? Answer with its name."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT milestone, avg(state = 'Closed') FROM tickets WHERE milestone <> '' GROUP BY milestone"
        shares = dict(database.execute(sql).fetchall())
        chosen = pick_several(rng, list(shares), params["items"] + 1)
        ranked = sorted((shares[name] for name in chosen), reverse=True)
        if len(ranked) < 2 or ranked[0] - ranked[1] < 0.005:
            return None
        return {"milestones": tuple(chosen), "best": max(chosen, key=shares.__getitem__)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"names": name_all(list(slots["milestones"]))}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Milestones")


@add_template
class FindTicket(TicketTemplate, BestTemplate):
    """Name the ticket with the largest estimate or the earliest due date among those that meet conditions."""

    name, answer = "find-ticket", "title"
    question = "Of the tickets that are {what}, which one {how}? Answer with its title."
    measures: ClassVar = {
        "estimate": ("has the largest estimate", "Estimate, largest first"),
        "due": ("is due first", "Due date, earliest first"),
    }

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        measure = pick(rng, tuple(self.measures))
        for row in pick_several(rng, TICKETS.select(database), 6):
            conditions = draw_conditions(rng, row, params["constraints"], ("since", "until"))
            found = [ticket for ticket in TICKETS.find(database, conditions) if ticket["due"] or measure != "due"]
            ranked = sorted(found, key=lambda ticket: ticket["due"] if measure == "due" else -ticket["estimate"])
            if len(ranked) > 1 and ranked[0][measure] != ranked[1][measure]:
                return {"conditions": tuple(conditions.items()), "measure": measure, "title": ranked[0]["title"]}
        return None


@add_template
class CompareTickets(OpeningTemplate):
    """Name the ticket with the most comments among several, by opening each."""

    site, name, objects, answer, pages = "tracker", "compare-tickets", "tickets", "best", ("/ticket/{0}",)
    question = "Which of these tickets has the most comments: {titles}? Answer with its title."
    search_box, measure = TICKETS.search_box, "comments"
    rows = "SELECT t.id, t.title, (SELECT count(*) FROM comments WHERE ticket = t.id) AS comments FROM tickets t"
