"""Evaluation of expressions such as ``7 + 2 * 3``, one operation at a time in the order of precedence.

Input: the values, the operators between them, and a function that applies an operator. Output: all operations with
their results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

Value = TypeVar("Value")


def evaluate_in_order(
    values: Sequence[Value], operators: Sequence[str], apply: Callable[[Value, str, Value], Value]
) -> list[tuple[Value, str, Value, Value]]:
    """Return the operations of ``values[0] operators[0] values[1] ...``: * and / from left to right, then + and -.

    Args:
        values: two or more.
        operators: one of "+-*/" between any two neighbouring values.
        apply: returns the result of ``left operator right``.

    Returns:
        (left, operator, right, result) of each operation; the last result is the value of the expression.
    """
    left, waiting, done = list(values), list(operators), []
    for binding in ("*/", "+-"):
        place = 0
        while place < len(waiting):
            if waiting[place] not in binding:
                place += 1
                continue
            operator = waiting.pop(place)
            a, b = left[place : place + 2]
            result = apply(a, operator, b)
            left[place : place + 2] = [result]
            done.append((a, operator, b, result))
    return done


def apply_operator(a: Fraction, operator: str, b: Fraction) -> Fraction:
    """Return the exact result of one of the operators "+-*/"."""
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    return a * b if operator == "*" else a / b


def order_free_key(values: Sequence[object], operators: Sequence[str]) -> str:
    """Return text that is equal for expressions that differ only in the order of their sums and products: ``+*3*7 -*2``
    for ``7 * 3 - 2`` and for ``3 * 7 - 2``."""
    products, sign, factors = [], "+", [f"*{values[0]}"]
    for operator, value in zip(operators, values[1:]):
        if operator in "*/":
            factors.append(f"{operator}{value}")
        else:
            products.append(sign + "".join(sorted(factors)))
            sign, factors = operator, [f"*{value}"]
    return " ".join(sorted([*products, sign + "".join(sorted(factors))]))


def format_expression(values: Sequence[str], operators: Sequence[str]) -> str:
    """Write the expression: ``7 + 2 * 3``."""
    return values[0] + "".join(f" {operator} {value}" for operator, value in zip(operators, values[1:]))


def format_long_product(a: int, b: int) -> str:
    """Write a product of positive numbers by the digits of one: ``345 * 27 = 345 * 20 + 345 * 7 = 6900 + 2415 =
    9315``."""
    if sum(d != "0" for d in str(a)) < sum(d != "0" for d in str(b)):
        a, b = b, a
    digits = str(b)
    parts = [int(digit) * 10 ** (len(digits) - 1 - i) for i, digit in enumerate(digits) if digit != "0"]
    if len(parts) == 1:
        return f"{a} * {b} = {a * b}"
    split = " + ".join(f"{a} * {part}" for part in parts)
    return f"{a} * {b} = {split} = {' + '.join(str(a * part) for part in parts)} = {a * b}"
