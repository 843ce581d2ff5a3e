"""Coordinate geometry: each answer has the property that the question asks for."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

import pytest
from palaestra.envs.math.coordinate_geometry import CoordinateGeometry, _order_corners
from palaestra.envs.question import Task

Point = tuple[Fraction, Fraction]


def tasks(kind: str) -> list[tuple[list[Point], list[Fraction], Task]]:
    """For many tasks of a kind: the points of the question, the answer, the task."""
    found = []
    for size in (10, 40):
        env = CoordinateGeometry(kind=kind, size=size)
        for seed in range(40):
            prompt, _ = env.reset(seed=seed)
            points = [(Fraction(x), Fraction(y)) for x, y in re.findall(r"\((-?\d+), (-?\d+)\)", prompt)]
            assert max(max(abs(x), abs(y)) for x, y in points) <= size
            assert len(set(points)) == len(points)
            found.append((points, list(map(Fraction, env.here().reference)), env.here()))
    return found


def cross(p: Point, q: Point, r: Point) -> Fraction:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def square(p: Point, q: Point) -> Fraction:
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2


def test_distances():
    for points, (answer,), _ in tasks("distance"):
        (a, b), (c, d) = points
        assert a != c
        assert b != d
        assert answer == square(*points)


def test_midpoints_lie_on_the_segment_as_far_from_both_ends():
    for (p, q), (x, y), _ in tasks("midpoint"):
        assert cross(p, q, (x, y)) == 0
        assert square(p, (x, y)) == square(q, (x, y)) == square(p, q) / 4


def test_intersections_lie_on_both_lines_which_are_not_parallel():
    for (p, q, r, s), (x, y), _ in tasks("intersection"):
        assert cross(p, q, (x, y)) == cross(r, s, (x, y)) == 0
        assert (q[0] - p[0]) * (s[1] - r[1]) != (q[1] - p[1]) * (s[0] - r[0])
        assert (x, y) not in (p, q, r, s)


def test_centres_are_as_far_from_all_three_points():
    for (p, q, r), (x, y), _ in tasks("circle"):
        assert square(p, (x, y)) == square(q, (x, y)) == square(r, (x, y))
        assert cross(p, q, r)


def crossing(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two segments have a point in common."""
    sides = [cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)]
    if sides[0] * sides[1] < 0 and sides[2] * sides[3] < 0:
        return True
    ends = [(a, b, c), (a, b, d), (c, d, a), (c, d, b)]
    return any(
        side == 0 and min(p[0], q[0]) <= r[0] <= max(p[0], q[0]) and min(p[1], q[1]) <= r[1] <= max(p[1], q[1])
        for side, (p, q, r) in zip(sides, ends)
    )


def area_by_strips(corners: list[Point]) -> Fraction:
    """Between each two neighbouring x of corners, the polygon is made of trapezia, whose middles are added up."""
    xs = sorted({x for x, _ in corners})
    edges = list(zip(corners, [*corners[1:], corners[0]]))
    total = Fraction(0)
    for left, right in pairwise(xs):
        middle = (left + right) / 2
        heights = sorted(
            p[1] + (q[1] - p[1]) * (middle - p[0]) / (q[0] - p[0])
            for p, q in edges
            if min(p[0], q[0]) < middle < max(p[0], q[0])
        )
        assert len(heights) % 2 == 0
        total += (right - left) * sum(high - low for low, high in zip(heights[::2], heights[1::2]))
    return total


def test_polygons_do_not_cross_themselves_and_have_the_area_of_their_strips():
    counts = set()
    for corners, (answer,), _ in tasks("area"):
        n = len(corners)
        counts.add(n)
        edges = list(zip(corners, [*corners[1:], corners[0]]))
        for i in range(n):
            for j in range(i + 2, n if i else n - 1):
                assert not crossing(*edges[i], *edges[j]), corners
        assert answer == area_by_strips(corners) > 0
    assert counts == {4, 5, 6, 7}


def test_points_in_one_direction_from_the_centre_are_refused():
    assert _order_corners([(0, 0), (4, 0), (4, 4), (0, 4)]) is None  # opposite corners lie on a line through the centre
    around = _order_corners([(0, 0), (5, 1), (1, 5), (6, 7)])
    assert around is not None
    assert sorted(around) == [(0, 0), (1, 5), (5, 1), (6, 7)]


@pytest.mark.parametrize("kind", CoordinateGeometry.param_space["kind"].choices)
def test_steps_are_equations_that_hold_and_end_in_the_answer(kind: str):
    env = CoordinateGeometry()
    for _, answer, task in tasks(kind)[:20]:
        *steps, last = env.solution_steps(task)
        assert last == env.oracle(task)
        assert all(str(number) in steps[-1] for number in answer)
        names = dict(zip("xy", answer)) if len(answer) == 2 else {}
        for equation in re.split(", so |, ", ", ".join(steps)):
            assert re.fullmatch(r"[-+*/^() =0-9xy]+", equation), equation
            exact = re.sub(r"(\d+)", r"F(\1)", equation).replace(")x", ")*x").replace(")y", ")*y").replace("^", "**")
            sides = [eval(side, {"F": Fraction, **names}) for side in exact.split(" = ")]
            assert len(sides) >= 2
            assert len(set(sides)) == 1, equation


def test_exact_numbers_and_points_in_any_usual_form():
    env = CoordinateGeometry()
    number, point = Task("", ["17/2"]), Task("", ["-3/2", "4"])
    for answer in ("17/2", "8.5", " 34/4 ", "+8.50", "A = 17/2", "The area is $\\frac{17}{2}$."):
        assert env.verify(number, answer).score == 1, answer
    for answer in ("8", "9", "-17/2", "17/2 square units", "(17/2, 0)", "17/2, 17/2", "9**9**9", "", "sqrt(2)"):
        assert env.verify(number, answer).score == 0, answer
    for answer in ("(-3/2, 4)", "-1.5, 4", "[-3/2, 4.0]", "( -6/4 , 8/2 )"):
        assert env.verify(point, answer).score == 1, answer
    for answer in (
        *("x = -3/2, y = 4", "y = 4, x = -3/2", "(x, y) = (-3/2, 4)", "M = (-3/2, 4)", "**(-1.5, 4)**."),
        *(r"\left(-\frac{3}{2}, 4\right)", "The midpoint is $(-3/2, 4)$.", "x = \u22123/2 and y = 4"),
    ):
        assert env.verify(point, answer).score == 1, answer
    for answer in ("-3/2", "(-3/2, 4, 0)", "x = -3/2, x = 4", "a = -3/2, b = 4", "(x, y)", "x = -3/2, 4", ""):
        verdict = env.verify(point, answer)
        assert verdict.malformed, answer
        assert "point" in verdict.feedback
    assert not env.verify(point, "x = 4, y = -3/2").malformed
    for answer in ("(4, -3/2)", "(3/2, 4)", "-3/2", "(-3/2, 4, 0)", "(-1, 4)", "-3/2 4", "", "(x, y)", "9**9**9, 1"):
        assert env.verify(point, answer).score == 0, answer
