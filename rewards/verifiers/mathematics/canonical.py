"""Canonical forms of values with two equivalent spellings, and predicates on a whole value."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

from .normal import Budget, Ring, TooBig
from .tree import (
    Apply,
    Choice,
    Malformed,
    Matrix,
    Quantity,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    Words,
    count_operation,
    is_scalar,
    negate,
    symbols,
)

_REALS = Sym("\\mathbb{R}")


def canonical_value(value: Value) -> Value:
    """Replace the interval from -∞ to ∞ by ℝ, at any depth of groups."""
    if isinstance(value, ValueGroup):
        items = tuple(map(canonical_value, value.items))
        if value.kind == "()" and len(items) == 2 and [_sign(item) for item in items] == [-1, 1]:
            return _REALS
        return ValueGroup(value.kind, items)
    return value


def resolve_braces(a: Value, b: Value) -> tuple[Value, Value]:
    """Resolve braces around one value, ``{17}`` in plain text: a set if the other value is a set, otherwise 17."""
    if isinstance(a, ValueGroup) and a.kind == "{":
        a = ValueGroup("{}", a.items) if _kind(b) in ("{}", "{") else a.items[0]
    if isinstance(b, ValueGroup) and b.kind == "{":
        b = ValueGroup("{}", b.items) if _kind(a) in ("{}", "{") else b.items[0]
    return a, b


def _kind(value: Value) -> str:
    return value.kind if isinstance(value, ValueGroup) else type(value).__name__


def value_family(value: Value) -> str:
    return "scalar" if is_scalar(value) or isinstance(value, Quantity) else _kind(value)


def without_name(a: Value, b: Value) -> tuple[Value, Value]:
    """Remove the name from ``x = 5`` if the other value is not a relation."""
    if isinstance(b, Relation) and not isinstance(a, (Relation, Words)):
        return a, assigned_value(b)
    if isinstance(a, Relation) and not isinstance(b, (Relation, Words)):
        return assigned_value(a), b
    return a, b


def assigned_value(value: Relation) -> Value:
    """Return the value that a relation assigns to a variable or a tuple of variables. Return ``value`` itself if the
    assigned value has variables, or the relation is not an assignment."""
    if len(value.sides) == 2 and value.operators[0] in "=∈":
        for name, content in (value.sides, value.sides[::-1]):
            member_of_number = value.operators == ("∈",) and is_scalar(content)
            if isinstance(name, Sym) and has_variables(name) and not has_variables(content) and not member_of_number:
                return content
            if value.operators == ("=",) and _names(name) and _as_long(name, content) and not has_variables(content):
                return content
            if value.operators == ("∈",):
                break
    return value


def _as_long(a: Value, b: Value) -> bool:
    """Return True if two values are groups of the same kind and length."""
    return isinstance(a, ValueGroup) and isinstance(b, ValueGroup) and (a.kind, len(a.items)) == (b.kind, len(b.items))


def _names(value: Value) -> bool:
    """Return True if a value is a tuple of distinct variables in alphabetical order, such as (x, y)."""
    if not isinstance(value, ValueGroup) or value.kind != "()":
        return False
    names = [item.name if isinstance(item, Sym) else "\\" for item in value.items]
    in_order = all(first < second for first, second in pairwise(names))
    return in_order and not any("\\" in name for name in names)


def has_variables(value: Value) -> bool:
    """Return True if a value contains variables. Relations and words count as if they did."""
    if is_scalar(value):
        return any(not name.startswith("\\") for name in symbols(value))  # type: ignore[arg-type]
    if isinstance(value, Quantity):
        return has_variables(value.value)
    if isinstance(value, Choice):
        return has_variables(value.plus) or has_variables(value.minus)
    if isinstance(value, ValueGroup):
        return any(map(has_variables, value.items))
    if isinstance(value, Matrix):
        return any(has_variables(item) for row in value.rows for item in row)
    return True


def sign_of_infinity(value: Scalar) -> int:
    """Return 1 or -1 for ∞ and -∞, 0 for a finite scalar.

    Raises:
        Malformed: infinity inside an expression.
    """
    if not count_operation(value, "oo"):
        return 0
    sign = _sign(value)
    if not sign:
        raise Malformed("Infinity cannot be part of an expression.")
    return sign


def _sign(value: Value) -> int:
    if value == Apply("oo"):
        return 1
    return -1 if value == negate(Apply("oo")) else 0


def _is_polynomial(value: Scalar) -> bool:
    """Return True if a scalar has only numbers, variables, sums and products, so that no number in it grows large."""
    if isinstance(value, Apply):
        return value.op in ("+", "*") and all(map(_is_polynomial, value.args))
    return True


def holds_giant(value: Value, budget: Budget) -> bool:
    """Return True if some part of a value is a number too large to be computed.

    Raises:
        Malformed: some part is undefined, such as 1/0.
    """
    if is_scalar(value):
        if _is_polynomial(value):  # type: ignore[arg-type]
            return False
        ring = Ring(budget)
        if not sign_of_infinity(value):  # type: ignore[arg-type]
            with suppress(TooBig):
                ring.form(value)  # type: ignore[arg-type]
        return ring.giant
    parts: Iterable[Value] = ()
    if isinstance(value, Quantity):
        parts = (value.value,)
    elif isinstance(value, Choice):
        parts = (value.plus, value.minus)
    elif isinstance(value, ValueGroup):
        parts = value.items
    elif isinstance(value, Relation):
        parts = value.sides
    elif isinstance(value, Matrix):
        parts = sum(value.rows, ())
    return any([holds_giant(part, budget) for part in parts])
