"""Cases of programs: arguments, and the value that the program returns for them.

`draw_cases` finds cases of which every program that omits a part of the specification fails at least one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .dice import Dice
from .grammar import Program
from .steps import INTEGER, LIST

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
_BOUNDARY = re.compile(r" [<>]=? ")
# Maximum characters of a written value, and maximum absolute value of a number, in a case.
_LONGEST_VALUE, _LARGEST = 60, 10**8
# Number of drawn arguments from which the cases are chosen.
_CANDIDATES = 20
# Work (statements and turns of loops) at which a body counts as wrong. Correct programs need about 600 at most.
_MOST_CASE_WORK = 12_000


class ProgramCase(NamedTuple):
    """Arguments, and the value that a program returns for them."""

    arguments: tuple[Any, ...]
    value: Any


# Arguments.


def draw_arguments(dice: Dice, program: Program, edge: int = -1) -> tuple[Any, ...]:
    """Draw random arguments. ``edge`` 0 or 1 gives edge cases instead: 0 or a negative number, or a list or text of no
    or one item."""
    first: Any
    if program.takes == INTEGER:
        first = _draw_number(dice, program.marks) if edge < 0 else (0, -dice.between(1, 60))[edge]
    elif program.takes == LIST:
        first = _draw_list(dice, dice.between(2, 8) if edge < 0 else edge, program.marks)
    else:
        first = " ".join([_draw_word(dice) for _ in range(dice.between(1, 4) if edge < 0 else edge)])
    return (first, *(dice.one(parameter.values) for parameter in program.parameters[1:]))


def _draw_number(dice: Dice, marks: tuple[int, ...]) -> int:
    kind = dice.below(12)
    if kind > 9 and marks:
        return dice.one(marks) + dice.between(-1, 1)
    if kind < 2:
        return dice.between(1, 12)
    return -dice.between(1, 60) if kind < 4 else dice.between(13, 250)


def _draw_list(dice: Dice, length: int, marks: tuple[int, ...]) -> list[int]:
    numbers = [dice.between(-9, -1) if dice.chance(0.15) else dice.between(0, 15) for _ in range(length)]
    if length and marks and dice.chance(0.5):
        numbers[dice.below(length)] = min(dice.one(marks), 20)
    if length > 2 and dice.chance(0.4):
        numbers[dice.below(length)] = numbers[dice.below(length)]
    return numbers


def _draw_word(dice: Dice) -> str:
    kind = dice.below(8)
    if kind == 0:
        return str(dice.between(1, 120))
    word = dice.one(("", "", "", *_VOWELS))
    word += "".join([dice.one(_CONSONANTS) + dice.one(_VOWELS) for _ in range(dice.between(1, 3))])
    word += dice.one(("", "", "", "s", "t", "nn"))
    if kind == 1:
        return word.capitalize()
    return word.upper() if kind == 2 else word + str(dice.below(10)) if kind == 3 else word


# Cases.


def make_case(program: Program, arguments: tuple[Any, ...]) -> ProgramCase | None:
    """Run the program on these arguments. Return None if it fails or returns a value too large for a prompt."""
    outcome = program.run(arguments)
    if outcome.error or not is_small(outcome.value):
        return None
    return ProgramCase(arguments, outcome.value)


def is_small(value: Any) -> bool:
    """Return True for a value that fits in a line and contains no number above 100 million."""
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, list) and any(isinstance(item, int) and abs(item) > _LARGEST for item in value):
        return False
    return len(repr(value)) <= _LONGEST_VALUE


def draw_cases(
    dice: Dice, program: Program, count: int, more: tuple[tuple[str, ...], ...] = ()
) -> list[ProgramCase] | None:
    """Draw cases of which every weaker program fails at least one. Return None if the draws contain no such cases.

    No value is right in more than 40% of the cases, and the first argument is the value in at most 40% of them.

    Args:
        count: the number of cases, at least five.
        more: other bodies, each of which must fail in some case.
    """
    found: dict[str, ProgramCase] = {}
    for place in range(_CANDIDATES):
        arguments = draw_arguments(dice, program, place if place < 2 else -1)
        key = repr(arguments)
        if key not in found:
            made = make_case(program, arguments)
            if made is None:
                return None
            found[key] = made
    edges, others = list(found.values())[:2], list(found.values())[2:]
    chosen: list[ProgramCase] = []
    for body in (*program.weaker, *more):
        if not _add_failing_case(program, body, chosen, (*others, *edges)):
            return None
    # Few arguments, if any, show whether a comparison is strict.
    for body in _shift_comparisons(program):
        if len(chosen) < count - 1:
            _add_failing_case(program, body, chosen, (*others, *edges))
    # Fill up with the edge cases, and with values still rare among the cases.
    seen = Counter(repr(one.value) for one in chosen)
    rest = [one for one in (*edges, *others) if one not in chosen]
    while len(chosen) < count and rest:
        best = min(rest, key=lambda one: (seen[repr(one.value)], one not in edges))
        rest.remove(best)
        seen[repr(best.value)] += 1
        chosen.append(best)
    if len(chosen) != count or max(seen.values()) > 0.4 * count:
        return None
    if sum(one.value == one.arguments[0] for one in chosen) > 0.4 * count:
        return None
    return chosen


def _add_failing_case(
    program: Program, body: tuple[str, ...], chosen: list[ProgramCase], others: Iterable[ProgramCase]
) -> bool:
    """Add to ``chosen`` one of ``others`` that the body fails, unless the body fails a chosen case already. Return
    False if the body fails no case."""
    if any(fails_case(program, body, one) for one in chosen):
        return True
    failing = next((one for one in others if fails_case(program, body, one)), None)
    if failing is None:
        return False
    chosen.append(failing)
    return True


def _shift_comparisons(program: Program) -> Iterator[tuple[str, ...]]:
    """Yield bodies with one comparison changed from strict to non-strict, or vice versa."""
    for place, block in enumerate(program.blocks):
        for found in _BOUNDARY.finditer(block):
            sign = found.group().strip()
            changed = sign[0] if sign[1:] else f"{sign}="
            code = f"{block[: found.start()]} {changed} {block[found.end() :]}"
            yield (*program.blocks[:place], code, *program.blocks[place + 1 :])


def fails_case(program: Program, body: tuple[str, ...], one: ProgramCase) -> bool:
    """Return True if a function with this body returns a value other than the case's, raises, or takes far more work
    than any correct program."""
    outcome = program.run(one.arguments, body, _MOST_CASE_WORK)
    return bool(outcome.error) or outcome.value != one.value
