r"""Tuples, sets, lists and vectors as plain listings of values, for the option ``containers`` of the verifier "math".

Intervals are not containers: ``[1, 2]``, ``[1, 2)`` and anything with infinity as an end equal only themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .solutions import expand_choices, solutions, split_equation
from .tree import Apply, Matrix, Relation, Value, ValueGroup, count_operation, is_scalar

_KINDS = frozenset(("()", "[]", "{}", "{", "<>", ",", "or", "and"))


@dataclass(frozen=True, slots=True)
class Listing:
    """Values of a container.

    Attributes:
        values: the values in order.
        kind: kind of the group, "matrix" or "names".
        name: the variable that takes these values, or "".
    """

    values: tuple[Value, ...]
    kind: str
    name: str = ""

    @property
    def unordered(self) -> bool:
        return self.kind in ("{}", "or", "and", "±")


def list_values(value: Value) -> Listing | None:
    """List the values of a container; None for any other value."""
    if isinstance(value, Matrix):
        if len(value.rows) > 1 and len(value.rows[0]) > 1:
            return None
        return Listing(tuple(item for row in value.rows for item in row), "matrix")
    if assigned := _values_of_names(value):
        return assigned
    if found := solutions(value):
        return Listing(found.values, found.kind, found.name)
    if not isinstance(value, ValueGroup) or value.kind not in _KINDS:
        return None
    if any(is_scalar(item) and isinstance(item, Apply) and count_operation(item, "oo") for item in value.items):
        return None
    if value.kind == "[]" and len(value.items) == 2:
        return None
    return Listing(tuple(expand_choices(value.items)), value.kind)


def loose_listings(a: Listing | None, b: Listing | None, first: Value, second: Value) -> tuple[Listing, Listing] | None:
    """Return the listings of answer and reference for a loose comparison; None if the strict comparison decides.

    Args:
        a: listing of the answer, or None.
        b: listing of the reference, or None.
        first: the answer.
        second: the reference.
    """
    if a is None and b is not None and len(b.values) == 1 and is_scalar(first):
        return Listing((first,), b.kind), b
    if b is None and a is not None and len(a.values) == 1 and is_scalar(second):
        return a, Listing((second,), a.kind)
    if a is None or b is None or a.kind == b.kind or (a.name and b.name and a.name != b.name):
        return None
    return a, b


def _values_of_names(value: Value) -> Listing | None:
    """Read ``x = 1, y = 2`` as the values of a tuple if the names are in alphabetical order."""
    if not isinstance(value, ValueGroup) or value.kind not in (",", "and", "()", "[]") or len(value.items) < 2:
        return None
    found = [split_equation(item) for item in value.items if isinstance(item, Relation)]
    if len(found) < len(value.items) or any(content is None for _, content in found):
        return None
    if not all(first < second for (first, _), (second, _) in pairwise(found)):
        return None
    return Listing(tuple(content for _, content in found if content is not None), "names")
