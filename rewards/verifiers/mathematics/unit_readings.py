"""The two readings of letters behind a number: ``3m`` is three metres, or three times a variable.

Neither is guessed at. A text keeps both, and two values are the same where they are as variables, or where they are as
units; never the one as this and the other as that. A unit belongs to one number or one product, so that ``1 + 2m`` is
read with a variable only.
"""

from __future__ import annotations

from .canonical import has_variables
from .tree import Apply, Num, Quantity, Sym, Value, is_scalar, leaves, symbols, with_leaves


def as_variables(value: Value) -> Value:
    """``value`` with all letters as variables that may be some; itself where there are none."""
    return value if isinstance(value, (Num, Apply, Sym)) else with_leaves(value, _plain)


def as_units(value: Value, reference: Value) -> Value:
    """``value`` with letters behind one number as units, and those behind a sum too where ``reference`` has no
    variables, so that they can be none."""
    if has_variables(as_variables(reference)):
        return with_leaves(value, lambda leaf: _plain(leaf) if isinstance(leaf, Quantity) and leaf.loose else leaf)
    return value


def consistent(value: Value) -> Value:
    """``value`` without units whose letters are variables elsewhere in it, as in ``(2m, m + 1)``."""
    names: set[str] = set()
    for leaf in leaves(value):
        if isinstance(leaf, Quantity):
            names |= symbols(leaf.value)
        elif is_scalar(leaf):
            names |= symbols(leaf)  # type: ignore[arg-type]

    def settled(leaf: Value) -> Value:
        if isinstance(leaf, Quantity) and leaf.plain is not None:
            return leaf.plain if (symbols(leaf.plain) - symbols(leaf.value)) & names else leaf
        return leaf

    return with_leaves(value, settled) if names else value


def _plain(leaf: Value) -> Value:
    return leaf.plain if isinstance(leaf, Quantity) and leaf.plain is not None else leaf
