"""Programs with bugs: one or several, each in a step of its own, of which none hides another.

`draw_buggy` puts them in, and finds cases on which they show; `mutations` has their kinds.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from .cases import Case, differs, draw_cases
from .dice import Dice
from .grammar import Program, draw_program
from .mutations import mutant, sites


class Bug(NamedTuple):
    """The place of a block, the block with the bug, and the bug's kind."""

    place: int
    code: str
    kind: str


class Buggy(NamedTuple):
    """The program meant, its bugs by their places, and cases, of which those that show bugs come first."""

    program: Program
    bugs: tuple[Bug, ...]
    cases: list[Case]

    @property
    def body(self) -> tuple[str, ...]:
        """The blocks with all the bugs."""
        return body_with(self.program, self.bugs)


def body_with(program: Program, bugs: tuple[Bug, ...]) -> tuple[str, ...]:
    """The blocks of the program, with these bugs in them."""
    changed = {bug.place: bug.code for bug in bugs}
    return tuple(changed.get(place, block) for place, block in enumerate(program.blocks))


def draw_buggy(dice: Dice, domain: str, steps: int, count: int, bugs: int = 1) -> Buggy:
    """A random program with bugs.

    Every set of its bugs, without the others, fails in some case; all of them together fail in the first. Each bug
    alone shows in one of as many cases as there are bugs, from the first on, where possible in one that no other bug
    alone shows in.

    Args:
        domain, steps: as for `draw_program`.
        count: of the cases.
        bugs: how many, at most one for each step.
    """
    while True:
        program = draw_program(dice, domain, steps)
        put = _draw_bugs(dice, program, bugs)
        if put is None:
            continue
        sets = [some for size in range(1, bugs + 1) for some in itertools.combinations(put, size)]
        cases = draw_cases(dice, program, count, more=tuple(body_with(program, some) for some in sets))
        if cases is not None:
            told = _telling(program, put, cases)
            if differs(program, body_with(program, put), told[0]):
                return Buggy(program, put, told)


def _draw_bugs(dice: Dice, program: Program, count: int) -> tuple[Bug, ...] | None:
    """Bugs in different places; None where one does not fit."""
    put: dict[int, Bug] = {}
    while len(put) < count:
        place = dice.below(len(program.blocks) - 1)
        if place in put:
            continue
        found = sites(program.blocks[place])
        if not found:
            return None
        # Kinds that fit in many places are not to crowd out the others.
        kind = dice.one(list(dict.fromkeys(site.kind for site in found)))
        code = mutant(program.blocks[place], dice.one([site for site in found if site.kind == kind]))
        if code == program.blocks[place]:
            return None
        put[place] = Bug(place, code, kind)
    return tuple(put[place] for place in sorted(put))


def _telling(program: Program, bugs: tuple[Bug, ...], cases: list[Case]) -> list[Case]:
    """The cases, from one for each bug on."""
    shows = [[differs(program, body_with(program, (bug,)), one) for one in cases] for bug in bugs]
    chosen: list[int] = []
    for row in shows:
        places = [place for place, does in enumerate(row) if does and place not in chosen]
        if places:
            chosen.append(min(places, key=lambda place: sum(other[place] for other in shows)))
    return [*(cases[place] for place in chosen), *(one for place, one in enumerate(cases) if place not in chosen)]
