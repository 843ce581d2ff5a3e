"""Cases of programs: arguments, and what the program returns for them.

`draw_cases` finds cases on which a program can be told from those that leave a part of its specification out.
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
_LONGEST_SHOWN, _LARGEST = 60, 10**8
_CANDIDATES = 20
# Statements and turns of loops; programs that are drawn take about 600 at most for the arguments of cases.
_FAR_TOO_MUCH = 1_500


class Case(NamedTuple):
    """Arguments, and what a program returns for them."""

    arguments: tuple[Any, ...]
    value: Any


# Arguments.


def draw_arguments(dice: Dice, program: Program, edge: int = -1) -> tuple[Any, ...]:
    """Random arguments; with ``edge`` 0 or 1, ones from the edge of what is allowed."""
    first: Any
    if program.takes == INTEGER:
        first = _a_number(dice, program.marks) if edge < 0 else (0, -dice.between(1, 60))[edge]
    elif program.takes == LIST:
        first = _a_list(dice, dice.between(2, 8) if edge < 0 else edge, program.marks)
    else:
        first = _a_text(dice, dice.between(1, 4) if edge < 0 else edge)
    return (first, *(dice.one(parameter.values) for parameter in program.parameters[1:]))


def _a_number(dice: Dice, marks: tuple[int, ...]) -> int:
    kind = dice.below(12)
    if kind > 9 and marks:
        return dice.one(marks) + dice.between(-1, 1)
    if kind < 2:
        return dice.between(1, 12)
    return -dice.between(1, 60) if kind < 4 else dice.between(13, 250)


def _a_list(dice: Dice, length: int, marks: tuple[int, ...]) -> list[int]:
    numbers = [dice.between(-9, -1) if dice.chance(0.15) else dice.between(0, 15) for _ in range(length)]
    if length and marks and dice.chance(0.5):
        numbers[dice.below(length)] = min(dice.one(marks), 20)
    if length > 2 and dice.chance(0.4):
        numbers[dice.below(length)] = numbers[dice.below(length)]
    return numbers


def _a_text(dice: Dice, words: int) -> str:
    return " ".join([_a_word(dice) for _ in range(words)])


def _a_word(dice: Dice) -> str:
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


def case(program: Program, arguments: tuple[Any, ...]) -> Case | None:
    """What the program returns for these arguments; None where that is too large to show."""
    outcome = program.run(arguments)
    if outcome.error or not is_small(outcome.value):
        return None
    return Case(arguments, outcome.value)


def is_small(value: Any) -> bool:
    """Whether a value fits in a line and holds no large number."""
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, list) and any(isinstance(item, int) and abs(item) > _LARGEST for item in value):
        return False
    return len(repr(value)) <= _LONGEST_SHOWN


def draw_cases(dice: Dice, program: Program, count: int, more: tuple[tuple[str, ...], ...] = ()) -> list[Case] | None:
    """Different cases, on which the program differs from each weaker one, and from constants and from its own argument
    mostly; None where they are not found.

    Args:
        count: how many, at least five.
        more: other bodies that some case must tell from the program's.
    """
    found: dict[str, Case] = {}
    for place in range(_CANDIDATES):
        arguments = draw_arguments(dice, program, place if place < 2 else -1)
        key = repr(arguments)
        if key not in found:
            made = case(program, arguments)
            if made is None:
                return None
            found[key] = made
    edges, others = list(found.values())[:2], list(found.values())[2:]
    chosen: list[Case] = []
    for body in (*program.weaker, *more):
        if not _tell(program, body, chosen, (*others, *edges)):
            return None
    # Where a comparison is strict and where not shows on few arguments, or on none.
    for body in _shifted(program):
        if len(chosen) < count - 1:
            _tell(program, body, chosen, (*others, *edges))
    # Then the edges, and what has values that are rare so far.
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


def _tell(program: Program, body: tuple[str, ...], chosen: list[Case], others: Iterable[Case]) -> bool:
    """Whether a chosen case tells the body from the program's, after one of the others is added where needed."""
    if any(differs(program, body, one) for one in chosen):
        return True
    telling = next((one for one in others if differs(program, body, one)), None)
    if telling is None:
        return False
    chosen.append(telling)
    return True


def _shifted(program: Program) -> Iterator[tuple[str, ...]]:
    """The body with one comparison strict that was not, or not strict that was."""
    for place, block in enumerate(program.blocks):
        for found in _BOUNDARY.finditer(block):
            sign = found.group().strip()
            changed = sign[0] if sign[1:] else f"{sign}="
            code = f"{block[: found.start()]} {changed} {block[found.end() :]}"
            yield (*program.blocks[:place], code, *program.blocks[place + 1 :])


def differs(program: Program, body: tuple[str, ...], one: Case) -> bool:
    """Whether a function with this body does something else on a case, or far more work than any of these needs."""
    outcome = program.run(one.arguments, body, _FAR_TOO_MUCH)
    return bool(outcome.error) or outcome.value != one.value
