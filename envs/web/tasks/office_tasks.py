"""Templates on widgets within frames, frames within frames, windows with a name, and search results in a table that a
script sorts: the pages with an office and the finder of `sites.details`. All are on request.

Each class of templates has rows for some of the sites in `ROWS`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from ..sites.details import FIRST_FOUND, MOST_FOUND
from .draws import pick
from .paper_tasks import PapersTemplate
from .template import TEMPLATES, Database, Goal, Params, Rng, Slots
from .walk import Walk
from .widget_tasks import ROWS as DETAILS_ROWS
from .widget_tasks import BestOfTable, DetailsTemplate, FieldsTemplate, ReadTemplate


class OfficeTemplate(PapersTemplate):
    """Base of templates on the offices of objects."""

    pages, on_request = ("/office/{0}",), True

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title, search, link in slots["objects"]:
            self.go_to_papers(walk, search, link)
            walk.click("link", "Office")
            self.use(walk, slots, title)


class PlanAtCounter(OfficeTemplate, FieldsTemplate):
    """Use a date picker and a list of suggestions within a frame."""

    def __init__(self, *row: str):
        FieldsTemplate.__init__(self, "plan-at-counter", ("day", "place"), *row)

    def ask(self, slots: Slots) -> str:
        return f"{super().ask(slots)} Do this at the counter of the office."


class ReadShelf(OfficeTemplate, ReadTemplate):
    """Report what a section says that is closed at first, in a frame within a frame."""

    name = "read-shelf"
    question = 'In the office, what does the shelf at the counter say under "{label}" for {which}?'

    def value_of(self, title: str, label: str) -> str:
        return self.papers.on_shelf(title, label)

    def labels(self, title: str) -> list[str]:
        return list(self.papers.topics)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", slots["label"])
        walk.read(self.value_of(title, slots["label"]))


class ReadLeaves(OfficeTemplate, ReadTemplate):
    """Report the numbers of two pages that open in one window by its name."""

    name = "read-leaves"
    question = 'In the office, what are the numbers on leaf 1 and leaf 2, written as in "123-456", for {which}?'

    def value_of(self, title: str, label: str) -> str:
        return f"{self.papers.leaf_of(title, 1)}-{self.papers.leaf_of(title, 2)}"

    def labels(self, title: str) -> list[str]:
        return ["leaves"]

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        place = walk.browser.place
        for leaf, role in enumerate(("button", "link"), 1):
            walk.click(role, f"Leaf {leaf}")
            walk.read(str(self.papers.leaf_of(title, leaf)))
            if leaf == 1:
                walk.go_to_tab(place)
        walk.close_tab(place)


class BestOfSearch(BestOfTable):
    """Report the object with the smallest or largest value among search results in a table, which a script sorts."""

    name, pages, on_request = "best-of-search", ("/finder",), True
    question = (
        'Which {noun} of those with "{word}" in their name has the {words}? Answer with its name as the table has it.'
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        pages = self.details
        every = database.execute(f"{pages.sql} ORDER BY id").fetchall()
        word = pick(rng, pick(rng, every)["title"].split())
        found = [row for row in every if word.lower() in row["title"].lower()]
        place, (label, column) = pick(rng, [*enumerate(pages.columns.items(), 4)])
        falls = bool(rng.integers(2))
        rows = sorted(found, key=operator.itemgetter(place), reverse=falls)
        words = column.most if falls else column.least
        # The best one must not be shown at first.
        if not words or len(rows) > MOST_FOUND or rows[0] in found[:FIRST_FOUND] or rows[0][place] == rows[1][place]:
            return None
        return {"word": word, "best": rows[0]["title"], "label": label, "words": words, "falls": falls}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.follow_from_start(walk, f"Table of all {self.details.noun}s")
        walk.click("link", "Find in the table")
        walk.fill("Part of the name", slots["word"])
        walk.click("button", "Find")
        for _ in range(1 + slots["falls"]):
            walk.click("button", slots["label"])


ROWS: Mapping[str, tuple[type[DetailsTemplate], ...]] = {
    "shop": (ReadShelf, BestOfSearch),
    "booking": (PlanAtCounter,),
    "forum": (BestOfSearch, ReadLeaves),
    "tracker": (ReadShelf, PlanAtCounter),
    "wiki": (ReadLeaves,),
}
"""Name of a site -> classes of its templates."""

for _site, _kinds in ROWS.items():
    for _kind in _kinds:
        _intent, _search_box, _start = DETAILS_ROWS[_site]
        _own = {PlanAtCounter: _intent, BestOfSearch: "compare"}.get(_kind, "report")
        _one = _kind(_site, _own, _search_box, _start)
        TEMPLATES.add(f"{_site}/{_one.name}", _one)
