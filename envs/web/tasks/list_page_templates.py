"""Base templates for list pages: count the rows that meet conditions, find the best row, compare groups of rows.

A subclass names a `ListPage` and a question, and draws conditions. The goal, the words of the question and the steps of
the solver follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..sites.list_page import ListPage, name_all
from .draws import best_of, pick, pick_several
from .template import Database, Goal, Params, Rng, Slots, WebTemplate
from .walk import Walk


class ListPageTemplate(WebTemplate):
    """Base of templates about the rows of a list page that meet conditions; "{what}" in the question describes them.

    Attributes:
        list_page: the list page.
        filters: the name of the slot with the conditions, pairs (name of a filter, value).
    """

    list_page: ClassVar[ListPage]
    filters: ClassVar[str] = "conditions"

    def conditions_of(self, slots: Slots) -> dict[str, Any]:
        """Return the conditions: name of a filter -> value."""
        return dict(slots[self.filters])

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "what": self.list_page.describe(self.conditions_of(slots))}

    def rows(self, database: Database, slots: Slots) -> list[Any]:
        """Return the rows that meet the conditions."""
        return self.list_page.find(database, self.conditions_of(slots))

    def paths(self, slots: Slots) -> tuple[str, ...]:
        return super().paths(slots) or (self.list_page.path,)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.list_page.filter(walk, self.conditions_of(slots))

    def draw_conditions(self, rng: Rng, row: Any, number: int) -> dict[str, Any]:
        """Draw ``number`` conditions that the row ``row`` meets."""
        raise NotImplementedError(f"{type(self).__name__} must implement draw_conditions(rng, row, number).")


class CountTemplate(ListPageTemplate):
    """Base of templates that ask for the number of rows that meet conditions."""

    intent, kind = "report", "number"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, self.list_page.select(database))
        return {self.filters: tuple(self.draw_conditions(rng, row, params["constraints"]).items())}

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(str(len(self.rows(database, slots))), self.kind, milestone_pages=self.paths(slots))


class BestTemplate(ListPageTemplate):
    """Base of templates that ask for the best row by a measure; "{how}" in the question describes the measure.

    Attributes:
        measures: value of the slot of the measure -> (words for the measure, option of the list's order). The key None
            is used if there is no such slot.
        measure: the name of the slot with the measure.
    """

    intent = "compare"
    measures: ClassVar[Mapping[Any, tuple[str, str]]]
    measure: ClassVar[str] = "measure"

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "how": self.measures[slots.get(self.measure)][0]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.list_page.filter(walk, self.conditions_of(slots), self.measures[slots.get(self.measure)][1])


class GroupTemplate(ListPageTemplate):
    """Base of templates that ask which of several groups has the most rows; "{groups}" in the question names them.

    Attributes:
        group: the name of the filter whose values are the groups.
        groups: the name of the slot with the names of the groups.
    """

    intent, answer = "compare", "best"
    group: ClassVar[str]
    groups: ClassVar[str]

    def slots_of(self, conditions: Mapping[str, Any], names: list[str], counts: list[int]) -> Slots | None:
        """Return the slots for groups with these names and numbers of rows; None if two have the largest number."""
        if counts.count(max(counts)) > 1:
            return None
        best = names[counts.index(max(counts))]
        return {self.filters: tuple(conditions.items()), self.groups: tuple(names), "best": best}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "groups": name_all(list(slots[self.groups]))}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for name in slots[self.groups]:
            self.list_page.filter(walk, {**self.conditions_of(slots), self.group: name})


class OpeningTemplate(WebTemplate):
    """Base of templates that ask for the best of several objects, which takes opening the page of each object. If
    ``answer`` is "", the answer is computed from the database.

    Attributes:
        search_box: the label of the site's search box.
        rows: an SQL query for the rows to draw from, with columns "id", "title" and the measure.
        measure: the column of which the largest value is best.
    """

    intent = "compare"
    search_box: ClassVar[str]
    rows: ClassVar[str]
    measure: ClassVar[str]

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_several(rng, database.execute(self.rows).fetchall(), params["items"] + 1)
        best = best_of(chosen, self.measure)
        if best is None:
            return None
        objects = {self.objects: tuple((row["id"], row["title"]) for row in chosen)}
        return {**objects, self.answer: best["title"]} if self.answer else objects

    def goal(self, database: Database, slots: Slots) -> Goal:
        if self.answer:
            return super().goal(database, slots)
        measures = {row["id"]: row[self.measure] for row in database.execute(self.rows)}
        best = max(slots[self.objects], key=lambda one: measures[one[0]])
        return Goal(best[1], milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots[self.objects]:
            walk.look_up(self.search_box, title)
