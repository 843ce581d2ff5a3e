"""palaestra/TwentyFour-v0: make 24, or another target, from four cards, each used exactly once."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.countdown import ExpressionError, evaluate_expression
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .arithmetic_notation import normalise_expression

# A rational number in lowest terms, its denominator positive.
Ratio = tuple[int, int]
# The last step of a computation: (left value, operator, right value, cards of the left value, cards of the right).
LastStep = tuple[Ratio, str, Ratio, tuple[int, ...], tuple[int, ...]]
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "": 3}
# After this many hands without the wanted number of ways, any hand that can make the target is accepted.
MOST_HANDS = 600
# Values are looked up as residues modulo this prime. Numerators and denominators stay below 2**30 here, so that p/q and
# r/s have the same residue only where ps - qr is 0: this is exact, and much faster than reducing fractions.
_PRIME = 2**61 - 1


class TwentyFour(Question):
    """Combine four cards into a target.

    Description:
        Only hands that can make the target are used. A way is a computation of the target with all four cards, such as
        (8 - 2) * (3 + 1). Ways that differ only in the order of a sum or product, or in the order of steps, are the
        same; equal cards count as different cards.

    Parameters:
        ways (1 to 12, on request up to 24): a hand has at least this many ways, and at most twice as many; fewer are
            harder. If no such hand is found among 600, a hand with any number of ways is used.
        largest (10 to 16, on request 8 to 50): the largest number that a card may have.
        target (24 to 60, on request 20 to 80): the number to make; 24 is the classic game.

    Observation:
        Text such as ``Make 24 from the numbers 3, 3, 8, 8.`` and the rules.

    Actions:
        Text with one expression over all four cards, ``8 / (3 - 8 / 3)``, read in ``answer_format``.

    Reward:
        1 for an expression that uses each card exactly once and equals the target exactly, 0 otherwise. The sum of the
        cards is the target in 0.15 of the easiest hands by chance, and in no hard hand, as a sum of four cards counts
        as many ways.

    Termination:
        After the first answer.

    Source:
        The card game 24 (General Points).
    """

    param_space = ParamSpace(
        [
            IntAxis("ways", 1, 12, harder="down", limits=(1, 24)),
            IntAxis("largest", 10, 16, limits=(8, 50)),
            IntAxis("target", 24, 60, limits=(20, 80)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        target, largest, ways = params["target"], params["largest"], params["ways"]
        hands = 0
        while True:
            draws = rng.random(64).tolist()
            for start in range(0, 64, 4):
                hand = tuple(sorted([1 + int(u * largest) for u in draws[start : start + 4]]))
                hands += 1
                if ways <= (found := count_ways(hand, target)) <= 2 * ways or (found and hands > MOST_HANDS):
                    given = ", ".join(map(str, hand))
                    last = find_last_steps(hand, (target, 1))[0]
                    return Task(
                        f"Make {target} from the numbers {given}. Use each of the four numbers exactly once, with "
                        "+ - * / and parentheses; fractions may occur on the way. Answer with the expression alone, "
                        f"without '= {target}'.",
                        {"numbers": list(hand), "target": target},
                        solution=_format_last_step(last)[0],
                        content=f"{target} from {given}",
                        data=last,
                    )

    def verify(self, task: Task, answer: str) -> Verdict:
        numbers, target = task.reference["numbers"], task.reference["target"]
        answer = normalise_expression(answer, target)
        try:
            value = evaluate_expression(answer, numbers)
        except ExpressionError as error:
            return rejected(str(error))
        # `evaluate_expression` rejects numbers used more often than given, so that four numbers are all four cards.
        if len(re.findall("[0-9]+", answer)) < len(numbers):
            return Verdict(0.0, False, feedback="The expression does not use every number.")
        return CORRECT if value == target else Verdict(0.0, False, feedback=f"The expression does not equal {target}.")

    def heuristic_action(self, episode: Task) -> str:
        """Return the sum of the cards."""
        return " + ".join(map(str, episode.reference["numbers"]))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of steps of a full depth-first search, which replaces two numbers by one at each step,
        divided by the number of solutions that it finds."""
        steps, wins = _count_steps([(n, 1) for n in episode.reference["numbers"]], (episode.reference["target"], 1))
        return steps / wins

    def criteria(self, task: Task) -> list[str]:
        numbers, target = task.reference["numbers"], task.reference["target"]
        return [
            f"The value of the expression is {target}.",
            f"Each of the numbers {', '.join(map(str, numbers))} is used exactly once, and no other.",
            "Only + - * / and parentheses occur.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        return [*_list_steps(task.data), self.oracle(task)]


def count_ways(cards: tuple[int, ...], target: int) -> int:
    """Count the ways in which four cards make the target, as in `TwentyFour`: the order of sums, products and steps
    does not matter."""
    total, inverse = 0, pow(target, -1, _PRIME)
    for left, right in _split_cards(cards):
        count = _ways_by_residue(right).get
        for residue, reverse, times in _residues_with_counts(left):
            # Count the values on the right that make the target by a sum or difference, then by a product or quotient.
            found = count((target - residue) % _PRIME, 0) + count((residue - target) % _PRIME, 0)
            found += count((residue + target) % _PRIME, 0)
            if residue:
                found += count(target * reverse % _PRIME, 0) + count(residue * target % _PRIME, 0)
                found += count(residue * inverse % _PRIME, 0)
            total += times * found
    return total


def find_last_steps(cards: tuple[int, ...], goal: Ratio) -> list[LastStep]:
    """Return all last steps (left value, operator, right value) by which two to four cards make the goal, each with one
    split of the cards."""
    wanted, inverse = _residue(goal), _residue(_reciprocal(goal))
    steps: dict[tuple[Ratio, str, Ratio], LastStep] = {}
    for left, right in _split_cards(cards):
        values = _ways_by_residue(right)
        for one, residue, reverse in _small_values(left):
            partners = [wanted - residue, residue - wanted, residue + wanted]
            if residue:
                partners += [wanted * reverse, residue * wanted]
                if wanted:
                    partners.append(residue * inverse)
            for place, partner in enumerate(partners):
                if partner % _PRIME in values:
                    other, operator, swapped = _find_partner(one, goal, place)
                    a, b = (other, one) if swapped else (one, other)
                    if (a, operator, b) not in steps and not (operator in "+*" and (b, operator, a) in steps):
                        steps[a, operator, b] = (a, operator, b, *((right, left) if swapped else (left, right)))
    return list(steps.values())


def _split_cards(cards: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the ways to split cards into two parts, the first part having at most two of at most four cards."""
    return [
        (tuple([cards[place] for place in places]), tuple([c for place, c in enumerate(cards) if place not in places]))
        for places in _PLACES[len(cards)]
    ]


# A split into two pairs is listed once, with the first card in the first pair.
_PLACES = {2: [(0,)], 3: [(0,), (1,), (2,)], 4: [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3)]}


def _residue(value: Ratio) -> int:
    return value[0] * pow(value[1], -1, _PRIME) % _PRIME if value[1] else 0


def _reciprocal(value: Ratio) -> Ratio:
    """Return the reciprocal; 1/0, whose residue is 0, for zero."""
    return value[1], value[0]


@functools.cache
def _small_values(cards: tuple[int, ...]) -> list[tuple[Ratio, int, int]]:
    """Return (value, residue of the value, residue of its reciprocal) for all values that one or two cards can make.
    The reciprocal of 0 has the residue 0."""
    return [(value, _residue(value), _residue(_reciprocal(value))) for value in sorted(_ways_by_value(cards))]


@functools.cache
def _ways_by_residue(cards: tuple[int, ...]) -> dict[int, int]:
    """Return residue of a value -> number of ways in which one to three cards make the value."""
    return {_residue(value): times for value, times in _ways_by_value(cards).items()}


@functools.cache
def _residues_with_counts(cards: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (residue of the value, residue of its reciprocal, number of ways) for all values that one or two cards can
    make."""
    return [(_residue(value), _residue(_reciprocal(value)), times) for value, times in _ways_by_value(cards).items()]


def _ways_by_value(cards: tuple[int, ...]) -> dict[Ratio, int]:
    """Return value -> number of ways in which one to three cards make the value."""
    if len(cards) == 1:
        return {(cards[0], 1): 1}
    ways: dict[Ratio, int] = {}
    for left, right in _split_cards(cards):
        for one, times in _ways_by_value(left).items():
            for other, more in _ways_by_value(right).items():
                for value, _, _ in _possible_results(one, other):
                    ways[value] = ways.get(value, 0) + times * more
    return ways


def _ratio(numerator: int, denominator: int) -> Ratio:
    divisor = gcd(numerator, denominator) * (1 if denominator > 0 else -1)
    return numerator // divisor, denominator // divisor


def _possible_results(one: Ratio, other: Ratio) -> Iterator[tuple[Ratio, str, bool]]:
    """Yield (result, operator, swapped) for all operations on two numbers; ``swapped`` is True if ``other`` is the left
    operand."""
    (a, b), (c, d) = one, other
    yield _ratio(a * d + c * b, b * d), "+", False
    yield _ratio(a * c, b * d), "*", False
    yield _ratio(a * d - c * b, b * d), "-", False
    yield _ratio(c * b - a * d, b * d), "-", True
    if c:
        yield _ratio(a * d, b * c), "/", False
    if a:
        yield _ratio(c * b, d * a), "/", True


def _find_partner(one: Ratio, goal: Ratio, place: int) -> tuple[Ratio, str, bool]:
    """Return (number, operator, swapped) such that ``one`` and the number make the goal; ``swapped`` is True if the
    number is the left operand. ``place`` is the index of the operation among the partners of `find_last_steps`."""
    (a, b), (c, d) = one, goal
    match place:
        case 0:
            return _ratio(c * b - a * d, b * d), "+", False
        case 1:
            return _ratio(a * d - c * b, b * d), "-", False
        case 2:
            return _ratio(a * d + c * b, b * d), "-", True
        case 3:
            return _ratio(c * b, d * a), "*", False
        case 4:
            return _ratio(a * c, b * d), "/", True
        case _:
            return _ratio(a * d, b * c), "/", False


def _find_last_step(value: Ratio, cards: tuple[int, ...]) -> LastStep | None:
    """Return one last step that makes a value from several cards; None if there is only one card."""
    return find_last_steps(cards, value)[0] if len(cards) > 1 else None


def _format_last_step(last: LastStep) -> tuple[str, int]:
    """Return (the whole expression that ends with a last step, precedence of the step's operator)."""
    one, operator, other, left, right = last
    rank = _RANK[operator]
    parts = []
    for value, cards, strict in ((one, left, False), (other, right, operator in "-/")):
        below = _find_last_step(value, cards)
        text, inner = _format_last_step(below) if below else (str(cards[0]), _RANK[""])
        parts.append(text if inner > rank or (inner == rank and not strict) else f"({text})")
    return f"{parts[0]} {operator} {parts[1]}", rank


def _list_steps(last: LastStep) -> list[str]:
    """Return all steps of the expression that ends with a last step, a line per step, innermost first: ``8 / 3 =
    8/3``."""
    one, operator, other, left, right = last
    lines = []
    for value, cards in ((one, left), (other, right)):
        below = _find_last_step(value, cards)
        lines += _list_steps(below) if below else []
    result = next(value for value, name, swapped in _possible_results(one, other) if name == operator and not swapped)
    return [*lines, f"{_format_ratio(one)} {operator} {_format_ratio(other)} = {_format_ratio(result, bare=True)}"]


def _format_ratio(value: Ratio, bare: bool = False) -> str:
    text = str(value[0]) if value[1] == 1 else f"{value[0]}/{value[1]}"
    return text if bare or text.isdigit() else f"({text})"


def _count_steps(numbers: list[Ratio], goal: Ratio) -> tuple[int, int]:
    """Count the steps of a full depth-first search, each of which replaces two numbers by one, and its solutions.

    Returns:
        (number of steps, number of last steps whose result is the goal).
    """
    steps = wins = 0
    for i in range(len(numbers)):
        for j in range(i):
            rest = [number for place, number in enumerate(numbers) if place not in (i, j)]
            for value, _, _ in _possible_results(numbers[i], numbers[j]):
                below, won = _count_steps([*rest, value], goal) if rest else (0, int(value == goal))
                steps += 1 + below
                wins += won
    return steps, wins


register("palaestra/TwentyFour-v0", f"{__name__}:TwentyFour")
