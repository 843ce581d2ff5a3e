"""Translation of calls, of functions and of methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from .meter import MAPPINGS
from .methods import METHODS, attribute
from .scopes import Scope
from .translating import EXPRESSIONS, Counted, translate_arguments, translate_expression
from .values import Builtin, Frame, Function, call_function


def _call(node: ast.Call, scope: Scope) -> Counted:
    meter = scope.meter
    given, cost = translate_arguments(node.args, scope)
    options, other = _options(node.keywords, scope)
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        owner, third = translate_expression(node.func.value, scope)

        def run_method(frame: Frame) -> Any:
            box = owner(frame)
            method = METHODS.get(type(box), _NO_METHODS).get(name)
            if method is None:
                return call_function(meter, attribute(meter, box, name), given(frame), options and options(frame))
            if options is None:
                return method(meter, box, *given(frame))
            return method(meter, box, *given(frame), **options(frame))

        return run_method, 2 + third + cost + other
    function, third = translate_expression(node.func, scope)

    def run(frame: Frame) -> Any:
        called = function(frame)
        kind = type(called)
        if kind is Function:
            return called.call(given(frame), options and options(frame))
        if kind is Builtin and options is None:
            return called.run(meter, *given(frame))
        return call_function(meter, called, given(frame), options and options(frame))

    return run, 1 + third + cost + other


_NO_METHODS: dict[str, Any] = {}


def _options(nodes: Sequence[ast.keyword], scope: Scope) -> tuple[Callable[[Frame], dict[str, Any]] | None, int]:
    meter = scope.meter
    parts = [(node.arg, *translate_expression(node.value, scope)) for node in nodes]

    def run(frame: Frame) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value, _ in parts:
            given = {name: value(frame)} if name is not None else value(frame)
            if type(given) not in MAPPINGS or not all([isinstance(key, str) for key in given]):
                raise TypeError("argument after ** must be a mapping with text as keys")
            if not found.keys().isdisjoint(given):
                raise TypeError("got multiple values for a keyword argument")
            meter.charge(len(given) if name is None else 0)
            found.update(given)
        return found

    return (run if parts else None), sum([cost for _, _, cost in parts])


EXPRESSIONS[ast.Call] = _call
