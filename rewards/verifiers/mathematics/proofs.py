"""Proofs by sympy that an expression is zero, by a list of steps, the cheap ones first.

A step returns an expression that is zero only if the given expression is zero wherever it is defined.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import atan, lcm, pi
from typing import Any

import sympy
from sympy.polys.polyerrors import BasePolynomialError
from sympy.simplify.fu import TR8

MAX_MULTIPLE = 200
MAX_BITS_OF_PRODUCT = 10_000  # binary

_CIRCULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)
_HYPERBOLIC = (sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch)


def vanishes(expression: Any) -> bool:
    """Return True if sympy proves that an expression is zero; False means that no proof was found."""
    if expression == 0:
        return True
    for step in _STEPS:
        try:
            if step(expression) == 0:
                return True
        except (NotImplementedError, BasePolynomialError, ValueError, TypeError, ZeroDivisionError):
            continue
    return False


def _algebraic(expression: Any) -> Any:
    if expression.is_number and expression.is_algebraic:
        x = sympy.Dummy("x")
        return 0 if sympy.minimal_polynomial(expression, x) == x else 1
    return 1


def _without_products(expression: Any) -> Any:
    """Return the numerator as a sum of sines and cosines of multiples, which is zero only if all its terms cancel.

    Multiple angles are not expanded: sin(100x) would become a polynomial of degree 100.
    """
    expression = expression.replace(sympy.tan, lambda x: sympy.sin(x) / sympy.cos(x))
    expression = expression.replace(sympy.cot, lambda x: sympy.cos(x) / sympy.sin(x))
    expression = expression.replace(sympy.sec, lambda x: 1 / sympy.cos(x))
    expression = expression.replace(sympy.csc, lambda x: 1 / sympy.sin(x))
    numerator, _ = sympy.fraction(sympy.together(expression))
    return sympy.expand(TR8(sympy.expand(numerator)))


def _factor_roots(expression: Any) -> Any:
    """Factor every radicand, so that the roots of squares become absolute values."""
    return expression.replace(
        lambda node: node.is_Pow and node.exp.is_Rational and not node.exp.is_Integer,
        lambda node: sympy.Pow(sympy.factor(node.base), node.exp),
    )


def _arctangents(expression: Any) -> Any:
    """Return 0 for a vanishing sum of rational multiples of π and arctangents of rational numbers, else 1.

    The product of (1 + ir)^n has the argument of the sum of n arctan r, up to whole turns. The argument is a multiple
    of π/4 only if the product is real, imaginary or has parts of equal size; a few digits then determine the multiple.
    No other rational multiple of π occurs.
    """
    total, turns, terms = Fraction(0), Fraction(0), []
    parts: dict[Any, Any] = expression.expand().as_coefficients_dict()
    for factor, coefficient in parts.items():
        if not coefficient.is_Rational:
            return 1
        share = Fraction(int(coefficient.p), int(coefficient.q))
        if factor == sympy.pi:
            turns += share
        elif factor.func == sympy.atan and factor.args[0].is_Rational:
            tangent = factor.args[0]
            terms.append((share, Fraction(int(tangent.p), int(tangent.q))))
        else:
            return 1
    if not terms:
        return 1
    common = lcm(*(share.denominator for share, _ in terms))
    real, imaginary = 1, 0
    for share, tangent in terms:
        n = int(share * common)
        bits = max(tangent.numerator.bit_length(), tangent.denominator.bit_length())
        if abs(n) > MAX_MULTIPLE or abs(n) * bits * len(terms) > MAX_BITS_OF_PRODUCT:
            return 1
        a, b = tangent.denominator, tangent.numerator if n > 0 else -tangent.numerator
        for _ in range(abs(n)):
            real, imaginary = real * a - imaginary * b, real * b + imaginary * a
        total += n * Fraction(atan(tangent))
    if real and imaginary and abs(real) != abs(imaginary):
        return 1
    # The sum is a multiple of π/4, and its error is far less than π/8.
    quarters = round(float(total) / (pi / 4))
    return 0 if Fraction(quarters, 4) + turns * common == 0 else 1


def _logarithms_of_one_sign(expression: Any) -> Any:
    """Return the product of the arguments minus 1 for a sum of logarithms with multiples of one sign. The result is
    zero if the sum vanishes. The arguments must be real and continuous everywhere, and positive at one point: with the
    product 1 no argument is ever zero, so none changes its sign. Any other expression is returned unchanged."""
    expression = expression.replace(sympy.asinh, lambda x: sympy.log(x + sympy.sqrt(x**2 + 1)))
    product, multiples, at = sympy.Integer(1), [], {}
    for factor, coefficient in expression.expand().as_coefficients_dict().items():
        if not (isinstance(factor, sympy.log) and coefficient.is_Integer and abs(coefficient) <= 4):
            return expression
        inside = factor.args[0]
        if not _continuous(inside):
            return expression
        at = dict.fromkeys(expression.free_symbols, sympy.Rational(1, 3))
        if not inside.subs(at).is_positive:
            return expression
        multiples.append(int(coefficient))
        product *= inside ** abs(coefficient)
    if not (all(m > 0 for m in multiples) or all(m < 0 for m in multiples)):
        return expression
    return sympy.expand(product) - 1


def _continuous(expression: Any) -> bool:
    """Return True if an expression is, by its structure, real and continuous at every real point."""
    if expression.is_Rational or (expression.is_Symbol and expression.is_real):
        return True
    if expression.is_Add or expression.is_Mul:
        return all(map(_continuous, expression.args))
    if expression.is_Pow and expression.exp.is_Rational and expression.exp > 0:
        whole = expression.exp.is_Integer
        return _continuous(expression.base) and bool(whole or expression.base.is_nonnegative)
    return False


def _logarithms_of_squares(expression: Any) -> Any:
    """Rewrite ln(x^2) as 2 ln|x|, and other even powers of real bases likewise."""

    def is_logarithm_of_even_power(node: Any) -> bool:
        if not (isinstance(node, sympy.log) and node.args[0].is_Pow):
            return False
        power: Any = node.args[0]
        return bool(power.exp.is_Integer and power.exp % 2 == 0 and power.base.is_extended_real)

    return expression.replace(
        is_logarithm_of_even_power,
        lambda node: node.args[0].exp * sympy.log(sympy.Abs(node.args[0].base)),
    )


_STEPS: tuple[Callable[[Any], Any], ...] = (
    sympy.expand,
    lambda e: sympy.expand(sympy.expand_log(e, factor=True)),
    lambda e: _arctangents(e) if e.has(sympy.atan) else 1,
    lambda e: sympy.expand(_logarithms_of_squares(e)) if e.has(sympy.log) else 1,
    lambda e: sympy.expand(_logarithms_of_one_sign(e)) if e.has(sympy.log, sympy.asinh) else 1,
    lambda e: _without_products(e) if e.has(*_CIRCULAR) else 1,
    lambda e: sympy.expand(e.rewrite(sympy.exp)) if e.has(sympy.I, *_HYPERBOLIC) else 1,
    lambda e: sympy.cancel(sympy.together(e)),
    lambda e: sympy.radsimp(sympy.sqrtdenest(e)),
    _algebraic,
    lambda e: sympy.expand(_factor_roots(e)),
    lambda e: sympy.expand(e.rewrite(sympy.asin)) if e.has(sympy.acos) else 1,
    sympy.simplify,
    lambda e: sympy.simplify(e.rewrite(sympy.exp)),
    lambda e: sympy.gammasimp(sympy.combsimp(e)),
)
