"""Translation of statements to closures. A statement costs a step, plus the cost of its expressions.

``run(frame)`` returns None, BREAK, CONTINUE, or a tuple of one with the value that the function returns.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from .items import get_item, set_item
from .meter import OutOfWork, Uncounted, iterator
from .modules import IGNORED, MODULES
from .operators import IN_PLACE
from .scopes import Scope, name_reader, name_writer
from .targets import translate_assignment, translate_deletion
from .translating import Run, do_nothing, translate_expression, translate_self_charging
from .values import Frame

BREAK, CONTINUE = object(), object()
Statement = tuple[Run, int]
STATEMENTS: dict[type[ast.AST], Callable[..., Statement]] = {}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.ClassDef: "class is not counted here: use functions, tuples and dicts",
    ast.With: "with is not counted here: use the arguments",
    ast.Match: "match is not counted here: use if",
    ast.AsyncFunctionDef: "async is not counted here: use def",
}


def translate_statement(node: ast.stmt, scope: Scope) -> Statement:
    """Return the closure of a statement, and the steps to charge before it runs."""
    translate = STATEMENTS.get(type(node))
    if translate is None:
        raise Uncounted(_INSTEAD.get(type(node), f"{type(node).__name__} is not counted here"))
    return translate(node, scope)


def translate_block(nodes: Sequence[ast.stmt], scope: Scope) -> Run:
    """Translate statements in a row. Constants alone, such as docstrings, are left out."""
    meter = scope.meter
    active = [node for node in nodes if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    steps = [translate_statement(node, scope) for node in active]
    if len(steps) == 1:
        ((only, price),) = steps

        def run_one(frame: Frame) -> Any:
            meter.left -= price
            if meter.left < 0:
                raise OutOfWork
            return only(frame)

        return run_one

    def run(frame: Frame) -> Any:
        for one, cost in steps:
            meter.left -= cost
            if meter.left < 0:
                raise OutOfWork
            signal = one(frame)
            if signal is not None:
                return signal
        return None

    return run


def _evaluate(node: ast.Expr, scope: Scope) -> Statement:
    value, cost = translate_expression(node.value, scope)

    def run(frame: Frame) -> None:
        value(frame)

    return run, 1 + cost


def _assign(node: ast.Assign, scope: Scope) -> Statement:
    value, cost = translate_expression(node.value, scope)
    keeps = [translate_assignment(target, scope) for target in node.targets]
    (keep, *more) = keeps
    if not more:
        return lambda frame: keep(frame, value(frame)), 1 + cost

    def run(frame: Frame) -> None:
        found = value(frame)
        for each in keeps:
            each(frame, found)

    return run, 1 + cost


def _annotated_assign(node: ast.AnnAssign, scope: Scope) -> Statement:
    if node.value is None:
        return do_nothing, 0
    value, cost = translate_expression(node.value, scope)
    keep = translate_assignment(node.target, scope)
    return lambda frame: keep(frame, value(frame)), 1 + cost


def _augmented_assign(node: ast.AugAssign, scope: Scope) -> Statement:
    meter, apply = scope.meter, IN_PLACE[type(node.op)]
    value, cost = translate_expression(node.value, scope)
    if isinstance(node.target, ast.Name):
        get, keep = name_reader(scope, node.target.id), name_writer(scope, node.target.id)
        return lambda frame: keep(frame, apply(meter, get(frame), value(frame))), 2 + cost
    if not isinstance(node.target, ast.Subscript):
        raise Uncounted("attributes of values are not counted here: use a dict or a list")
    (box, other), (key, third) = (
        translate_expression(node.target.value, scope),
        translate_expression(node.target.slice, scope),
    )

    def run(frame: Frame) -> None:
        owner, place = box(frame), key(frame)
        set_item(meter, owner, place, apply(meter, get_item(meter, owner, place), value(frame)))

    return run, 2 + cost + other + third


def _delete(node: ast.Delete, scope: Scope) -> Statement:
    parts = [translate_deletion(target, scope) for target in node.targets]

    def run(frame: Frame) -> None:
        for part in parts:
            part(frame)

    return run, 1


def _if(node: ast.If, scope: Scope) -> Statement:
    test, cost = translate_expression(node.test, scope)
    body, other = translate_block(node.body, scope), translate_block(node.orelse, scope) if node.orelse else do_nothing
    return lambda frame: body(frame) if test(frame) else other(frame), 1 + cost


def _for(node: ast.For, scope: Scope) -> Statement:
    meter = scope.meter
    source, cost = translate_expression(node.iter, scope)
    keep, body = translate_assignment(node.target, scope), translate_block(node.body, scope)
    other = translate_block(node.orelse, scope) if node.orelse else do_nothing

    def run(frame: Frame) -> Any:
        for item in iterator(source(frame)):
            meter.left -= 1
            if meter.left < 0:
                raise OutOfWork
            keep(frame, item)
            signal = body(frame)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return other(frame)

    return run, 1 + cost


def _while(node: ast.While, scope: Scope) -> Statement:
    test, body = translate_self_charging(node.test, scope), translate_block(node.body, scope)
    other = translate_block(node.orelse, scope) if node.orelse else do_nothing

    def run(frame: Frame) -> Any:
        while test(frame):
            signal = body(frame)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return other(frame)

    return run, 1


def _return(node: ast.Return, scope: Scope) -> Statement:
    if node.value is None:
        return lambda frame: (None,), 1
    value, cost = translate_expression(node.value, scope)
    return lambda frame: (value(frame),), 1 + cost


def _import(node: ast.Import, scope: Scope) -> Statement:
    keeps = []
    for alias in node.names:
        if alias.name not in IGNORED:
            keeps.append((name_writer(scope, (alias.asname or alias.name)), _find_module(alias.name)))

    def run(frame: Frame) -> None:
        for keep, module in keeps:
            keep(frame, module)

    return run, 1


def _import_from(node: ast.ImportFrom, scope: Scope) -> Statement:
    keeps = []
    for alias in node.names if node.module not in IGNORED else ():
        names = _find_module(node.module or ".").names
        if alias.name not in names:
            raise Uncounted(f"{node.module}.{alias.name} is not counted here")
        keeps.append((name_writer(scope, alias.asname or alias.name), names[alias.name]))

    def run(frame: Frame) -> None:
        for keep, value in keeps:
            keep(frame, value)

    return run, 1


def _find_module(name: str) -> Any:
    if name not in MODULES:
        raise Uncounted(f"the module {name} is not counted here: use {', '.join(MODULES)}")
    return MODULES[name]


STATEMENTS.update(
    {
        **{
            ast.Expr: _evaluate,
            ast.Assign: _assign,
            ast.AnnAssign: _annotated_assign,
            ast.AugAssign: _augmented_assign,
        },
        **{ast.Delete: _delete, ast.If: _if, ast.For: _for, ast.While: _while, ast.Return: _return},
        **{ast.Import: _import, ast.ImportFrom: _import_from},
        **{ast.Global: lambda node, scope: (do_nothing, 0), ast.Nonlocal: lambda node, scope: (do_nothing, 0)},
        **{ast.Pass: lambda node, scope: (do_nothing, 1)},
        **{ast.Break: lambda node, scope: (lambda frame: BREAK, 1)},
        **{ast.Continue: lambda node, scope: (lambda frame: CONTINUE, 1)},
    }
)
