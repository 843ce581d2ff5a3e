"""`PartsTemplate`: tasks on a portal that are made of tasks of single sites; `TaskPart` is one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..sites.portal import TITLES
from ..sites.site import generate
from .template import TEMPLATES, Goal, Params, Rng, Slots, WebTemplate
from .walk import Walk


@dataclass(frozen=True)
class TaskPart:
    """A task of a single site within a task on a portal.

    Args:
        template: name of a template of a single site in `TEMPLATES`, such as "shop/buy".
        params: parameters that override those of the environment.
    """

    template: str
    params: Params = field(default_factory=dict)

    @property
    def site(self) -> str:
        return self.template.partition("/")[0]

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        """Draw the slots; ``database`` has the databases of all sites, here and below."""
        return TEMPLATES[self.template].draw(rng, database[self.site], {**params, **self.params})

    def ask(self, slots: Slots) -> str:
        """Return the task in words, with the site in front."""
        return f"{place_of(self.site)}: {ask_part(self, slots)}"

    def prepare(self, database: Any, slots: Slots) -> None:
        TEMPLATES[self.template].prepare(database[self.site], slots)

    def goal(self, database: Any, slots: Slots) -> Goal:
        """Return the goal, in the portal's names and addresses."""
        return portal_goal(self.site, TEMPLATES[self.template].goal(database[self.site], slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        """Take all steps of the solution but the answer; ``goal`` is in the portal's names."""
        start = f"{self.site} "
        removed, added = (
            {name.removeprefix(start): each for name, each in some.items() if name.startswith(start)}
            for some in (goal.removed, goal.added)
        )
        walk.click("link", f"Go to the {TITLES[self.site]}")
        TEMPLATES[self.template].solve(walk, slots, Goal(goal.answer, goal.kind, removed, added))


def ask_part(part: TaskPart, slots: Slots) -> str:
    """Return the question of a part as whole sentences."""
    text = TEMPLATES[part.template].ask(slots)
    return f"{text}." if text.endswith('"') and text[-2] not in ".?!" else text


def place_of(site: str) -> str:
    """Return a site in words, such as "In the shop"."""
    return f"{'On' if site in ('booking', 'forum') else 'In'} the {TITLES[site]}"


def portal_goal(site: str, goal: Goal) -> Goal:
    """Return a goal of a single site in the portal's names and addresses."""
    removed, added = ({f"{site} {name}": rows for name, rows in some.items()} for some in (goal.removed, goal.added))
    return Goal(goal.answer, goal.kind, removed, added, tuple(f"/{site}{page}" for page in goal.milestone_pages))


def join_goals(goals: Sequence[Goal]) -> Goal:
    """Return the goal of reaching several goals one after the other: rows that one adds and a later one removes do not
    count. The answer is that of the last goal."""
    removed: dict[str, Counter[Any]] = {}
    added: dict[str, Counter[Any]] = {}
    for goal in goals:
        for name in {*goal.removed, *goal.added}:
            gone, come = (Counter(some.get(name, ())) for some in (goal.removed, goal.added))
            before, after = removed.setdefault(name, Counter()), added.setdefault(name, Counter())
            undone = after & gone
            before += gone - undone
            after -= undone
            undone = before & come
            before -= undone
            after += come - undone
    pages = dict.fromkeys(page for goal in goals for page in goal.milestone_pages)
    gone, come = ({name: tuple(each.elements()) for name, each in some.items() if each} for some in (removed, added))
    return Goal(goals[-1].answer, goals[-1].kind, gone, come, tuple(pages))


def changed_rows(goal: Goal) -> set[tuple[str, Any]]:
    """Return (name, row) of all rows that a goal removes or adds."""
    return {(name, row) for some in (goal.removed, goal.added) for name, rows in some.items() for row in rows}


class PartsTemplate(WebTemplate):
    """Base of tasks on a portal with parts. Slots: ``parts``, the slots of each part as pairs.

    Attributes:
        parts: the parts of the task.
        sites: names of the sites in the portal, sorted.
    """

    parts: tuple[TaskPart, ...]
    # Sites of the portal that no part is on.
    others: tuple[str, ...] = ()

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(sorted({*(part.site for part in self.parts), *self.others}))

    def generate(self, size: int, seed: int) -> tuple[tuple[str, Any], ...]:
        return tuple((site, generate(site, size, seed)) for site in self.sites)

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        drawn: list[Any] = []
        for part in self.parts:
            slots = part.draw(rng, database, params)
            if slots is None:
                return None
            drawn.append(tuple(sorted(slots.items())))
        return {"parts": tuple(drawn)}

    def pairs(self, slots: Slots) -> list[tuple[TaskPart, Mapping[str, Any]]]:
        """Return (part, its slots) of all parts."""
        return [(part, dict(each)) for part, each in zip(self.parts, slots["parts"], strict=True)]

    def ask(self, slots: Slots) -> str:
        return number_parts([part.ask(each) for part, each in self.pairs(slots)])

    def prepare(self, database: Any, slots: Slots) -> None:
        for part, each in self.pairs(slots):
            part.prepare(database, each)

    def goal(self, database: Any, slots: Slots) -> Goal:
        return join_goals([part.goal(database, each) for part, each in self.pairs(slots)])

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for part, each in self.pairs(slots):
            part.solve(walk, each, goal)


def number_parts(texts: Iterable[str]) -> str:
    """Return tasks in words as one text; several are numbered."""
    texts = [*texts]
    return texts[0] if len(texts) == 1 else " ".join(f"({place}) {text}" for place, text in enumerate(texts, 1))
