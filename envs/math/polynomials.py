"""Polynomials with whole coefficients: arithmetic, text, rational roots, irreducibility, and readers of answers.

A polynomial in x is the tuple of its coefficients, the constant first and the leading one, never 0, last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from .symbolic_answers import Expression, UnreadableAnswer, format_sum, read_expression

Polynomial = tuple[int, ...]
# The variables of a term with their exponents, in alphabetical order.
Monomial = tuple[tuple[str, int], ...]

MAX_EXPONENT = 64


def multiply_polynomials(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    product = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        if a:
            for j, b in enumerate(q):
                product[i + j] += a * b
    return tuple(product)


def multiply_all(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product of any number of polynomials."""
    product: Polynomial = (1,)
    for factor in factors:
        product = multiply_polynomials(product, factor)
    return product


def divide_exactly(p: Polynomial, q: Polynomial) -> Polynomial:
    """Divide ``p`` by its divisor ``q``; the remainder must be 0."""
    rest, quotient = list(p), [0] * (len(p) - len(q) + 1)
    for place in range(len(quotient) - 1, -1, -1):
        quotient[place] = factor = rest[place + len(q) - 1] // q[-1]
        for i, b in enumerate(q):
            rest[place + i] -= factor * b
    return tuple(quotient)


def format_polynomial(p: Polynomial) -> str:
    """Write ``(5, -1, 3)`` as ``3x^2 - x + 5``."""
    powers = ["", "x", *(f"x^{k}" for k in range(2, len(p)))]
    return format_sum(zip(reversed(p), reversed(powers[: len(p)])), times="")


def value_at(p: Polynomial, x: int | Fraction) -> int | Fraction:
    """Return the value of ``p`` at ``x``."""
    total: int | Fraction = 0
    for coefficient in reversed(p):
        total = total * x + coefficient
    return total


def nonzero_integer(u: float, size: int) -> int:
    """Return a whole number from -size to size without zero, from ``u`` in [0, 1)."""
    k = int(u * 2 * size)
    return k - size if k < size else k - size + 1


def find_rational_root(p: Polynomial) -> Fraction | None:
    """Return a rational root of a polynomial whose constant is not 0, or None."""
    for b in _divisors(p[-1]):
        for a in _divisors(p[0]):
            if math.gcd(a, b) == 1:
                for root in (Fraction(a, b), Fraction(-a, b)):
                    if not value_at(p, root):
                        return root
    return None


def is_irreducible(p: Polynomial) -> bool:
    """Return True if a polynomial of degree 1 to 4 has no factors over the integers except 1, -1, itself and its
    negative."""
    if math.gcd(*p) > 1:
        return False
    degree = len(p) - 1
    if degree == 1 or not p[0]:
        return degree == 1
    if degree == 2:
        below = p[1] * p[1] - 4 * p[0] * p[2]
        return below < 0 or math.isqrt(below) ** 2 != below
    return find_rational_root(p) is None and (degree == 3 or not _splits_into_quadratics(p))


def _splits_into_quadratics(p: Polynomial) -> bool:
    """Return True if a polynomial of degree 4 without rational roots is a product of two of degree 2 (Gauss' lemma)."""
    f, e, d, c, a = p
    # y = a x makes it monic with whole coefficients: y^4 + c y^3 + d y^2 + e y + f.
    d, e, f = d * a, e * a * a, f * a**3
    for size in _divisors(f):
        for q in (size, -size):
            # (y^2 + s y + q)(y^2 + t y + r), so that s + t = c, q + r + s t = d, s r + t q = e.
            r = f // q
            if q != r:
                s, rest = divmod(e - c * q, r - q)
                if not rest and q + r + s * (c - s) == d:
                    return True
            elif e == c * q:
                below = c * c - 4 * (d - 2 * q)
                if below >= 0 and math.isqrt(below) ** 2 == below:
                    return True
    return False


def _divisors(n: int) -> list[int]:
    n = abs(n)
    small = [k for k in range(1, math.isqrt(n) + 1) if n % k == 0]
    return small + [n // k for k in reversed(small) if k * k != n]


# Reading.


def read_sum(answer: str) -> list[tuple[Monomial, Fraction]]:
    """Return the terms of an expanded polynomial, in any number of variables, as they are written.

    Raises:
        UnreadableAnswer: the answer is not a sum of products of numbers and powers of variables.
    """
    return _collect_terms(read_expression(answer))


def read_product(answer: str) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """Return the number before a product of polynomials in x, and the polynomials with their exponents, as written.

    Raises:
        UnreadableAnswer: the answer is not a product of numbers and powers of expanded polynomials in x with whole
            coefficients.
    """
    numbers: list[Fraction] = []
    factors: list[tuple[Polynomial, int]] = []
    _collect_factors(read_expression(answer), 1, numbers, factors)
    return math.prod(numbers, start=Fraction(1)), factors


def _collect_factors(
    node: Expression, power: int, numbers: list[Fraction], factors: list[tuple[Polynomial, int]]
) -> None:
    if isinstance(node, tuple) and node[0] == "*":
        for factor in node[1:]:
            _collect_factors(factor, power, numbers, factors)
    elif isinstance(node, tuple) and node[0] == "^":
        total = power * _read_exponent(node[2])
        if total > MAX_EXPONENT:
            raise UnreadableAnswer(f"Exponents beyond {MAX_EXPONENT} are not read.")
        _collect_factors(node[1], total, numbers, factors)
    elif isinstance(node, Fraction):
        if max(node.numerator.bit_length(), node.denominator.bit_length()) > 64:
            raise UnreadableAnswer("The number before the product is too large.")
        numbers.append(node**power)
    else:
        factors.append((_to_polynomial(_collect_terms(node)), power))


def _to_polynomial(terms: list[tuple[Monomial, Fraction]]) -> Polynomial:
    coefficients: dict[int, int] = {}
    for monomial, coefficient in terms:
        if coefficient.denominator != 1 or any(name != "x" for name, _ in monomial):
            raise UnreadableAnswer("The factors must be polynomials in x with whole coefficients.")
        power = monomial[0][1] if monomial else 0
        coefficients[power] = coefficients.get(power, 0) + coefficient.numerator
    degree = max((power for power, coefficient in coefficients.items() if coefficient), default=0)
    return tuple(coefficients.get(power, 0) for power in range(degree + 1))


def _collect_terms(node: Expression) -> list[tuple[Monomial, Fraction]]:
    if isinstance(node, tuple) and node[0] == "+":
        return [term for part in node[1:] for term in _collect_terms(part)]
    coefficient, powers = Fraction(1), dict[str, int]()
    waiting = [node]
    while waiting:
        factor = waiting.pop()
        if isinstance(factor, Fraction):
            coefficient *= factor
        elif isinstance(factor, str):
            powers[factor] = powers.get(factor, 0) + 1
        elif factor[0] == "*":
            waiting += factor[1:]
        elif factor[0] == "^" and isinstance(factor[1], str):
            powers[factor[1]] = powers.get(factor[1], 0) + _read_exponent(factor[2])
        else:
            raise UnreadableAnswer("The polynomial must be expanded: a sum of numbers times powers of variables.")
    return [(tuple(sorted(powers.items())), coefficient)]


def _read_exponent(node: Expression) -> int:
    if not isinstance(node, Fraction) or node.denominator != 1 or not 1 <= node <= MAX_EXPONENT:
        raise UnreadableAnswer(f"Exponents must be whole numbers from 1 to {MAX_EXPONENT}.")
    return node.numerator
