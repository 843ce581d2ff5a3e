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
        count (2 to 6, on request up to 12): number of given numbers.
        largest (10 to 100, log-spaced, on request 5 to 10000): the largest number that may be given; the target is at
            most ten times ``largest``.

    Observation:
        Text such as ``Make 60 from 3, 5, 25. Use + - * / ( ), each number at most once.`` and the form of the answer.

    Actions:
        Text with one expression over the given numbers, ``(25 - 5) * 3``, read in ``answer_format``.

    Reward:
        1 for an expression that equals the target exactly, 0 otherwise. In the easiest tasks, which have two numbers,
        the sum of both is the target in 0.37 of the cases by chance. A player who joins two numbers at a time, always
        to the result nearest to the target, wins all of the easiest tasks and few of the hardest.

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
        """Return the expression of a player who joins two numbers at a time, always to the result nearest to the
        target."""
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
        """Return a line for each operation with its result, then the expression."""
        expression = self.oracle(task)
        lines: list[str] = []
        _work_out(ast.parse(expression, mode="eval").body, lines)
        return [*lines, expression]


def _work_out(node: ast.expr, lines: list[str]) -> int:
    """Append the operations of an expression by `_combine` to ``lines``, innermost first: ``25 - 5 = 20``. Return the
    value of the expression."""
    if not isinstance(node, ast.BinOp):
        return int(ast.unparse(node))
    a, b = _work_out(node.left, lines), _work_out(node.right, lines)
    operator, apply = _OPERATIONS[type(node.op)]
    value = apply(a, b)
    lines.append(f"{a} {operator} {b} = {value}")
    return value


def _combine(numbers: list[int], most: int, draws: list[float]) -> tuple[int, str]:
    """Return (value, expression over all ``numbers``), made by joining two random numbers at a time.

    The value and every partial result are whole numbers from 1 to ``most``.
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
    """Return (result, operator) for all operations on ``a`` and ``b``, where ``a`` >= ``b``, whose result is a whole
    number from 1 to ``most``."""
    return [
        *([(a + b, "+")] if a + b <= most else []),
        *([(a - b, "-")] if a > b else []),
        # Skip multiplication and division by one, which change nothing.
        *([(a * b, "*")] if b > 1 and a * b <= most else []),
        *([(a // b, "/")] if b > 1 and a % b == 0 else []),
    ]


def _format_operand(part: tuple[int, str, int], operator: str, right: bool = False) -> str:
    """Return ``part`` (value, text, precedence) as an operand of ``operator``, in parentheses if needed."""
    rank = _RANK[operator]
    bare = part[2] > rank or (part[2] == rank and not (right and operator in "-/"))
    return part[1] if bare else f"({part[1]})"


register("palaestra/Countdown-v0", f"{__name__}:Countdown")
