"""Programs with one or several bugs, each in a different step, and none hiding another.

`draw_buggy` draws a program, its bugs, and cases in which the bugs show. The kinds of bugs are those of `mutations`.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from .cases import ProgramCase, draw_cases, fails_case
from .dice import Dice
from .grammar import Program, draw_program
from .mutations import apply_mutation, find_sites


class Bug(NamedTuple):
    """A bug: the index of its block, the code of the block with the bug, and the kind of the bug."""

    place: int
    code: str
    kind: str


class BuggyProgram(NamedTuple):
    """The correct program, its bugs in the order of their blocks, and cases, with the cases that show bugs first."""

    program: Program
    bugs: tuple[Bug, ...]
    cases: list[ProgramCase]

    @property
    def body(self) -> tuple[str, ...]:
        """The blocks with all the bugs."""
        return insert_bugs(self.program, self.bugs)


def insert_bugs(program: Program, bugs: tuple[Bug, ...]) -> tuple[str, ...]:
    """Return the blocks of the program with these bugs in them."""
    changed = {bug.place: bug.code for bug in bugs}
    return tuple(changed.get(place, block) for place, block in enumerate(program.blocks))


def draw_buggy(dice: Dice, domain: str, steps: int, count: int, bugs: int = 1) -> BuggyProgram:
    """Draw a random program with bugs.

    Every subset of the bugs fails in some case, and all bugs together fail in the first. With n bugs, each bug alone
    fails in one of the first n cases, if possible in one in which no other bug alone fails.

    Args:
        domain, steps: as for `draw_program`.
        count: the number of cases.
        bugs: the number of bugs, at most one for each step.
    """
    while True:
        program = draw_program(dice, domain, steps)
        inserted = _draw_bugs(dice, program, bugs)
        if inserted is None:
            continue
        subsets = [some for size in range(1, bugs + 1) for some in itertools.combinations(inserted, size)]
        cases = draw_cases(dice, program, count, more=tuple(insert_bugs(program, some) for some in subsets))
        if cases is not None:
            ordered = _order_cases(program, inserted, cases)
            if fails_case(program, insert_bugs(program, inserted), ordered[0]):
                return BuggyProgram(program, inserted, ordered)


def _draw_bugs(dice: Dice, program: Program, count: int) -> tuple[Bug, ...] | None:
    """Draw bugs for different blocks. Return None if a block has no place for a bug, or a bug has no effect."""
    bugs: dict[int, Bug] = {}
    while len(bugs) < count:
        place = dice.below(len(program.blocks) - 1)
        if place in bugs:
            continue
        found = find_sites(program.blocks[place])
        if not found:
            return None
        # Draw the kind first, so that kinds that fit in many places do not dominate.
        kind = dice.one(list(dict.fromkeys(site.kind for site in found)))
        code = apply_mutation(program.blocks[place], dice.one([site for site in found if site.kind == kind]))
        if code == program.blocks[place]:
            return None
        bugs[place] = Bug(place, code, kind)
    return tuple(bugs[place] for place in sorted(bugs))


def _order_cases(program: Program, bugs: tuple[Bug, ...], cases: list[ProgramCase]) -> list[ProgramCase]:
    """Move to the front one case for each bug in which this bug alone fails."""
    shows = [[fails_case(program, insert_bugs(program, (bug,)), one) for one in cases] for bug in bugs]
    chosen: list[int] = []
    for row in shows:
        places = [place for place, does in enumerate(row) if does and place not in chosen]
        if places:
            chosen.append(min(places, key=lambda place: sum(other[place] for other in shows)))
    return [*(cases[place] for place in chosen), *(one for place, one in enumerate(cases) if place not in chosen)]
