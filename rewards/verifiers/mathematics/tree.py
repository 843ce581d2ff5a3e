"""Trees of values: the grammar makes them from text, and the rest of the verifier works on them alone.

A *scalar* is one number or expression: `Num`, `Sym` or `Apply`. A *value* is a scalar, or something built of scalars:
a `Quantity` with a unit, a `ValueGroup` (tuple, set, interval, list ...), a `Matrix`, a `Relation`, a `Choice` made by
±, or `Words`. All are frozen and hashable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias


class Malformed(ValueError):
    """Error for a text outside the grammar; the message is one sentence for the agent."""


@dataclass(frozen=True, slots=True)
class Num:
    """Exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Sym:
    """Variable; case counts, and a subscript is part of the name."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """Operation or function; constants have no arguments.

    ``+`` and ``*`` take any number of arguments, ``^`` base and exponent, ``root`` radicand and degree, ``log``
    argument and base (or the argument alone, if the text leaves the base open), ``pm`` the left and right operand of ±,
    ``binomial`` two, all others one.
    """

    op: str
    args: tuple[Scalar, ...] = ()


Scalar: TypeAlias = "Num | Sym | Apply"


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit as base dimensions with exponents.

    Attributes:
        dimensions: (name, exponent) pairs.
        factor, pi: ``factor * pi**pi`` converts an amount to base units.
        sign: True for a currency sign such as $, which an answer may leave out.
    """

    dimensions: tuple[tuple[str, int], ...]
    factor: Fraction = Fraction(1)
    pi: int = 0
    sign: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """Scalar with a unit.

    Attributes:
        value: the scalar.
        unit: the unit.
        plain: the same text read with the letters of the unit as variables (``5m``, ``36 km/h``); None if they cannot
            be variables.
        loose: True if these letters follow a sum (``2 + sqrt(3) cm``).
        doubtful: True if the unit is a single letter that is not set as text (``3s^2``), which is as often a variable.
    """

    value: Scalar
    unit: Unit
    plain: Scalar | None = None
    loose: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class ValueGroup:
    """Several values, ``items``, joined as ``kind`` says.

    ``kind`` is a pair of brackets (``()``, ``[)``, ``{}``, ``<>`` ...) or the separator of the values: ``,``, ``or``,
    ``and``, ``:``, ``∪``, ``∩``, ``∖``. Further kinds: ``clock``, a ratio that may be a time of day; ``time``, a time
    in minutes after midnight; ``;``, a list of lists; ``{|}``, a set given by a name, its domain and its conditions;
    ``{``, one value in braces.
    """

    kind: str
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Matrix of values, as rows of equal length."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Values ``sides`` joined by =, ≈, ≠, <, ≤, >, ≥ or ∈ as ``operators``, of which there is one fewer."""

    operators: tuple[str, ...]
    sides: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Set of the two values of an expression with ±."""

    plus: Scalar
    minus: Scalar


@dataclass(frozen=True, slots=True)
class Words:
    """Plain words, folded to lower case with single spaces."""

    text: str


Value: TypeAlias = "Num | Sym | Apply | Quantity | ValueGroup | Matrix | Relation | Choice | Words"

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))
MINUS_ONE = Num(Fraction(-1))


def as_num(value: int | Fraction) -> Num:
    return Num(Fraction(value))


def make_sum(*terms: Scalar) -> Scalar:
    return terms[0] if len(terms) == 1 else Apply("+", terms)


def make_product(*factors: Scalar) -> Scalar:
    return factors[0] if len(factors) == 1 else Apply("*", factors)


def negate(value: Scalar) -> Scalar:
    return Num(-value.value) if isinstance(value, Num) else Apply("*", (MINUS_ONE, value))


def invert(value: Scalar) -> Scalar:
    return Apply("^", (value, MINUS_ONE))


def difference(left: Scalar, right: Scalar) -> Scalar:
    return Apply("+", (left, negate(right)))


def is_scalar(value: Value) -> bool:
    return isinstance(value, (Num, Sym, Apply))


def with_leaves(value: Value, change: Callable[[Value], Value]) -> Value:
    """Apply ``change`` to every scalar, quantity and text in ``value``. Return ``value`` itself if none changes."""
    if isinstance(value, ValueGroup):
        items = tuple(with_leaves(item, change) for item in value.items)
        return value if _alike(items, value.items) else ValueGroup(value.kind, items)
    if isinstance(value, Relation):
        sides = tuple(with_leaves(side, change) for side in value.sides)
        return value if _alike(sides, value.sides) else Relation(value.operators, sides)
    if isinstance(value, Matrix):
        rows = tuple(tuple(with_leaves(item, change) for item in row) for row in value.rows)
        return value if all(map(_alike, rows, value.rows)) else Matrix(rows)
    if isinstance(value, Choice):
        plus, minus = change(value.plus), change(value.minus)
        both = isinstance(plus, (Num, Sym, Apply)) and isinstance(minus, (Num, Sym, Apply))
        return Choice(plus, minus) if both else value  # type: ignore[arg-type]
    return change(value)


def _alike(new: tuple[Value, ...], old: tuple[Value, ...]) -> bool:
    return all(one is other for one, other in zip(new, old))


def leaves(value: Value) -> list[Value]:
    """List every scalar, quantity and text in a value, from left to right."""
    found: list[Value] = []

    def note(leaf: Value) -> Value:
        found.append(leaf)
        return leaf

    with_leaves(value, note)
    return found


def symbols(value: Scalar) -> frozenset[str]:
    """Return the names of the variables in a scalar."""
    if isinstance(value, Sym):
        return frozenset((value.name,))
    if isinstance(value, Apply):
        return frozenset().union(*map(symbols, value.args)) if value.args else frozenset()
    return frozenset()


def count_operation(value: Scalar, op: str) -> int:
    """Count how often an operation occurs in a scalar."""
    if not isinstance(value, Apply):
        return 0
    return (value.op == op) + sum(count_operation(arg, op) for arg in value.args)


def to_json(value: Scalar) -> list[Any]:
    """Encode a scalar as nested lists, with integers in base 16, which Python converts in linear time at any length."""
    if isinstance(value, Num):
        return ["#", hex(value.value.numerator), hex(value.value.denominator)]
    if isinstance(value, Sym):
        return ["$", value.name]
    return [value.op, *map(to_json, value.args)]


def from_json(data: list[Any]) -> Scalar:
    """Decode the scalar that `to_json` encoded."""
    if data[0] == "#":
        return Num(Fraction(int(data[1], 16), int(data[2], 16)))
    if data[0] == "$":
        return Sym(data[1])
    return Apply(data[0], tuple(map(from_json, data[1:])))
