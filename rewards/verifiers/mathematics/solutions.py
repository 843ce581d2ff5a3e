"""Relations on one variable, read as a list of values or as an interval.

``x = 2 or x = -3``, ``x = 2, -3`` and ``2, -3`` list the same values; ``x <= 3`` and ``(-oo, 3]`` are the same set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .canonical import has_variables
from .tree import Apply, Choice, Relation, Sym, Value, ValueGroup, is_scalar, negate, symbols

INTERVALS = frozenset(("()", "(]", "[)", "[]"))
_MIRRORED = {">": "<", "≥": "≤"}
_INFINITY = Apply("oo")


@dataclass(frozen=True, slots=True)
class BinaryRelation:
    """Relation between two values; ``>`` and ``≥`` are stored as ``<`` and ``≤`` with swapped sides."""

    operator: str
    left: Value
    right: Value


def binary_relations(value: Value) -> list[BinaryRelation] | None:
    """List the relations of a chain or conjunction, which must all hold; None for any other value."""
    if isinstance(value, Relation):
        found = []
        for operator, left, right in zip(value.operators, value.sides, value.sides[1:]):
            if operator in _MIRRORED:
                operator, left, right = _MIRRORED[operator], right, left
            found.append(BinaryRelation(operator, left, right))
        return found
    if isinstance(value, ValueGroup) and value.kind in (",", "and"):
        parts = [binary_relations(item) for item in value.items]
        if None not in parts:
            return [link for part in parts for link in part or ()]
    return None


@dataclass(frozen=True, slots=True)
class Solutions:
    """Values of one variable.

    Attributes:
        name: name of the variable, or "".
        values: the values in order.
        kind: separator or bracket of the values.
    """

    name: str
    values: tuple[Value, ...]
    kind: str

    @property
    def unordered(self) -> bool:
        return self.kind != "," or bool(self.name)

    def may_equal(self, other: Solutions) -> bool:
        """Return True if the kinds are compatible: a comma agrees with "or" and "and", ± with all kinds."""
        return "±" in (self.kind, other.kind) or (
            "{}" not in (self.kind, other.kind) and (self.kind == other.kind or "," in (self.kind, other.kind))
        )


def solutions(value: Value) -> Solutions | None:
    """Return the values that a list, ± or a list of equations gives to one variable; None for any other value."""
    if isinstance(value, Choice):
        return Solutions("", (value.plus, value.minus), "±")
    if isinstance(value, Relation):
        name, content = split_equation(value)
        return Solutions(name, (content.plus, content.minus), "±") if isinstance(content, Choice) else None
    if not isinstance(value, ValueGroup) or value.kind not in (",", "or", "and", "{}"):
        return None
    name, values = "", []
    for position, item in enumerate(value.items):
        if isinstance(item, Relation):
            own, content = split_equation(item)
            if content is None or (position and own != name):
                return None
            name = own
            values.append(content)
        else:
            values.append(item)
    return Solutions(name, tuple(expand_choices(values)), value.kind)


def split_equation(value: Relation) -> tuple[str, Value | None]:
    """Split an equation into the variable on one side and the other side; ("", None) if no side is a variable."""
    if value.operators == ("=",):
        for name, content in (value.sides, value.sides[::-1]):
            if isinstance(name, Sym) and not (is_scalar(content) and name.name in symbols(content)):  # type: ignore[arg-type]
                return name.name, content
    return "", None


def expand_choices(items: Iterable[Value]) -> list[Value]:
    """Replace each value with ± by its two values."""
    flat: list[Value] = []
    for item in items:
        flat += (item.plus, item.minus) if isinstance(item, Choice) else (item,)
    return flat


def region(value: Value) -> tuple[str, Value] | None:
    """Return the variable of an inequality, of several joined by "or", or of ``x in (0, 1]``, and its interval or
    union. Return None for any other value."""
    if isinstance(value, Relation) and value.operators == ("∈",):
        name, content = value.sides
        return (name.name, content) if isinstance(name, Sym) and is_region(content) else None
    if isinstance(value, ValueGroup) and value.kind == "or":
        parts = [region(item) for item in value.items]
        names = {part[0] for part in parts if part is not None}
        if None in parts or len(names) != 1:
            return None
        return names.pop(), ValueGroup("∪", tuple(part[1] for part in parts if part is not None))
    found = binary_relations(value)
    if not found or len(found) > 2:
        return None
    name, low, high, opening, closing = "", None, None, "(", ")"
    for link in found:
        if link.operator not in "<≤":
            return None
        if isinstance(link.left, Sym) and not has_variables(link.right) and high is None:
            own, high, closing = link.left.name, link.right, "]" if link.operator == "≤" else ")"
        elif isinstance(link.right, Sym) and not has_variables(link.left) and low is None:
            own, low, opening = link.right.name, link.left, "[" if link.operator == "≤" else "("
        else:
            return None
        if name not in ("", own):
            return None
        name = own
    return name, ValueGroup(opening + closing, (negate(_INFINITY) if low is None else low, high or _INFINITY))


def is_region(value: Value) -> bool:
    """Return True if a value is an interval, or a union of intervals."""
    if not isinstance(value, ValueGroup):
        return False
    if value.kind == "∪":
        return all(map(is_region, value.items))
    return value.kind in INTERVALS and len(value.items) == 2


def may_be_a_point(value: Value) -> bool:
    """Return True if an interval may also be read as a point: ``(2, 5)``."""
    return (
        isinstance(value, ValueGroup)
        and value.kind == "()"
        and _INFINITY not in value.items
        and not any(item == negate(_INFINITY) for item in value.items)
    )
