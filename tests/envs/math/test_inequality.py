"""Inequalities: the set of solutions against the inequality itself at many points, and answers judged as sets."""

from __future__ import annotations

import operator
import re
from fractions import Fraction

import pytest
from palaestra.envs.math.inequality import Inequality, _contains, _solve
from palaestra.envs.math.symbolic_answers import parse_answer
from palaestra.envs.question import Task

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def value(formula: str, x: Fraction) -> Fraction | None:
    """The value of one side; None where it divides by zero. The pattern vets what is evaluated."""
    assert re.fullmatch(r"[-+/^()| 0-9x]+", formula), formula
    formula = re.sub(r"\|(.+)\|", r"abs(\1)", formula)
    formula = re.sub(r"(?<=\d)x", "*x", formula).replace("^", "**")
    formula = re.sub(r"(?<![\d*])(\d+)(?!\d)", r"F(\1)", formula).replace("**F(", "**int(")
    try:
        return Fraction(eval(formula, {"F": Fraction, "abs": abs, "int": int}, {"x": x}))
    except ZeroDivisionError:
        return None


def truth(inequality: str, x: Fraction) -> bool:
    left, comparison, right = re.split(r" (<=?|>=?) ", inequality)
    a, b = value(left, x), value(right, x)
    return a is not None and b is not None and COMPARED[comparison](a, b)


def ends(solution: str) -> list[Fraction]:
    return sorted(map(Fraction, re.findall(r"-?\d+(?:/\d+)?", solution)))


@pytest.mark.parametrize("kind", Inequality.param_space["kind"].choices)
def test_the_set_is_where_the_inequality_is_true(kind: str):
    env = Inequality(kind=kind)
    seen = set()
    for seed in range(40):
        prompt, _ = env.reset(seed=seed)
        inequality = prompt.removeprefix("Solve ").split(" for real x")[0]
        solution = env.oracle(env.here())
        places = ends(solution)
        assert places
        gold = parse_answer(solution)
        nearby = [place + step for place in places for step in (0, Fraction(1, 1000), Fraction(-1, 1000))]
        for x in [*nearby, *map(Fraction, range(-60, 61, 3)), Fraction(1, 7), Fraction(10**6), Fraction(-(10**6))]:
            assert truth(inequality, x) == _contains(gold, x), (inequality, solution, x)
        # At each end, and at no other place, does the truth change: the ends are those of the set.
        for place in places:
            around = {truth(inequality, place + step) for step in (0, Fraction(1, 10**9), Fraction(-1, 10**9))}
            assert around == {True, False}
        seen.add(re.sub(r"-?\d+(/\d+)?", "a", solution))
    assert len(seen) >= 4


@pytest.mark.parametrize(
    ("roots", "sign", "comparison", "solution"),
    [
        ({3: 1}, 1, "<", "(-oo, 3)"),
        ({3: 1}, -1, ">=", "(-oo, 3]"),
        ({-2: 1, 3: 1}, 1, ">=", "(-oo, -2] U [3, oo)"),
        ({-2: 1, 3: 1}, 1, "<", "(-2, 3)"),
        ({-2: -1, 3: 1}, 1, "<=", "(-2, 3]"),
        ({-2: 2, 3: 1}, 1, "<=", "(-oo, 3]"),
        ({-2: 2, 3: 1}, 1, "<", "(-oo, -2) U (-2, 3)"),
        ({-2: 2, 3: 1}, 1, ">=", "{-2} U [3, oo)"),
        ({-2: 2, 3: 1}, 1, ">", "(3, oo)"),
        ({-2: 1, 3: 2}, -1, ">=", "(-oo, -2] U {3}"),
        ({2: 2}, 1, "<=", "{2}"),
        ({2: 2}, 1, "<", ""),
        ({2: 2}, 1, ">=", "(-oo, oo)"),
        ({1: 1, 2: 1, 3: 1}, 1, ">", "(1, 2) U (3, oo)"),
    ],
)
def test_sets_by_hand(roots: dict[int, int], sign: int, comparison: str, solution: str):
    exact = {Fraction(root): times for root, times in roots.items()}
    assert _solve(exact, sign, comparison)[0] == solution


def test_signs_between_the_roots_are_true():
    env = Inequality(kind="cubic")
    for seed in range(20):
        prompt, _ = env.reset(seed=seed)
        polynomial = re.split(" [<>]", prompt.removeprefix("Solve "))[0]
        *steps, _ = env.solution_steps(env.here())
        signs = [re.fullmatch(r"\((.+), (.+)\): (positive|negative)", step) for step in steps]
        assert sum(sign is not None for sign in signs) >= 3
        for sign in filter(None, signs):
            low = Fraction(-1000) if sign[1] == "-oo" else Fraction(sign[1])
            high = Fraction(1000) if sign[2] == "oo" else Fraction(sign[2])
            found = value(polynomial, (low + high) / 2)
            assert found is not None
            assert (found > 0) == (sign[3] == "positive")


def test_a_set_may_be_written_in_any_way():
    env = Inequality()
    task = Task("", "(-oo, -2] U {1} U [3, oo)")
    for answer in [
        "(-oo, -2] U {1} U [3, oo)",
        "[3, oo) U (-oo, -2] U {1}",
        "x <= -2 or x = 1 or x >= 3",
        "-2 >= x or 3 <= x or x = 2/2",
        "x ∈ (-oo, -2] ∪ {1} ∪ [3, oo)",
        "(-oo, -2] U [1, 1] U [3, 5] U (4, oo)",
        "$(-\\infty, -2] \\cup \\{1\\} \\cup [3, \\infty)$",
        "(-oo, -6/2) U [-3, -2] U {1, 3} U (3, inf)",
        r"\left(-\infty, -2\right] \cup {1} \cup \left[\frac{6}{2}, \infty\right)",
        r"{1} U (-\infty, -2] U [3, \infty)",
        r"$x \le -2$ or $x = 1$ or $x \ge 3$",
        "The solution is (-oo, -2] U {1} U [3, oo).",
        "**Answer:** x <= -2 or x = 1 or x >= 3",
    ]:
        assert env.verify(task, answer).score == 1, answer
    for answer in [
        *("(-oo, -2) U {1} U [3, oo)", "(-oo, -2] U [3, oo)", "(-oo, -2] U {1} U (3, oo)", "(-oo, -2] U {1}"),
        *("x <= -2 and x = 1 and x >= 3", "x <= -2", "[-2, 3]", "(-oo, oo)", "{}", "(-oo, -2] U [1, 3]", "x = 1"),
        *("(-2, -oo] U {1} U [3, oo)", "(-oo, -1.99] U {1} U [3, oo)", "x != 2", "x >= x", "x > 10^100"),
    ]:
        assert env.verify(task, answer).score == 0, answer
    malformed = ["", "x", "3", "(1", "y <= 2", "(-oo, sqrt(2))", "(a, b)", "1 < 2", "(x - 1)(x - 3) >= 0", "x^2 >= 4"]
    malformed += ["9**9**9", "(" * 3000, "(0, 9**9**9)", "all x", " U ".join(f"({k}, {k + 1})" for k in range(200))]
    for answer in malformed:
        verdict = env.verify(task, answer)
        assert verdict.score == 0, answer
        assert verdict.malformed, answer


def test_the_inequality_itself_is_no_answer():
    env = Inequality()
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(15):
            prompt, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            inequality = prompt.removeprefix("Solve ").split(" for real x")[0]
            first = env.solution_steps(env.here())[0]
            for answer in (inequality, first, prompt):
                assert env.verify(env.here(), answer).score == 0, answer
