"""palaestra/CoordinateGeometry-v0: distances, midpoints, crossing lines, areas and centres of circles, all exact."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected, verify_reading
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .answer_spelling import extract_numbers_in_order

Point = tuple[int, int]
# The question, its answer as one number or two, and the worked solution.
Posed = tuple[str, list[Fraction], list[str]]
# Kinds of questions in which the order of the points does not matter, with the number of points; for two lines, neither
# the order within a pair nor that of the pairs matters.
_UNORDERED = {"distance": 2, "midpoint": 2, "intersection": 4, "circle": 3}


class CoordinateGeometry(Question):
    """Answer a question on points with whole coordinates in the plane.

    Description:
        The square of a distance; a midpoint; the point where two lines meet; the area of a polygon without crossings
        and with four to seven corners, given in order; the centre of the circle through three points. There is always
        exactly one answer.

    Parameters:
        kind ("distance", "midpoint", "intersection", "area", "circle"): the question.
        size (10 to 40, on request 3 to 1000): the largest absolute value of a coordinate.

    Observation:
        Text such as ``What is the square of the distance between (3, -4) and (10, 2)? Answer with an integer.``

    Actions:
        Text with one exact number (``85``, ``17/2``), or with a point (``(3/2, -4)``), read in ``answer_format``.

    Reward:
        1 for the exact answer, 0 otherwise. The commonest square of a distance, 65, is right by chance in 0.022 of the
        easiest tasks.

    Termination:
        After the first answer.

    Source:
        School geometry; generated here.
    """

    answer_form = "values"
    param_space = ParamSpace(
        [
            ChoiceAxis("kind", ("distance", "midpoint", "intersection", "area", "circle")),
            IntAxis("size", 10, 40, limits=(3, 1000)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        pose, size = _KINDS[params["kind"]], params["size"]
        posed = None
        while posed is None:
            draws = iter(rng.random(16).tolist())
            points = [(_draw_coordinate(draws, size), _draw_coordinate(draws, size)) for _ in range(7)]
            posed = pose(points, draws) if len(set(points)) == 7 else None
        question, values, steps = posed
        numbers = list(map(str, values))
        if len(values) == 2:
            form, solution = "the point (x, y), exact", f"({', '.join(numbers)})"
        else:
            form, solution = "an exact number" if params["kind"] == "area" else "an integer", numbers[0]
        return Task(
            f"{question} Answer with {form}.",
            numbers,
            solution=solution,
            content=question,
            split_key=_unordered_key(params["kind"], points),
            data=steps,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        if len(task.reference) == 1:
            return verify_reading("number", answer, task.reference[0])
        point = extract_numbers_in_order(answer, "xy")
        if point is None:
            return rejected("The answer must be a point with two exact numbers, such as (1/2, -3).")
        return CORRECT if point == list(map(Fraction, task.reference)) else WRONG

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the question and of the worked solution, in characters."""
        return float(len(episode.prompt) + sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List the intermediate values of the usual formula, one per line."""
        return [*task.data, self.oracle(task)]


def _unordered_key(kind: str, points: list[Point]) -> str:
    """Return text that is equal for questions on the same points in another order; "" for areas, whose corners are
    always in the same order."""
    if kind not in _UNORDERED:
        return ""
    about = points[: _UNORDERED[kind]]
    if kind == "intersection":
        return f"{kind} {sorted([sorted(about[:2]), sorted(about[2:])])}"
    return f"{kind} {sorted(about)}"


def _draw_coordinate(draws: Iterator[float], size: int) -> int:
    return int(next(draws) * (2 * size + 1)) - size


def _distance(points: list[Point], draws: Iterator[float]) -> Posed | None:
    (a, b), (c, d) = points[:2]
    if a == c or b == d:
        return None
    square = (c - a) ** 2 + (d - b) ** 2
    question = f"What is the square of the distance between {points[0]} and {points[1]}?"
    return (
        question,
        [Fraction(square)],
        [f"{abs(c - a)}^2 + {abs(d - b)}^2 = {(c - a) ** 2} + {(d - b) ** 2} = {square}"],
    )


def _midpoint(points: list[Point], draws: Iterator[float]) -> Posed | None:
    (a, b), (c, d) = points[:2]
    x, y = Fraction(a + c, 2), Fraction(b + d, 2)
    question = f"What is the midpoint of the segment from {points[0]} to {points[1]}?"
    return question, [x, y], [f"x = ({_format_sum(a, c)}) / 2 = {x}, y = ({_format_sum(b, d)}) / 2 = {y}"]


def _intersection(points: list[Point], draws: Iterator[float]) -> Posed | None:
    p, q, r, s = points[:4]
    lines = [_line_through(p, q), _line_through(r, s)]
    found = _intersect(*lines)
    if found is None or found in [tuple(map(Fraction, point)) for point in points[:4]]:
        return None
    question = f"Where does the line through {p} and {q} meet the line through {r} and {s}?"
    return question, list(found), [*map(_format_line, lines), f"x = {found[0]}, y = {found[1]}"]


def _circle(points: list[Point], draws: Iterator[float]) -> Posed | None:
    p, q, r = points[:3]
    lines = [_bisector(p, q), _bisector(p, r)]
    found = _intersect(*lines)
    if found is None:
        return None
    question = f"What is the centre of the circle through {p}, {q} and {r}?"
    far = [f"(x - ({a}))^2 + (y - ({b}))^2" for a, b in (p, q, r)]
    equal = [f"{far[0]} = {other}, so {_format_line(line)}" for other, line in zip(far[1:], lines)]
    return question, list(found), [*equal, f"x = {found[0]}, y = {found[1]}"]


def _area(points: list[Point], draws: Iterator[float]) -> Posed | None:
    corners = _order_corners(points[: 4 + int(next(draws) * 4)])
    if corners is None:
        return None
    pairs = list(zip(corners, [*corners[1:], corners[0]]))
    terms = [a * d - b * c for (a, b), (c, d) in pairs]
    question = f"What is the area of the polygon with the corners {', '.join(map(str, corners))}, in this order?"
    steps = [f"({a})*({d}) - ({b})*({c}) = {term}" for ((a, b), (c, d)), term in zip(pairs, terms)]
    area = Fraction(sum(terms), 2)
    return question, [area], [*steps, f"{_format_sum(*terms)} = {sum(terms)}", f"{sum(terms)} / 2 = {area}"]


def _order_corners(points: list[Point]) -> list[Point] | None:
    """Order the points as corners of a polygon without crossings, around their centre. Return None if two lie in the
    same or in opposite directions from the centre."""
    n = len(points)
    x, y = sum(p[0] for p in points), sum(p[1] for p in points)
    arms = [(n * p[0] - x, n * p[1] - y) for p in points]
    if any(a[0] * b[1] == a[1] * b[0] for i, a in enumerate(arms) for b in arms[:i]):
        return None

    def turn(a: Point, b: Point) -> int:
        halves = (a < (0, 0)) - (b < (0, 0))
        return halves or b[0] * a[1] - a[0] * b[1]

    arms.sort(key=functools.cmp_to_key(turn))
    return [((a + x) // n, (b + y) // n) for a, b in arms]


# A line as (a, b, c) with a x + b y = c.
Line = tuple[int, int, int]


def _line_through(p: Point, q: Point) -> Line:
    a, b = q[1] - p[1], p[0] - q[0]
    return a, b, a * p[0] + b * p[1]


def _bisector(p: Point, q: Point) -> Line:
    """Return the line of points equally far from ``p`` and ``q``."""
    a, b = 2 * (q[0] - p[0]), 2 * (q[1] - p[1])
    return a, b, q[0] ** 2 + q[1] ** 2 - p[0] ** 2 - p[1] ** 2


def _intersect(one: Line, other: Line) -> tuple[Fraction, Fraction] | None:
    (a, b, c), (d, e, f) = one, other
    below = a * e - b * d
    return (Fraction(c * e - b * f, below), Fraction(a * f - c * d, below)) if below else None


def _format_line(line: Line) -> str:
    return f"({line[0]})x + ({line[1]})y = {line[2]}"


def _format_sum(*terms: int) -> str:
    return str(terms[0]) + "".join(f" {'-' if term < 0 else '+'} {abs(term)}" for term in terms[1:])


_KINDS = {"distance": _distance, "midpoint": _midpoint, "intersection": _intersection, "area": _area, "circle": _circle}

register("palaestra/CoordinateGeometry-v0", f"{__name__}:CoordinateGeometry")
