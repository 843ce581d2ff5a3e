"""palaestra/Inequality-v0: the solutions of an inequality as intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .polynomials import format_polynomial, multiply_all, nonzero_integer
from .symbolic_answers import UnreadableAnswer, parse_answer

MAX_ENDS = 20
# A point in braces, as the question writes it; in LaTeX, braces would only group.
_POINT = re.compile(r"(^|[U\u222a] ?|cup ?)\{([-+0-9./, ]+)\}")
_SIGNS = ("<", "<=", ">", ">=")

# An inequality, reduced to the sign of a product: its text, the roots with their multiplicities (negative if the root
# is not in the domain), the sign above all roots, the comparison with 0, and the worked solution up to this comparison.
Posed = tuple[str, dict[Fraction, int], int, str, list[str]]


class Inequality(Question):
    """Solve an inequality in one real unknown.

    Description:
        An inequality with solutions that are not all real numbers. All ends of intervals are rational.

    Parameters:
        kind ("linear", "absolute", "quadratic", "rational", "cubic"): linear on both sides; an absolute value compared
            with a number; a quadratic with different roots; a quotient of linear expressions; a cubic with rational
            roots, perhaps two of them equal.
        size (9 to 20, on request 3 to 200): the largest absolute value of a coefficient, or of a root if the inequality
            is quadratic or cubic.

    Observation:
        Text such as ``Solve x^2 - x - 6 >= 0 for real x. Answer with intervals, such as ...``

    Actions:
        Text with an interval, or a union of intervals and points (``(-oo, -2] U [3, oo)``), or with inequalities
        (``x <= -2 or x >= 3``), read in ``answer_format``.

    Reward:
        1 for exactly the set of solutions, however it is written, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("kind", ("linear", "absolute", "quadratic", "rational", "cubic")),
            IntAxis("size", 9, 20, limits=(3, 200)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        pose, size = _KINDS[params["kind"]], params["size"]
        while True:
            posed = pose(iter(rng.random(8).tolist()), size)
            if posed is not None:
                inequality, roots, sign, comparison, steps = posed
                solution, signs = _solve(roots, sign, comparison)
                if solution not in ("", "(-oo, oo)"):
                    break
        left, between, right = re.split(" (<=?|>=?) ", inequality)
        swapped = f"{right} {between.translate(str.maketrans('<>', '><'))} {left}"
        return Task(
            f"Solve {inequality} for real x. Answer with intervals, such as (-oo, -3/2) U [5, oo), and write a single "
            "point as {2}.",
            solution,
            content=inequality,
            split_key=min(inequality, swapped),
            data=[*steps, *signs],
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        try:
            given = parse_answer(_POINT.sub(r"\1\\{\2\\}", strip_statement(answer, equated=False).replace("$", " ")))
            gold = parse_answer(task.reference)
            ends: set[Fraction] = set()
            _collect_ends(given, ends)
            _collect_ends(gold, ends)
        except UnreadableAnswer as error:
            return Verdict(0.0, False, feedback=str(error)[:300], malformed=True)
        if len(ends) > MAX_ENDS:
            return Verdict(0.0, False, feedback=f"There are more than {MAX_ENDS} ends of intervals.", malformed=True)
        # Two such sets are equal if they agree at all ends and at one point between any two neighbouring ends.
        places = sorted(ends)
        between = [(a + b) / 2 for a, b in pairwise(places)]
        right = all(
            _contains(given, x) == _contains(gold, x) for x in [*places, *between, places[0] - 1, places[-1] + 1]
        )
        return Verdict(float(right), right, feedback="Correct." if right else "These are not the solutions.")

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the question and of the worked solution, in characters."""
        return float(len(episode.content) + sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List a comparison with 0, and the sign of the compared expression in each interval between its roots."""
        return [*task.data, self.oracle(task)]


def _solve(roots: dict[Fraction, int], sign: int, comparison: str) -> tuple[str, list[str]]:
    """Return the set where ``sign`` times the product of ``(x - root)^multiplicity`` compares with 0, and the signs."""
    places = sorted(roots, reverse=True)
    wanted = 1 if ">" in comparison else -1
    # From the right: whether each open interval is in the set, and whether the point at its lower end is.
    inside, points, signs, now = [], [], [], sign
    for i, root in enumerate([*places, None]):
        upper = "oo" if i == 0 else str(places[i - 1])
        inside.append(now == wanted)
        signs.append(f"({'-oo' if root is None else root}, {upper}): {'positive' if now > 0 else 'negative'}")
        if root is not None:
            points.append("=" in comparison and roots[root] > 0)
            now *= -1 if roots[root] % 2 else 1
    parts: list[str] = []
    high = "oo)"
    for i, taken in enumerate(inside):
        low, closed = (places[i], points[i]) if i < len(places) else (None, False)
        joined = closed and i < len(places) and taken and inside[i + 1]
        if taken and not joined:
            parts.append(f"{'[' if closed else '('}{'-oo' if low is None else low}, {high}")
        if closed and not taken and not inside[i + 1]:
            parts.append(f"{{{low}}}")
        if not joined:
            high = f"{low}{']' if closed else ')'}"
    return " U ".join(reversed(parts)), signs[::-1]


def _linear(draws: Iterator[float], size: int) -> Posed | None:
    a, b, c, d = (nonzero_integer(next(draws), size) for _ in range(4))
    comparison = _SIGNS[int(next(draws) * 4)]
    slope = a - c
    if abs(slope) < 2:
        return None
    step = f"{format_polynomial((b - d, slope))} {comparison} 0"
    inequality = f"{format_polynomial((b, a))} {comparison} {format_polynomial((d, c))}"
    return inequality, {Fraction(d - b, slope): 1}, 1 if slope > 0 else -1, comparison, [step]


def _absolute(draws: Iterator[float], size: int) -> Posed | None:
    a, b, c = 2 + int(next(draws) * 4), nonzero_integer(next(draws), size), 1 + int(next(draws) * size)
    comparison = _SIGNS[int(next(draws) * 4)]
    low, high = Fraction(-c - b, a), Fraction(c - b, a)
    left = f"|{format_polynomial((b, a))}|"
    steps = [f"{left} = {c} at x = {low} and x = {high}; the sign is that of {left} - {c}."]
    return f"{left} {comparison} {c}", {low: 1, high: 1}, 1, comparison, steps


def _quadratic(draws: Iterator[float], size: int) -> Posed | None:
    """Make a quadratic with one possibly fractional root, and with some of the terms on the right side."""
    below, sign = 1 + int(next(draws) * 3), 1 if next(draws) < 0.6 else -1
    one, other = Fraction(nonzero_integer(next(draws), size), below), Fraction(nonzero_integer(next(draws), size))
    if one == other:
        return None
    comparison = _SIGNS[int(next(draws) * 4)]
    whole = multiply_all([(-one.numerator, one.denominator), (-other.numerator, 1), (sign,)])
    slope, constant = nonzero_integer(next(draws), size), nonzero_integer(next(draws), size)
    left = (whole[0] + constant, whole[1] + slope, whole[2])
    steps = [f"{format_polynomial(whole)} {comparison} 0", f"The roots are {min(one, other)} and {max(one, other)}."]
    return (
        f"{format_polynomial(left)} {comparison} {format_polynomial((constant, slope))}",
        {one: 1, other: 1},
        sign,
        comparison,
        steps,
    )


def _rational(draws: Iterator[float], size: int) -> Posed | None:
    """Make a quotient of linear expressions, compared with a whole number."""
    a, b, c, d = (
        nonzero_integer(next(draws), 5),
        nonzero_integer(next(draws), size),
        nonzero_integer(next(draws), 5),
        nonzero_integer(next(draws), size),
    )
    right = int(next(draws) * 9) - 4
    comparison = _SIGNS[int(next(draws) * 4)]
    # (a x + b) / (c x + d) - right
    slope, constant = a - right * c, b - right * d
    if not slope or a * d == b * c or c == d == 1:
        return None
    root, pole = Fraction(-constant, slope), Fraction(-d, c)
    if root == pole:
        return None
    sign = 1 if slope * c > 0 else -1
    steps = [f"({format_polynomial((constant, slope))})/({format_polynomial((d, c))}) {comparison} 0"] if right else []
    steps.append(f"The numerator is 0 at {root}, the denominator at {pole}.")
    return (
        f"({format_polynomial((b, a))})/({format_polynomial((d, c))}) {comparison} {right}",
        {root: 1, pole: -1},
        sign,
        comparison,
        steps,
    )


def _cubic(draws: Iterator[float], size: int) -> Posed | None:
    """Make an expanded product of three linear factors, two of which may be equal."""
    below, sign = 1 + int(next(draws) * 2), 1 if next(draws) < 0.6 else -1
    found = [Fraction(nonzero_integer(next(draws), size), below), Fraction(nonzero_integer(next(draws), size))]
    found.append(found[1] if next(draws) < 0.4 else Fraction(nonzero_integer(next(draws), size)))
    comparison = _SIGNS[int(next(draws) * 4)]
    roots: dict[Fraction, int] = {}
    for root in found:
        roots[root] = roots.get(root, 0) + 1
    if len(roots) == 1:
        return None
    whole = multiply_all([*((-root.numerator, root.denominator) for root in found), (sign,)])
    named = [f"{root}{' (twice)' if times == 2 else ''}" for root, times in sorted(roots.items())]
    return f"{format_polynomial(whole)} {comparison} 0", roots, sign, comparison, [f"The roots are {', '.join(named)}."]


# Answers as parsed by the grammar: the ends of their intervals, and membership of numbers.


def _collect_ends(value: Any, ends: set[Fraction]) -> None:
    """Add all finite ends in a set or statement to ``ends``.

    Raises:
        UnreadableAnswer: the value is no interval, set of numbers or statement about x, and no combination of these.
    """
    kind = getattr(value, "kind", None)
    sides = getattr(value, "sides", ())
    if (kind in _INTERVALS and len(value.items) == 2) or kind == "{}":
        bounds = list(map(_read_bound, value.items))
    elif kind in _JOINTS:
        bounds = []
        for item in value.items:
            _collect_ends(item, ends)
    elif sides and value.operators == ("∈",) and _is_x(sides[0]):
        bounds = []
        _collect_ends(sides[1], ends)
    elif any(map(_is_x, sides)) and not set(value.operators) - set(_COMPARED):
        bounds = [_read_bound(side) for side in sides if not _is_x(side)]
    else:
        raise UnreadableAnswer("The answer must consist of intervals, such as (-oo, -3/2) U [5, oo).")
    ends.update(bound for bound in bounds if isinstance(bound, Fraction))


def _contains(value: Any, x: Fraction) -> bool:
    """Return True if ``x`` belongs to a set, or satisfies a statement, that `_collect_ends` has accepted."""
    kind = getattr(value, "kind", None)
    if kind in _INTERVALS:
        low, high = map(_read_bound, value.items)
        above = low <= x if kind[0] == "[" else low < x
        return above and (x <= high if kind[1] == "]" else x < high)
    if kind == "{}":
        return any(_read_bound(item) == x for item in value.items)
    if kind in _JOINTS:
        return _JOINTS[kind](_contains(item, x) for item in value.items)
    if value.operators == ("∈",):
        return _contains(value.sides[1], x)
    numbers = [x if _is_x(side) else _read_bound(side) for side in value.sides]
    return all(_COMPARED[o](a, b) for o, a, b in zip(value.operators, numbers, numbers[1:]))


def _is_x(value: Any) -> bool:
    return getattr(value, "name", None) == "x"


def _read_bound(value: Any) -> Fraction | float:
    """Return the end of an interval, a rational number or an infinity. Raise UnreadableAnswer for anything else."""
    sign = 1
    if getattr(value, "op", None) == "*" and len(value.args) == 2 and getattr(value.args[0], "value", 0) == -1:
        sign, value = -1, value.args[1]
    if getattr(value, "op", None) == "oo":
        return sign * math.inf
    if type(value).__name__ != "Num":
        raise UnreadableAnswer("The ends of intervals must be numbers, such as -3/2.")
    return Fraction(sign * value.value)


_INTERVALS = frozenset(("()", "(]", "[)", "[]"))
_JOINTS: dict[str, Callable[..., bool]] = {"∪": any, "or": any, "∩": all, "and": all}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "≠": lambda a, b: a != b,
}
_KINDS = {"linear": _linear, "absolute": _absolute, "quadratic": _quadratic, "rational": _rational, "cubic": _cubic}

register("palaestra/Inequality-v0", f"{__name__}:Inequality")
