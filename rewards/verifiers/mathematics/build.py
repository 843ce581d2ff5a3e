"""Construction of scalars from smaller scalars; operations on plain numbers are computed at once."""

from __future__ import annotations

from fractions import Fraction

from .tree import (
    Apply,
    Malformed,
    Num,
    Quantity,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    as_num,
    invert,
    is_scalar,
    make_product,
)


def has_symbol(value: Value) -> bool:
    """Return True if a value contains a variable."""
    if isinstance(value, Sym):
        return True
    if isinstance(value, Quantity):
        return value.plain is not None
    return isinstance(value, Apply) and any(map(has_symbol, value.args))


def is_operand(value: Value) -> bool:
    """Return True if `scalar` accepts the value."""
    if isinstance(value, ValueGroup) and value.kind == "[]" and len(value.items) == 1:
        return is_operand(value.items[0])
    return is_scalar(value) or (isinstance(value, Quantity) and value.plain is not None)


def scalar(value: Value) -> Scalar:
    """Convert a single number or expression to a scalar; square brackets around it count as parentheses.

    Raises:
        Malformed: the value is of another kind, such as a tuple.
    """
    if isinstance(value, ValueGroup) and value.kind == "[]" and len(value.items) == 1:
        return scalar(value.items[0])
    if isinstance(value, (Num, Sym, Apply)):
        return value
    if isinstance(value, Quantity) and value.plain is not None:
        # Inside a larger expression the letters are variables, as in (2m)^2.
        return value.plain
    raise Malformed("Only single numbers and expressions can be combined by arithmetic.")


def radians(value: Value) -> Scalar:
    """Convert the argument of a function to a scalar: an angle with its unit becomes a number of radians."""
    if isinstance(value, Quantity) and value.unit.dimensions == (("angle", 1),):
        return product([value.value, Num(value.unit.factor), *[Apply("pi")] * value.unit.pi])
    return scalar(value)


def product(factors: list[Scalar]) -> Scalar:
    """Multiply scalars: two numbers are computed, nested products become one product."""
    if len(factors) == 2 and isinstance(factors[0], Num) and isinstance(factors[1], Num):
        return Num(factors[0].value * factors[1].value)
    flat: list[Scalar] = []
    for factor in factors:
        flat.extend(factor.args if isinstance(factor, Apply) and factor.op == "*" else (factor,))
    return make_product(*flat)


def inverse(value: Scalar) -> Scalar:
    """Return one over ``value``. Raises Malformed for zero."""
    if isinstance(value, Num):
        if not value.value:
            raise Malformed("The expression divides by zero.")
        return Num(1 / value.value)
    return invert(value)


def is_arithmetic(value: Scalar) -> bool:
    """Return True if a scalar is a rational number written with numbers only, such as ``1+2``."""
    if isinstance(value, Apply):
        whole = value.op != "^" or (isinstance(value.args[1], Num) and value.args[1].value.denominator == 1)
        return whole and value.op in ("+", "*", "^") and all(map(is_arithmetic, value.args))
    return isinstance(value, Num)


def make_power(base: Scalar, exponent: Scalar) -> Scalar:
    """Raise ``base`` to ``exponent``; an exponent of 1 gives ``base``."""
    return base if exponent == as_num(1) else Apply("^", (base, exponent))


def mixed_number(whole: Num, numerator: Num, denominator: Num) -> Num:
    """Return the value of a mixed number such as 3 1/2.

    Raises:
        Malformed: the second part is not a fraction between 0 and 1 of whole numbers.
    """
    fraction = numerator.value / denominator.value if denominator.value else Fraction(0)
    if not 0 < fraction < 1 or numerator.value.denominator != 1 or denominator.value.denominator != 1:
        raise Malformed("A mixed number needs a fraction between 0 and 1 of whole numbers; write a sign otherwise.")
    return Num(whole.value + fraction)


def make_function(name: str, arguments: list[Scalar], base: Scalar | None, degree: Scalar | None) -> Scalar:
    """Apply a function to its arguments, rewritten in the few operations that the rest of the verifier knows.

    Raises:
        Malformed: a wrong number of arguments.
    """
    if len(arguments) != (2 if name == "binomial" else 1):
        raise Malformed(f"The function {name} does not take {len(arguments)} arguments.")
    argument = arguments[0]
    if name == "exp":
        return Apply("^", (Apply("e"), argument))
    if name == "sqrt":
        return Apply("root", (argument, degree or as_num(2)))
    if name == "cbrt":
        return Apply("root", (argument, as_num(3)))
    if name == "lg":
        return Apply("log", (argument, as_num(10)))
    if name == "log" and base is not None:
        return Apply("ln", (argument,)) if base == Apply("e") else Apply("log", (argument, base))
    return Apply(name, tuple(arguments))
