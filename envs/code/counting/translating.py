"""Translation of programs to closures: each node of the syntax tree is translated once, by the function of its type.

An expression becomes ``run(frame)``, which returns its value, and the steps that it always takes, one for each node;
the code around it charges them beforehand. Expressions that are evaluated on a condition or repeatedly charge for
themselves.
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
# The translator of each type of expression; the modules that define them fill it in.
EXPRESSIONS: dict[type[ast.AST], Callable[..., Counted]] = {}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.Await: "await is not counted here: use functions without async",
    ast.Yield: "the value of yield is not counted here: use yield as a statement",
    ast.YieldFrom: "the value of yield from is not counted here: use yield from as a statement",
    ast.Starred: "* is not counted here: use a list",
}


def translate_expression(node: ast.expr, scope: Scope) -> Counted:
    translate = EXPRESSIONS.get(type(node))
    if translate is None:
        raise Uncounted(_INSTEAD.get(type(node), f"{type(node).__name__} is not counted here"))
    return translate(node, scope)


def translate_expressions(nodes: Sequence[ast.expr], scope: Scope) -> tuple[list[Run], int]:
    counted = [translate_expression(node, scope) for node in nodes]
    return [run for run, _ in counted], sum([cost for _, cost in counted])


def translate_self_charging(node: ast.expr, scope: Scope) -> Run:
    """Translate an expression to a function ``run(frame)`` that charges for itself."""
    (run, cost), meter = translate_expression(node, scope), scope.meter

    def run_charged(frame: Frame) -> Any:
        meter.left -= cost
        if meter.left < 0:
            raise OutOfWork
        return run(frame)

    return run_charged


def translate_arguments(nodes: Sequence[ast.expr], scope: Scope) -> tuple[Callable[[Frame], list[Any]], int]:
    """Translate the values of a call or a display to a function that returns them as a list, starred ones unpacked."""
    if not any([isinstance(node, ast.Starred) for node in nodes]):
        runs, cost = translate_expressions(nodes, scope)
        return lambda frame: [run(frame) for run in runs], cost
    meter = scope.meter
    many = [isinstance(node, ast.Starred) for node in nodes]
    parts, cost = translate_expressions(
        [node.value if isinstance(node, ast.Starred) else node for node in nodes], scope
    )

    def run(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for part, several in zip(parts, many):
            if several:
                found.extend(walk(meter, part(frame)))
            else:
                found.append(part(frame))
        return found

    return run, cost


def do_nothing(_: Frame) -> None:
    return None
