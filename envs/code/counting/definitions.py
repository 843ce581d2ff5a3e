"""Functions: def, lambda and decorators; and the statements of those that yield."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .meter import OutOfWork, Uncounted, iterator
from .scopes import Scope, function_scope, store, within
from .statement_nodes import BREAK, CONTINUE, STATEMENTS, Statement, block, statement
from .targets import assignment
from .translating import EXPRESSIONS, Counted, charging, expression, expressions, nothing
from .values import Code, Frame, Function, Parameters, call

# Runs a statement of a function that yields; what `Run` would give is the value of the iteration.
Yielding = Callable[[Frame], Iterator[Any]]


def _lambda(node: ast.Lambda, scope: Scope) -> Counted:
    parameters = _parameters(node.args)
    inner = function_scope(scope, _names(parameters), within([node.body]))
    value = charging(node.body, inner)
    code = Code("<lambda>", parameters, lambda frame: (value(frame),), False)
    make, cost = _made(code, node.args, scope)
    return make, 1 + cost


def _function(node: ast.FunctionDef, scope: Scope) -> Statement:
    meter, parameters = scope.meter, _parameters(node.args)
    nodes = list(within(node.body))
    inner = function_scope(scope, _names(parameters), nodes)
    yields = any([isinstance(part, (ast.Yield, ast.YieldFrom)) for part in nodes])
    body: Any = yielding_block(node.body, inner) if yields else block(node.body, inner)
    make, cost = _made(Code(node.name, parameters, body, yields), node.args, scope)
    decorators, other = expressions(node.decorator_list, scope)
    keep = store(scope, node.name)

    def run(frame: Frame) -> None:
        applied = [decorator(frame) for decorator in decorators]
        function: Any = make(frame)
        for decorator in reversed(applied):
            function = call(meter, decorator, [function])
        keep(frame, function)

    return run, 1 + cost + other


def _parameters(given: ast.arguments) -> Parameters:
    names = tuple(one.arg for one in (*given.posonlyargs, *given.args))
    rest, options = given.vararg.arg if given.vararg else "", given.kwarg.arg if given.kwarg else ""
    return Parameters(len(given.posonlyargs), names, rest, tuple(one.arg for one in given.kwonlyargs), options)


def _names(parameters: Parameters) -> list[str]:
    return [name for name in (*parameters.names, parameters.rest, *parameters.named, parameters.options) if name]


def _made(code: Code, given: ast.arguments, scope: Scope) -> tuple[Callable[[Frame], Function], int]:
    """Makes the function, with the defaults that hold at that moment."""
    meter = scope.meter
    defaults, cost = expressions(given.defaults, scope)
    named = [(one.arg, expression(value, scope)) for one, value in zip(given.kwonlyargs, given.kw_defaults) if value]

    def make(frame: Frame) -> Function:
        return Function(
            meter,
            code,
            frame,
            [default(frame) for default in defaults],
            {name: value(frame) for name, (value, _) in named},
        )

    return make, cost + sum([price for _, (_, price) in named])


# Functions that yield.


def yielding_block(nodes: Sequence[ast.stmt], scope: Scope) -> Yielding:
    """As `statements.block`."""
    meter = scope.meter
    steps = [_yielding(node, scope) for node in nodes]

    def run(frame: Frame) -> Iterator[Any]:
        for plain, cost, yielding in steps:
            meter.charge(cost)
            signal = plain(frame) if plain is not None else (yield from yielding(frame))
            if signal is not None:
                return signal
        return None

    return run


def _yielding(node: ast.stmt, scope: Scope) -> tuple[Any, int, Any]:
    """(run, cost, None) for a statement without yield, and (None, cost, iteration) for one with."""
    if not any([isinstance(part, (ast.Yield, ast.YieldFrom)) for part in within([node])]):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return nothing, 0, None
        return *statement(node, scope), None
    translate = _YIELDING.get(type(node))
    if translate is None:
        raise Uncounted("the value of yield is not counted here: use yield as a statement")
    run, cost = translate(node, scope)
    return None, cost, run


def _yield(node: ast.Expr, scope: Scope) -> tuple[Yielding, int]:
    meter, given = scope.meter, node.value
    if isinstance(given, ast.YieldFrom):
        source, cost = expression(given.value, scope)

        def run_all(frame: Frame) -> Iterator[Any]:
            for item in iterator(source(frame)):
                meter.charge(1)
                yield item
            return None

        return run_all, 2 + cost
    if not isinstance(given, ast.Yield):
        raise Uncounted("the value of yield is not counted here: use yield as a statement")
    value, cost = (nothing, 0) if given.value is None else expression(given.value, scope)

    def run(frame: Frame) -> Iterator[Any]:
        yield value(frame)
        return None

    return run, 2 + cost


def _yielding_if(node: ast.If, scope: Scope) -> tuple[Yielding, int]:
    test, cost = expression(node.test, scope)
    body, other = yielding_block(node.body, scope), yielding_block(node.orelse, scope)

    def run(frame: Frame) -> Iterator[Any]:
        return (yield from body(frame) if test(frame) else other(frame))

    return run, 1 + cost


def _yielding_for(node: ast.For, scope: Scope) -> tuple[Yielding, int]:
    meter = scope.meter
    source, cost = expression(node.iter, scope)
    keep, body, other = (
        assignment(node.target, scope),
        yielding_block(node.body, scope),
        yielding_block(node.orelse, scope),
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
    test = charging(node.test, scope)
    body, other = yielding_block(node.body, scope), yielding_block(node.orelse, scope)

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
