r"""Writer of the mathematics verifier's values: as text in several styles, and as numbers at a point.

`write_value` is the inverse of `grammar.read`: in every style the text has the same value. Letters after a number
(``3m``) and letters side by side (``2cm``) are written as people write variables.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..verifiers.mathematics.tree import (
    MINUS_ONE,
    Apply,
    Matrix,
    Num,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    as_num,
    make_product,
    negate,
    with_leaves,
)
from ..verifiers.mathematics.vocabulary import CONNECTIVES, CONSTANTS, FUNCTIONS, GLUED, GREEK, SHORT_WORDS

_NAME = re.compile(r"[A-Za-z](?:_[0-9A-Za-z])?")
_OPERATORS = {"=": "=", "<": "<", ">": ">", "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne "}
_PLAIN_OPERATORS = {"=": "=", "<": "<", ">": ">", "≤": "<=", "≥": ">=", "≠": "!="}
_FUNCTIONS = frozenset(("sin", "cos", "tan", "ln", "exp", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"))
_CONSTANTS = {"pi": math.pi, "e": math.e, "i": 1j}
# Runs of letters that are not read as products of variables.
MISREAD = SHORT_WORDS | CONNECTIVES | frozenset(FUNCTIONS) | frozenset(CONSTANTS)


class Unwritable(ValueError):
    """Error for a value that this module's styles cannot write."""


@dataclass(frozen=True, slots=True)
class Style:
    r"""A way to write values as text.

    Args:
        latex: write ``\frac{1}{2}`` and ``x^{2}`` instead of ``1/2`` and ``x^2``.
        times: the sign between factors: "", " ", "*" or ``\cdot ``; `_between` replaces "" and " " where they would be
            misread.
        power: ``^`` or ``**`` (in plain text).
        spaces: put spaces around signs.
    """

    latex: bool = True
    times: str = ""
    power: str = "^"
    spaces: bool = True


PLAIN = Style(latex=False)


def write_value(value: Value, style: Style = Style()) -> str:
    """Write ``value`` as text.

    Raises:
        Unwritable: the value has units, words, a name with an argument (``f(2)``), or an operation without a plain
            form.
    """
    if isinstance(value, Relation):
        signs = _OPERATORS if style.latex else _PLAIN_OPERATORS
        if not set(value.operators) <= set(signs):
            raise Unwritable("a relation of another kind")
        text = write_value(value.sides[0], style)
        for operator, side in zip(value.operators, value.sides[1:]):
            text += f" {signs[operator].strip()} {write_value(side, style)}"
        return text
    if isinstance(value, ValueGroup):
        items = [write_value(item, style) for item in value.items]
        if value.kind in ("()", "[]", "(]", "[)"):
            return value.kind[0] + ", ".join(items) + value.kind[1]
        if value.kind == "{}":
            return "\\{" + ", ".join(items) + "\\}"
        if value.kind in (",", "or", "and"):
            return (", " if value.kind == "," else f" {value.kind} ").join(items)
        raise Unwritable(f"a group of the kind {value.kind!r}")
    if isinstance(value, Matrix):
        rows = " \\\\ ".join(" & ".join(write_value(item, style) for item in row) for row in value.rows)
        return f"\\begin{{pmatrix}} {rows} \\end{{pmatrix}}"
    if isinstance(value, (Num, Sym, Apply)):
        return _sum(value, style)
    raise Unwritable(f"a {type(value).__name__}")


def _sum(value: Scalar, style: Style) -> str:
    terms = value.args if isinstance(value, Apply) and value.op == "+" else (value,)
    text = ""
    for position, term in enumerate(terms):
        size, negative = _split_sign(term)
        product = _product(size, style)
        if position:
            sign = "-" if negative else "+"
            text += f" {sign} {product}" if style.spaces else sign + product
        else:
            text += "-" + product if negative else product
    return text


def _split_sign(term: Scalar) -> tuple[Scalar, bool]:
    """Return the absolute part of a term, and True if its sign is minus."""
    if isinstance(term, Num) and term.value < 0:
        return Num(-term.value), True
    if isinstance(term, Apply) and term.op == "*" and isinstance(term.args[0], Num) and term.args[0].value < 0:
        rest = term.args[1:]
        return make_product(*(rest if term.args[0] == MINUS_ONE and rest else (Num(-term.args[0].value), *rest))), True
    return term, False


def _product(value: Scalar, style: Style) -> str:
    factors = list(value.args) if isinstance(value, Apply) and value.op == "*" else [value]
    above: list[Scalar] = []
    below: list[Scalar] = []
    for factor in factors:
        inverse = isinstance(factor, Apply) and factor.op == "^" and factor.args[1] == MINUS_ONE
        (below if inverse else above).append(factor.args[0] if inverse else factor)  # type: ignore[union-attr]
    if below:
        top, bottom = make_product(*(above or [as_num(1)])), make_product(*below)
        if style.latex:
            return f"\\frac{{{_sum(top, style)}}}{{{_sum(bottom, style)}}}"
        return f"{_bracket(top, style)}/{_bracket(bottom, style)}"
    parts = [_factor(factor, style, alone=len(above) == 1) for factor in above]
    text = parts[0]
    for part in parts[1:]:
        text += _between(text, part, style) + part
    return text


def _between(left: str, right: str, style: Style) -> str:
    """Return the sign between two written factors: "" only if the product cannot be misread without a sign."""
    if style.times not in ("", " "):
        return style.times
    after_letter = bool(re.search(r"[A-Za-z](?:_\w)?$", left))
    # x(2) and g^2(x) are functions at a place.
    function = right[0] in "([|" and not (left.isdigit() or (left.endswith(")") and not re.search(r"\^|\*\*", left)))
    if right[0].isdigit() or right.startswith("\\frac") or function:
        return "\\cdot " if style.latex else "*"
    # A root or a bar behind any factor gets a plain sign.
    if right[0] in "|s" and right.startswith(("|", "sqrt")):
        return "*"
    if not (after_letter and right[0].isalpha()):
        # A command name runs into a letter that follows it: \pi x needs the space.
        return style.times or (" " if re.search(r"\\[A-Za-z]+$", left) and right[0].isalpha() else "")
    run = re.search(r"[A-Za-z]*$", left)[0] + re.match(r"[A-Za-z]*", right)[0]  # type: ignore[index]
    short = len(run) <= 3 and not re.search(r"\\[A-Za-z]+$", left)
    plain = (
        short and run.lower() not in MISREAD and run not in MISREAD and run not in GREEK and not GLUED.fullmatch(run)
    )
    return style.times if style.times == " " or (plain and right[1:2] != "_") else " "


def _factor(value: Scalar, style: Style, alone: bool) -> str:
    if isinstance(value, Num):
        text = _number(value.value, style)
        return text if alone or (value.value >= 0 and (style.latex or "/" not in text)) else f"({text})"
    if isinstance(value, Sym):
        if value.name in GREEK:
            return f"\\{value.name}"
        if not _NAME.fullmatch(value.name):
            raise Unwritable(f"the name {value.name!r}")
        return value.name
    if value.op in ("+", "*"):
        return f"({_sum(value, style)})"
    if value.op == "^":
        return _power(value, style)
    return _function(value, style)


def _number(value: Fraction, style: Style) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    above, below = abs(value.numerator), value.denominator
    return f"{sign}\\frac{{{above}}}{{{below}}}" if style.latex else f"{sign}{above}/{below}"


def _bracket(value: Scalar, style: Style) -> str:
    simple = isinstance(value, Sym) or (isinstance(value, Num) and value.value >= 0 and value.value.denominator == 1)
    return _factor(value, style, alone=True) if simple else f"({_sum(value, style)})"


def _power(value: Apply, style: Style) -> str:
    base, exponent = value.args
    left = _bracket(base, style)
    if style.latex:
        return f"{left}^{{{_sum(exponent, style)}}}"
    right = _bracket(exponent, style) if isinstance(exponent, Num) else f"({_sum(exponent, style)})"
    return f"{left}{style.power}{right}"


def _function(value: Apply, style: Style) -> str:
    op, args = value.op, value.args
    if not args and op in ("pi", "oo"):
        return {"pi": "\\pi", "oo": "\\infty"}[op]
    if not args and op in ("e", "i"):
        return op
    if op == "root":
        if args[1] == as_num(2):
            return f"\\sqrt{{{_sum(args[0], style)}}}" if style.latex else f"sqrt({_sum(args[0], style)})"
        return f"\\sqrt[{_sum(args[1], style)}]{{{_sum(args[0], style)}}}"
    if op in _FUNCTIONS and len(args) == 1:
        return ("\\" if style.latex and op != "exp" else "") + f"{op}({_sum(args[0], style)})"
    if op == "abs":
        return f"\\left|{_sum(args[0], style)}\\right|" if style.latex else f"abs({_sum(args[0], style)})"
    if op == "factorial":
        return f"({_sum(args[0], style)})!"
    raise Unwritable(f"the operation {op!r}")


def rename_variables(value: Value, names: Mapping[str, str]) -> Value:
    """Return ``value`` with its variables renamed: ``names`` maps old names to new ones."""

    def change(leaf: Value) -> Value:
        return _rename_in_scalar(leaf, names) if isinstance(leaf, (Sym, Apply)) else leaf

    return with_leaves(value, change)


def _rename_in_scalar(value: Scalar, names: Mapping[str, str]) -> Scalar:
    if isinstance(value, Sym):
        return Sym(names.get(value.name, value.name))
    if isinstance(value, Apply) and value.args:
        return Apply(value.op, tuple(_rename_in_scalar(arg, names) for arg in value.args))
    return value


def evaluate_at(value: Scalar, point: Mapping[str, float]) -> complex:
    """Evaluate a scalar at ``point``, which maps each variable name to a number.

    Raises:
        ArithmeticError, ValueError: the scalar has no value there, or one of its operations is not supported.
        KeyError: a variable is missing in ``point``.
    """
    if isinstance(value, Num):
        return complex(value.value)
    if isinstance(value, Sym):
        return complex(point[value.name])
    if not value.args:
        if value.op not in _CONSTANTS:
            raise ValueError(value.op)
        return complex(_CONSTANTS[value.op])
    args = [evaluate_at(arg, point) for arg in value.args]
    if value.op == "+":
        return sum(args, 0j)
    if value.op == "*":
        return math.prod(args, start=1 + 0j)
    if value.op == "^":
        return args[0] ** args[1]
    if value.op == "root":
        return args[0] ** (1 / args[1])
    if value.op == "abs":
        return complex(abs(args[0]))
    if value.op == "ln":
        return cmath.log(args[0])
    if value.op in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
        return getattr(cmath, value.op)(args[0])
    raise ValueError(value.op)


def flip_sign(term: Scalar) -> Scalar:
    """Return a term with the opposite sign."""
    size, negative = _split_sign(term)
    return size if negative else negate(size)
