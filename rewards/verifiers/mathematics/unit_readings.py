"""Two readings of letters after a number: ``3m`` is three metres, or three times a variable.

A value keeps both readings. Two values are the same if they are equal with variables on both sides, or with units on
both sides, never with one of each. A unit belongs to one number or one product, so ``1 + 2m`` has a variable only.
"""

from __future__ import annotations

from .canonical import has_variables
from .tree import Apply, Num, Quantity, Sym, Value, is_scalar, leaves, symbols, with_leaves


def as_variables(value: Value) -> Value:
    """Replace units that may be variables by variables; return ``value`` itself if it has no units."""
    return value if isinstance(value, (Num, Apply, Sym)) else with_leaves(value, _plain)


def as_units(value: Value, reference: Value) -> Value:
    """Read letters after one number as units, and letters after a sum too if ``reference`` has no variables."""
    if has_variables(as_variables(reference)):
        return with_leaves(value, lambda leaf: _plain(leaf) if isinstance(leaf, Quantity) and leaf.loose else leaf)
    return value


def consistent(value: Value) -> Value:
    """Read letters of units as variables if they are variables elsewhere in ``value``, as in ``(2m, m + 1)``."""
    names: set[str] = set()
    for leaf in leaves(value):
        if isinstance(leaf, Quantity):
            names |= symbols(leaf.value)
        elif is_scalar(leaf):
            names |= symbols(leaf)  # type: ignore[arg-type]

    def settle(leaf: Value) -> Value:
        if isinstance(leaf, Quantity) and leaf.plain is not None:
            return leaf.plain if (symbols(leaf.plain) - symbols(leaf.value)) & names else leaf
        return leaf

    return with_leaves(value, settle) if names else value


def _plain(leaf: Value) -> Value:
    return leaf.plain if isinstance(leaf, Quantity) and leaf.plain is not None else leaf
