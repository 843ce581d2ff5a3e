"""Translation of functions: def, lambda and decorators; and of the statements of generator functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .meter import OutOfWork, Uncounted, iterator
from .scopes import Scope, function_scope, name_writer, within
from .statement_nodes import BREAK, CONTINUE, STATEMENTS, Statement, translate_block, translate_statement
from .targets import translate_assignment
from .translating import (
    EXPRESSIONS,
    Counted,
    do_nothing,
    translate_expression,
    translate_expressions,
    translate_self_charging,
)
from .values import Code, Frame, Function, Parameters, call_function

# Runs a statement of a generator function; the iterator's return value is the value that `Run` returns.
Yielding = Callable[[Frame], Iterator[Any]]


def _lambda(node: ast.Lambda, scope: Scope) -> Counted:
    parameters = _parameters(node.args)
    inner = function_scope(scope, _names(parameters), within([node.body]))
    value = translate_self_charging(node.body, inner)
    code = Code("<lambda>", parameters, lambda frame: (value(frame),), False)
    make, cost = _function_maker(code, node.args, scope)
    return make, 1 + cost


def _function(node: ast.FunctionDef, scope: Scope) -> Statement:
    meter, parameters = scope.meter, _parameters(node.args)
    nodes = list(within(node.body))
    inner = function_scope(scope, _names(parameters), nodes)
    yields = any([isinstance(part, (ast.Yield, ast.YieldFrom)) for part in nodes])
    body: Any = translate_yielding_block(node.body, inner) if yields else translate_block(node.body, inner)
    make, cost = _function_maker(Code(node.name, parameters, body, yields), node.args, scope)
    decorators, other = translate_expressions(node.decorator_list, scope)
    keep = name_writer(scope, node.name)

    def run(frame: Frame) -> None:
        applied = [decorator(frame) for decorator in decorators]
        function: Any = make(frame)
        for decorator in reversed(applied):
            function = call_function(meter, decorator, [function])
        keep(frame, function)

    return run, 1 + cost + other


def _parameters(given: ast.arguments) -> Parameters:
    names = tuple(one.arg for one in (*given.posonlyargs, *given.args))
    rest, options = given.vararg.arg if given.vararg else "", given.kwarg.arg if given.kwarg else ""
    return Parameters(len(given.posonlyargs), names, rest, tuple(one.arg for one in given.kwonlyargs), options)


def _names(parameters: Parameters) -> list[str]:
    return [name for name in (*parameters.names, parameters.rest, *parameters.named, parameters.options) if name]


def _function_maker(code: Code, given: ast.arguments, scope: Scope) -> tuple[Callable[[Frame], Function], int]:
    """Return a function that makes the function object, with the defaults evaluated at that moment; and its cost."""
    meter = scope.meter
    defaults, cost = translate_expressions(given.defaults, scope)
    named = [
        (one.arg, translate_expression(value, scope))
        for one, value in zip(given.kwonlyargs, given.kw_defaults)
        if value
    ]

    def make(frame: Frame) -> Function:
        return Function(
            meter,
            code,
            frame,
            [default(frame) for default in defaults],
            {name: value(frame) for name, (value, _) in named},
        )

    return make, cost + sum([price for _, (_, price) in named])


# Generator functions.


def translate_yielding_block(nodes: Sequence[ast.stmt], scope: Scope) -> Yielding:
    """Translate the statements of a generator function; as `statement_nodes.translate_block`."""
    meter = scope.meter
    steps = [_translate_yielding_statement(node, scope) for node in nodes]

    def run(frame: Frame) -> Iterator[Any]:
        for plain, cost, yielding in steps:
            meter.charge(cost)
            signal = plain(frame) if plain is not None else (yield from yielding(frame))
            if signal is not None:
                return signal
        return None

    return run


def _translate_yielding_statement(node: ast.stmt, scope: Scope) -> tuple[Any, int, Any]:
    """Translate a statement: to (run, cost, None) without yield, to (None, cost, iteration) with one."""
    if not any([isinstance(part, (ast.Yield, ast.YieldFrom)) for part in within([node])]):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return do_nothing, 0, None
        return *translate_statement(node, scope), None
    translate = _YIELDING.get(type(node))
    if translate is None:
        raise Uncounted("the value of yield is not counted here: use yield as a statement")
    run, cost = translate(node, scope)
    return None, cost, run


def _yield(node: ast.Expr, scope: Scope) -> tuple[Yielding, int]:
    meter, given = scope.meter, node.value
    if isinstance(given, ast.YieldFrom):
        source, cost = translate_expression(given.value, scope)

        def run_all(frame: Frame) -> Iterator[Any]:
            for item in iterator(source(frame)):
                meter.charge(1)
                yield item
            return None

        return run_all, 2 + cost
    if not isinstance(given, ast.Yield):
        raise Uncounted("the value of yield is not counted here: use yield as a statement")
    value, cost = (do_nothing, 0) if given.value is None else translate_expression(given.value, scope)

    def run(frame: Frame) -> Iterator[Any]:
        yield value(frame)
        return None

    return run, 2 + cost


def _yielding_if(node: ast.If, scope: Scope) -> tuple[Yielding, int]:
    test, cost = translate_expression(node.test, scope)
    body, other = translate_yielding_block(node.body, scope), translate_yielding_block(node.orelse, scope)

    def run(frame: Frame) -> Iterator[Any]:
        return (yield from body(frame) if test(frame) else other(frame))

    return run, 1 + cost


def _yielding_for(node: ast.For, scope: Scope) -> tuple[Yielding, int]:
    meter = scope.meter
    source, cost = translate_expression(node.iter, scope)
    keep, body, other = (
        translate_assignment(node.target, scope),
        translate_yielding_block(node.body, scope),
        translate_yielding_block(node.orelse, scope),
    )

    def run(frame: Frame) -> Iterator[Any]:
        for item in iterator(source(frame)):
            meter.left -= 1
            if meter.left < 0:
                raise OutOfWork
            keep(frame, item)
            signal = yield from body(frame)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return (yield from other(frame))

    return run, 1 + cost


def _yielding_while(node: ast.While, scope: Scope) -> tuple[Yielding, int]:
    test = translate_self_charging(node.test, scope)
    body, other = translate_yielding_block(node.body, scope), translate_yielding_block(node.orelse, scope)

    def run(frame: Frame) -> Iterator[Any]:
        while test(frame):
            signal = yield from body(frame)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return (yield from other(frame))

    return run, 1


def _no_yielding_try(node: ast.Try, scope: Scope) -> tuple[Yielding, int]:
    raise Uncounted("yield within try is not counted here: use yield outside")


_YIELDING: dict[type[ast.AST], Any] = {
    **{ast.Expr: _yield, ast.If: _yielding_if, ast.For: _yielding_for, ast.While: _yielding_while},
    **{ast.Try: _no_yielding_try},
}
STATEMENTS[ast.FunctionDef] = _function
EXPRESSIONS[ast.Lambda] = _lambda
