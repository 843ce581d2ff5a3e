"""Translation of expressions, except calls, comprehensions and lambda."""

from __future__ import annotations

import ast
import operator
from typing import Any

from .comparisons import COMPARISONS
from .formatting import format_value
from .items import get_item
from .meter import MAPPINGS, SMALL, Uncounted, weight
from .methods import attribute
from .operators import BINARY, unary
from .scopes import Scope, name_reader, name_writer
from .translating import (
    EXPRESSIONS,
    Counted,
    do_nothing,
    translate_arguments,
    translate_expression,
    translate_expressions,
    translate_self_charging,
)
from .values import Frame


def _constant(node: ast.Constant, scope: Scope) -> Counted:
    value = node.value
    if isinstance(value, (bytes, complex)) or value is ...:
        raise Uncounted(f"{type(value).__name__} is not counted here: use text, numbers and lists")
    return lambda frame: value, 1


def _name(node: ast.Name, scope: Scope) -> Counted:
    return name_reader(scope, node.id), 1


def _display(node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Counted:
    kind: Any = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
    meter = scope.meter
    values_of, cost = translate_arguments(node.elts, scope)
    if kind is list:
        return values_of, 1 + cost
    if kind is tuple:
        return lambda frame: tuple(values_of(frame)), 1 + cost

    def a_set(frame: Frame) -> set[Any]:
        values = values_of(frame)
        meter.charge(sum([weight(meter, value) for value in values]))
        return set(values)

    return a_set, 1 + cost


def _dict(node: ast.Dict, scope: Scope) -> Counted:
    meter = scope.meter
    keys = [None if key is None else translate_expression(key, scope) for key in node.keys]
    values = [translate_expression(value, scope) for value in node.values]
    cost = 1 + sum([each[1] for each in (*keys, *values) if each is not None])

    def run(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, (value, _) in zip(keys, values):
            if key is None:
                other = value(frame)
                if type(other) not in MAPPINGS:
                    raise TypeError(f"{type(other).__name__!r} object is not a mapping")
                meter.charge(len(other))
                found.update(other)
            else:
                one = key[0](frame)
                meter.charge(weight(meter, one))
                found[one] = value(frame)
        return found

    return run, cost


def _binary(node: ast.BinOp, scope: Scope) -> Counted:
    meter, apply = scope.meter, BINARY[type(node.op)]
    (left, cost), (right, other) = translate_expression(node.left, scope), translate_expression(node.right, scope)
    return lambda frame: apply(meter, left(frame), right(frame)), 1 + cost + other


def _unary(node: ast.UnaryOp, scope: Scope) -> Counted:
    meter, kind = scope.meter, type(node.op)
    value, cost = translate_expression(node.operand, scope)
    if kind is ast.Not:
        return lambda frame: not value(frame), 1 + cost
    return lambda frame: unary(meter, kind, value(frame)), 1 + cost


def _boolean(node: ast.BoolOp, scope: Scope) -> Counted:
    first, cost = translate_expression(node.values[0], scope)
    rest, stops_at = [translate_self_charging(value, scope) for value in node.values[1:]], isinstance(node.op, ast.Or)

    def run(frame: Frame) -> Any:
        result = first(frame)
        for value in rest:
            if bool(result) is stops_at:
                break
            result = value(frame)
        return result

    return run, 1 + cost


def _compare(node: ast.Compare, scope: Scope) -> Counted:
    meter = scope.meter
    (first, cost), (second, other) = (
        translate_expression(node.left, scope),
        translate_expression(node.comparators[0], scope),
    )
    holds = COMPARISONS[type(node.ops[0])]
    direct = _DIRECT.get(type(node.ops[0]))
    if len(node.ops) == 1 and direct is not None:

        def run_one(frame: Frame) -> Any:
            left, right = first(frame), second(frame)
            if type(left) is int and type(right) is int and -SMALL < left < SMALL:
                return direct(left, right)
            return holds(meter, left, right)

        return run_one, 1 + cost + other
    if len(node.ops) == 1:
        return lambda frame: holds(meter, first(frame), second(frame)), 1 + cost + other
    rest = [
        (COMPARISONS[type(op)], translate_self_charging(value, scope))
        for op, value in zip(node.ops[1:], node.comparators[1:])
    ]

    def run(frame: Frame) -> Any:
        left, right = first(frame), second(frame)
        result = holds(meter, left, right)
        for holds_next, value in rest:
            if not result:
                break
            left, right = right, value(frame)
            meter.charge(1)
            result = holds_next(meter, left, right)
        return result

    return run, 1 + cost + other


_DIRECT: dict[type[ast.cmpop], Any] = {
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt},
    **{ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
}


def _either(node: ast.IfExp, scope: Scope) -> Counted:
    test, cost = translate_expression(node.test, scope)
    body, other = translate_self_charging(node.body, scope), translate_self_charging(node.orelse, scope)
    return lambda frame: body(frame) if test(frame) else other(frame), 1 + cost


def _subscript(node: ast.Subscript, scope: Scope) -> Counted:
    meter = scope.meter
    (box, cost), (key, other) = translate_expression(node.value, scope), translate_expression(node.slice, scope)

    def run(frame: Frame) -> Any:
        owner, place = box(frame), key(frame)
        if type(owner) is list and type(place) is int:
            return owner[place]
        return get_item(meter, owner, place)

    return run, 1 + cost + other


def _slice(node: ast.Slice, scope: Scope) -> Counted:
    parts = [
        None if part is None else translate_expression(part, scope) for part in (node.lower, node.upper, node.step)
    ]
    low, high, step = (do_nothing if part is None else part[0] for part in parts)
    cost = sum([part[1] for part in parts if part is not None])
    return lambda frame: slice(low(frame), high(frame), step(frame)), cost


def _attribute(node: ast.Attribute, scope: Scope) -> Counted:
    meter, name = scope.meter, node.attr
    owner, cost = translate_expression(node.value, scope)
    return lambda frame: attribute(meter, owner(frame), name), 1 + cost


def _named(node: ast.NamedExpr, scope: Scope) -> Counted:
    value, cost = translate_expression(node.value, scope)
    keep = name_writer(scope, node.target.id, scope.hops_outside(node.target.id))

    def run(frame: Frame) -> Any:
        found = value(frame)
        keep(frame, found)
        return found

    return run, 1 + cost


def _text(node: ast.JoinedStr, scope: Scope) -> Counted:
    meter = scope.meter
    runs, cost = translate_expressions(node.values, scope)

    def run(frame: Frame) -> str:
        parts = [part(frame) for part in runs]
        meter.charge(sum(map(len, parts)))
        return "".join(parts)

    return run, 1 + cost


def _formatted(node: ast.FormattedValue, scope: Scope) -> Counted:
    meter, conversion = scope.meter, "" if node.conversion < 0 else chr(node.conversion)
    value, cost = translate_expression(node.value, scope)
    form, other = (lambda _: "", 0) if node.format_spec is None else translate_expression(node.format_spec, scope)
    return lambda frame: format_value(meter, value(frame), form(frame), conversion), 1 + cost + other


EXPRESSIONS.update(
    {
        **{ast.Constant: _constant, ast.Name: _name, ast.NamedExpr: _named, ast.Attribute: _attribute},
        **{ast.List: _display, ast.Tuple: _display, ast.Set: _display, ast.Dict: _dict},
        **{ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compare, ast.IfExp: _either},
        **{ast.Subscript: _subscript, ast.Slice: _slice, ast.JoinedStr: _text, ast.FormattedValue: _formatted},
    }
)
