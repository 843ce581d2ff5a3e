"""Programs as closures. A statement or an expression is translated once, by a function that is found by its kind.

An expression becomes ``run(frame)``, which gives its value, and the steps that this always takes, one for each node:
who runs it charges them beforehand. What is evaluated on a condition, or again and again, charges for itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from .meter import OutOfWork, Uncounted, walk
from .scopes import Scope
from .values import Frame

Run = Callable[[Frame], Any]
Counted = tuple[Run, int]
# How each kind of expression is translated; filled by the modules that know.
EXPRESSIONS: dict[type[ast.AST], Callable[..., Counted]] = {}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.Await: "await is not counted here: use functions without async",
    ast.Yield: "the value of yield is not counted here: use yield as a statement",
    ast.YieldFrom: "the value of yield from is not counted here: use yield from as a statement",
    ast.Starred: "* is not counted here: use a list",
}


def expression(node: ast.expr, scope: Scope) -> Counted:
    translate = EXPRESSIONS.get(type(node))
    if translate is None:
        raise Uncounted(_INSTEAD.get(type(node), f"{type(node).__name__} is not counted here"))
    return translate(node, scope)


def expressions(nodes: Sequence[ast.expr], scope: Scope) -> tuple[list[Run], int]:
    counted = [expression(node, scope) for node in nodes]
    return [run for run, _ in counted], sum([cost for _, cost in counted])


def charging(node: ast.expr, scope: Scope) -> Run:
    """An expression that charges for itself."""
    (run, cost), meter = expression(node, scope), scope.meter

    def charged(frame: Frame) -> Any:
        meter.left -= cost
        if meter.left < 0:
            raise OutOfWork
        return run(frame)

    return charged


def spread(nodes: Sequence[ast.expr], scope: Scope) -> tuple[Callable[[Frame], list[Any]], int]:
    """Values in a row, of which those with a star stand for several."""
    if not any([isinstance(node, ast.Starred) for node in nodes]):
        runs, cost = expressions(nodes, scope)
        return lambda frame: [run(frame) for run in runs], cost
    meter = scope.meter
    many = [isinstance(node, ast.Starred) for node in nodes]
    parts, cost = expressions([node.value if isinstance(node, ast.Starred) else node for node in nodes], scope)

    def run(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for part, several in zip(parts, many):
            if several:
                found.extend(walk(meter, part(frame)))
            else:
                found.append(part(frame))
        return found

    return run, cost


def nothing(_: Frame) -> None:
    return None
