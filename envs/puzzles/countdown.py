"""palaestra/Countdown-v0: combine given numbers, each used at most once, into a target."""

from __future__ import annotations

import ast
import operator as op
from collections.abc import Callable
from typing import Any

import numpy as np

from ...rewards import Verdict, verify
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .arithmetic_notation import normalise_expression

_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}
# The solution's quotients are whole.
_OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("+", op.add),
    ast.Sub: ("-", op.sub),
    ast.Mult: ("*", op.mul),
    ast.Div: ("/", op.floordiv),
}


class Countdown(Question):
    """Combine given numbers into a target.

    Description:
        The target is the value of a random expression over all the given numbers, so there is always a solution; there
        may be others. No given number is the target itself.

    Parameters:
        count (2 to 6; open from 2 to 12): how many numbers are given.
        largest (10 to 100, log-spaced; open from 5 to 10000): the largest number that may be given; the target is at
            most ten times that.

    Observation:
        Text such as ``Make 60 from 3, 5, 25. Use + - * / ( ), each number at most once.`` and the form of the answer.

    Actions:
        Text with one expression over the given numbers, ``(25 - 5) * 3``, read in ``answer_format``.

    Reward:
        1 for an expression that equals the target exactly, 0 otherwise. Of the easiest targets, which two numbers make,
        0.37 are their sum, so that a plus between the numbers is right by chance. A player who joins two numbers at a
        time, always to what comes nearest to the target, wins all of these and few of the hardest.

    Termination:
        After the first answer.

    Source:
        The numbers round of the television game Countdown (Des chiffres et des lettres).
    """

    param_space = ParamSpace(
        [IntAxis("count", 2, 6, limits=(2, 12)), IntAxis("largest", 10, 100, log=True, limits=(5, 10_000))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count, largest = params["count"], params["largest"]
        while True:
            numbers = sorted(1 + int(u * largest) for u in rng.random(count).tolist())
            target, expression = _combine(numbers, 10 * largest, rng.random(3 * count).tolist())
            if target not in numbers:
                break
        given = ", ".join(map(str, numbers))
        return Task(
            f"Make {target} from {given}. Use + - * / ( ), each number at most once. Answer with the expression alone.",
            {"numbers": numbers, "target": target},
            solution=expression,
            content=f"{target} from {given}",
        )

    def heuristic_action(self, episode: Task) -> str:
        """Join two numbers at a time, always to the result nearest to the target, until it is reached."""
        target = episode.reference["target"]
        pool = [(number, str(number), 3) for number in episode.reference["numbers"]]
        best = min(pool, key=lambda part: abs(part[0] - target))
        while len(pool) > 1 and best[0] != target:
            joins = [
                (value, operator, a, b)
                for i, one in enumerate(pool)
                for other in pool[:i]
                for a, b in [(one, other) if one[0] >= other[0] else (other, one)]
                for value, operator in _possible_joins(a[0], b[0], 10 * target)
            ]
            if not joins:
                break
            value, operator, a, b = min(joins, key=lambda join: abs(join[0] - target))
            best = (
                value,
                f"{_format_operand(a, operator)} {operator} {_format_operand(b, operator, True)}",
                _RANK[operator],
            )
            pool.remove(a)
            pool.remove(b)
            pool.append(best)
        return best[1]

    def verify(self, task: Task, answer: str) -> Verdict:
        return verify("countdown", normalise_expression(answer, task.reference["target"]), task.reference)

    def criteria(self, task: Task) -> list[str]:
        numbers, target = task.reference["numbers"], task.reference["target"]
        return [
            f"The value of the expression is {target}.",
            f"No other numbers than {', '.join(map(str, numbers))} occur, each at most once.",
            "Only + - * / and parentheses occur.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """Each join with its result, then the expression."""
        expression = self.oracle(task)
        lines: list[str] = []
        _work_out(ast.parse(expression, mode="eval").body, lines)
        return [*lines, expression]


def _work_out(node: ast.expr, lines: list[str]) -> int:
    """Add the joins of an expression made here to ``lines``, innermost first: ``25 - 5 = 20``. Return its value."""
    if not isinstance(node, ast.BinOp):
        return int(ast.unparse(node))
    a, b = _work_out(node.left, lines), _work_out(node.right, lines)
    operator, apply = _OPERATIONS[type(node.op)]
    value = apply(a, b)
    lines.append(f"{a} {operator} {b} = {value}")
    return value


def _combine(numbers: list[int], most: int, draws: list[float]) -> tuple[int, str]:
    """Return a value from 1 to ``most`` and an expression for it over all ``numbers``, made by joining two at a time.

    Every partial result is a positive whole number of at most ``most``, as in the television game.
    """
    pool = [(number, str(number), 3) for number in numbers]
    draw = iter(draws)
    while len(pool) > 1:
        a = pool.pop(int(next(draw) * len(pool)))
        b = pool.pop(int(next(draw) * len(pool)))
        if a[0] < b[0]:
            a, b = b, a
        options = _possible_joins(a[0], b[0], most)
        # Never empty: unequal values can be subtracted, equal ones divided, and 1 + 1 is within any limit.
        value, operator = options[int(next(draw) * len(options))]
        pool.append(
            (value, f"{_format_operand(a, operator)} {operator} {_format_operand(b, operator, True)}", _RANK[operator])
        )
    value, expression, _ = pool[0]
    return value, expression


def _possible_joins(a: int, b: int, most: int) -> list[tuple[int, str]]:
    """Return the results of joining two numbers, the larger one first, with the operators."""
    return [
        *([(a + b, "+")] if a + b <= most else []),
        *([(a - b, "-")] if a > b else []),
        # Skip multiplication and division by one, which change nothing.
        *([(a * b, "*")] if b > 1 and a * b <= most else []),
        *([(a // b, "/")] if b > 1 and a % b == 0 else []),
    ]


def _format_operand(part: tuple[int, str, int], operator: str, right: bool = False) -> str:
    """Write ``part`` as an operand of ``operator``, in parentheses where precedence requires them."""
    rank = _RANK[operator]
    bare = part[2] > rank or (part[2] == rank and not (right and operator in "-/"))
    return part[1] if bare else f"({part[1]})"


register("palaestra/Countdown-v0", f"{__name__}:Countdown")
