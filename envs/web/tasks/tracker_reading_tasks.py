"""Templates of the project tracker that are answered by reading: find and report, count, follow blockers, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from ..sites.listing import name_all
from ..sites.tracker_content import PEOPLE
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, best_of, pick, pick_several
from .walk import Walk

# Conditions on tickets by name: the SQL, the wording with and without a value, and the filter's field.
_CONDITIONS = {
    "project": ("t.project = ?", "in the project {}", "", "Project"),
    "kind": ("t.kind = ?", "of the kind {}", "", "Kind"),
    "priority": ("t.priority = ?", "of the priority {}", "", "Priority"),
    "state": ("t.state = ?", "in the state {}", "", "State"),
    "assignee": ("t.assignee = ?", "assigned to {}", "assigned to nobody", "Assignee"),
    "label": ("instr(', ' || t.labels || ', ', ', ' || ? || ', ')", 'labelled "{}"', "", "Label"),
    "milestone": ("t.milestone = ?", "in the milestone {}", "in no milestone", "Milestone"),
    "since": ("t.due >= ?", "due on or after {}", "", "Due from"),
    "until": ("t.due <> '' AND t.due <= ?", "due on or before {}", "", "Due until"),
}
# A further value of the condition on the state.
OPEN = "open"
_MEASURES = {
    "estimate": ("has the largest estimate", "Estimate, largest first"),
    "due": ("is due first", "Due date, earliest first"),
}


def select_tickets(database: Database, where: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Select tickets by an SQL condition; the alias is ``t``."""
    sql = f"SELECT t.* FROM tickets t WHERE {where} ORDER BY t.id"
    return database.execute(sql, values).fetchall()


def matching_tickets(database: Database, conditions: Mapping[str, str]) -> list[sqlite3.Row]:
    """Return the tickets that meet conditions, ordered by number."""
    clauses, values = ["1"], []
    for name, value in conditions.items():
        if value == OPEN:
            clauses.append("t.state <> 'Closed'")
        else:
            clauses.append(_CONDITIONS[name][0])
            values.append(value)
    return select_tickets(database, " AND ".join(clauses), *values)


def draw_conditions(rng: Rng, ticket: sqlite3.Row, number: int, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Draw ``number`` conditions that a ticket meets, none of them named in ``without``."""
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
    return {name: values[name] for name in _CONDITIONS if name in names}


def describe_conditions(conditions: Mapping[str, str]) -> str:
    """Describe conditions, as in "in the project Billing, not closed and due on or before 2026-05-20"."""
    parts = []
    for name, value in conditions.items():
        _, some, none, _ = _CONDITIONS[name]
        parts.append("not closed" if value == OPEN else some.format(value) if value else none)
    return name_all(parts)


def filter_list(walk: Walk, conditions: Mapping[str, str], sort: str = "") -> None:
    """List the tickets under conditions."""
    walk.click("link", "Tickets")
    for name, value in conditions.items():
        label = _CONDITIONS[name][3]
        if name in ("since", "until"):
            walk.fill(label, value)
        elif value:
            walk.select(label, "Not closed" if value == OPEN else value)
        else:
            walk.select(label, "Nobody" if name == "assignee" else "No milestone")
    if sort:
        walk.select("Sort by", sort)
    if conditions or sort:
        walk.click("button", "Apply filters")


def open_ticket(walk: Walk, title: str) -> None:
    """Search for a ticket by its title, and open it."""
    walk.fill("Search tickets", title)
    walk.press_enter("searchbox", "Search tickets")
    walk.seek("link", title)


def draw_chain(rng: Rng, database: Database, length: int) -> list[sqlite3.Row]:
    """Draw an open ticket with its chain of blockers: ``length`` tickets, or fewer if no chain is as long, each blocked
    by the next one only. Return an empty list if there is no such ticket."""
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
    tickets = {row["id"]: row for row in select_tickets(database)}
    return [tickets[number] for number in pick(rng, chains[max(lengths)])]


@add_template
class CountTickets(WebTemplate):
    """Count the tickets that meet conditions."""

    site, name, intent = "tracker", "count-tickets", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        conditions = draw_conditions(rng, pick(rng, select_tickets(database)), params["constraints"])
        return {"conditions": tuple(conditions.items())}

    def ask(self, slots: Slots) -> str:
        return f"How many tickets are {describe_conditions(dict(slots['conditions']))}? Answer with the number."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(str(len(matching_tickets(database, dict(slots["conditions"])))), "number", pages=("/tickets",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]))


@add_template
class SumEstimates(WebTemplate):
    """Add up the estimates of a few tickets that meet conditions."""

    site, name, intent = "tracker", "sum-estimates", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = select_tickets(database)
        for row in (pick(rng, rows) for _ in range(12)):
            conditions = draw_conditions(rng, row, params["constraints"] + 1)
            if 1 < len(matching_tickets(database, conditions)) <= 2 + params["items"] * 2:
                return {"conditions": tuple(conditions.items())}
        return None

    def ask(self, slots: Slots) -> str:
        what = describe_conditions(dict(slots["conditions"]))
        return f"How many hours are estimated for all tickets together that are {what}? Answer with the number."

    def goal(self, database: Database, slots: Slots) -> Goal:
        found = matching_tickets(database, dict(slots["conditions"]))
        return Goal(str(sum(row["estimate"] for row in found)), "number", pages=("/tickets",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]))
        while walk.find("link", "Next page") is not None:
            walk.click("link", "Next page")


@add_template
class ReportReporter(WebTemplate):
    """Report who opened a ticket, which only its page shows. The ticket is given by its title or as the first of a
    list."""

    site, name, intent = "tracker", "report-reporter", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        ticket, conditions = pick(rng, select_tickets(database)), {}
        if params["constraints"] > 1:
            conditions = draw_conditions(rng, ticket, params["constraints"] - 1, ("since", "until"))
            best = best_of(matching_tickets(database, conditions), "estimate")
            if best is None:
                return None
            ticket = best
        about = {name: ticket[name] for name in ("id", "title", "reporter")}
        return {**about, "conditions": tuple(conditions.items())}

    def ask(self, slots: Slots) -> str:
        if not slots["conditions"]:
            return f'Who opened the ticket "{slots["title"]}"? Answer with the full name.'
        what = describe_conditions(dict(slots["conditions"]))
        return f"Who opened the ticket with the largest estimate of those that are {what}? Answer with the full name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["reporter"], pages=(f"/ticket/{slots['id']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        if slots["conditions"]:
            filter_list(walk, dict(slots["conditions"]), "Estimate, largest first")
            walk.click("link", slots["title"])
        else:
            open_ticket(walk, slots["title"])


@add_template
class FindRootBlocker(WebTemplate):
    """Follow a chain of blockers to its root."""

    site, name, intent = "tracker", "find-root-blocker", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chain = draw_chain(rng, database, params["items"])
        return {"chain": tuple((row["id"], row["title"]) for row in chain)} if chain else None

    def ask(self, slots: Slots) -> str:
        return (
            f'The ticket "{slots["chain"][0][1]}" is blocked. Follow what blocks it, and what blocks that, up to the '
            "ticket that no other one blocks. Answer with its title."
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["chain"][-1][1], pages=tuple(f"/ticket/{number}" for number, _ in slots["chain"]))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_ticket(walk, slots["chain"][0][1])
        for _, title in slots["chain"][1:]:
            walk.click("link", title)


@add_template
class CompareAssignees(WebTemplate):
    """Name the person with the most tickets of several, under conditions."""

    site, name, intent = "tracker", "compare-assignees", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        for row in pick_several(rng, select_tickets(database), 6):
            people = pick_several(rng, PEOPLE, params["items"] + 1)
            conditions = draw_conditions(rng, row, params["constraints"], ("assignee",))
            found = [ticket["assignee"] for ticket in matching_tickets(database, conditions)]
            counts = [found.count(person) for person in people]
            if counts.count(max(counts)) == 1:
                best = people[int(np.argmax(counts))]
                return {"conditions": tuple(conditions.items()), "people": tuple(people), "best": best}
        return None

    def ask(self, slots: Slots) -> str:
        what = describe_conditions(dict(slots["conditions"]))
        people = name_all(list(slots["people"]))
        return f"Of {people}, who has the most tickets that are {what}? Answer with the full name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=("/tickets",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for person in slots["people"]:
            filter_list(walk, {**dict(slots["conditions"]), "assignee": person})


@add_template
class CompareMilestones(WebTemplate):
    """Name the milestone with the largest share of closed tickets among several."""

    site, name, intent = "tracker", "compare-milestones", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT milestone, avg(state = 'Closed') FROM tickets WHERE milestone <> '' GROUP BY milestone"
        shares = dict(database.execute(sql).fetchall())
        chosen = pick_several(rng, list(shares), params["items"] + 1)
        ranked = sorted((shares[name] for name in chosen), reverse=True)
        if len(ranked) < 2 or ranked[0] - ranked[1] < 0.005:
            return None
        return {"milestones": tuple(chosen), "best": max(chosen, key=shares.__getitem__)}

    def ask(self, slots: Slots) -> str:
        names = name_all(list(slots["milestones"]))
        return f"Of the milestones {names}, which has the largest share of its tickets closed? Answer with its name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=("/milestones",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Milestones")


@add_template
class FindTicket(WebTemplate):
    """Name the ticket with the largest estimate or the earliest due date under conditions."""

    site, name, intent = "tracker", "find-ticket", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        measure = pick(rng, tuple(_MEASURES))
        for row in pick_several(rng, select_tickets(database), 6):
            conditions = draw_conditions(rng, row, params["constraints"], ("since", "until"))
            found = [ticket for ticket in matching_tickets(database, conditions) if ticket["due"] or measure != "due"]
            ranked = sorted(found, key=lambda ticket: ticket["due"] if measure == "due" else -ticket["estimate"])
            if len(ranked) > 1 and ranked[0][measure] != ranked[1][measure]:
                return {"conditions": tuple(conditions.items()), "measure": measure, "title": ranked[0]["title"]}
        return None

    def ask(self, slots: Slots) -> str:
        what = describe_conditions(dict(slots["conditions"]))
        return f"Of the tickets that are {what}, which one {_MEASURES[slots['measure']][0]}? Answer with its title."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["title"], pages=("/tickets",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_list(walk, dict(slots["conditions"]), _MEASURES[slots["measure"]][1])


@add_template
class CompareTickets(WebTemplate):
    """Name the ticket with the most comments among several, by opening each."""

    site, name, intent = "tracker", "compare-tickets", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT t.id, t.title, (SELECT count(*) FROM comments WHERE ticket = t.id) AS comments FROM tickets t"
        chosen = pick_several(rng, database.execute(sql).fetchall(), params["items"] + 1)
        best = best_of(chosen, "comments")
        if best is None:
            return None
        return {"tickets": tuple((row["id"], row["title"]) for row in chosen), "best": best["title"]}

    def ask(self, slots: Slots) -> str:
        titles = name_all([f'"{title}"' for _, title in slots["tickets"]])
        return f"Which of these tickets has the most comments: {titles}? Answer with its title."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(slots["best"], pages=tuple(f"/ticket/{number}" for number, _ in slots["tickets"]))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots["tickets"]:
            open_ticket(walk, title)
