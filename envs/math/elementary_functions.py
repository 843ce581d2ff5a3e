"""Elementary functions of x in a normal form that decides whether two are equal, and their derivatives.

A function is a quotient of two sums of terms ``c i^b x^n e^p A``: c is rational, b is 0 or 1, p is a polynomial in x
and 1/x whose coefficients may contain i (so that sines are sums of exponentials), and A is a product of powers of
logarithms and of a constant C. Functions with the same form are equal. Functions with different forms are different
(theorems of Lindemann and Ax on exponentials and logarithms), except for relations between logarithms of products, such
as ln(6) = ln(2) + ln(3). Nothing is evaluated, and all work is counted against a budget, so that no answer takes long.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .symbolic_answers import Expression, UnreadableAnswer, read_expression

# (b, n, p, A): p as ((power, b), coefficient) in order, A as (atom, power) in order. An atom is ("C",) or
# ("ln", polynomial), which counts as the logarithm of the absolute value.
Exponent = tuple[tuple[tuple[int, int], Fraction], ...]
Atoms = tuple[tuple[tuple[Any, ...], int], ...]
Term = tuple[int, int, Exponent, Atoms]
Sum = dict[Term, Fraction]

MAX_POWER = 64
BUDGET = 5_000  # products of terms in one judgement, weighted by the length of their coefficients
_NO_POLYNOMIAL = "An exponent or the argument of a function must be a polynomial in x."
_UNIT: Term = (0, 0, (), ())
_ONE: Sum = {_UNIT: Fraction(1)}


@dataclass(frozen=True, slots=True)
class Form:
    """A quotient of two sums; ``below`` is not zero."""

    above: Sum
    below: Sum


class Functions:
    """Reader of expressions in x, with their comparison and derivatives. An object serves one judgement: its budget of
    work is not renewed.

    Args:
        constants: names of variables that stand for a constant, as C in ``x^2 + C``.
    """

    def __init__(self, constants: str = ""):
        self._constants = constants
        self._left = BUDGET

    def equal(self, one: Form, other: Form) -> bool:
        """Return True if two functions are equal wherever both are defined."""
        left, right = self._times(one.above, other.below), self._times(other.above, one.below)
        return not self._plus(left, {term: -c for term, c in right.items()})

    def derivative(self, form: Form) -> Form:
        """Return the derivative with respect to x."""
        above = self._differentiate(form.above)
        if form.below == _ONE:
            return above
        below = self._differentiate(form.below)
        # (u/v)' = (u' v - u v') / v^2
        first = self._product(above, Form(form.below, _ONE))
        second = self._product(below, Form({term: -c for term, c in form.above.items()}, _ONE))
        return self._product(self._sum(first, second), Form(_ONE, self._times(form.below, form.below)))

    def read(self, node: Expression) -> Form:
        """Return the function that an expression denotes.

        Raises:
            UnreadableAnswer: the expression has variables, functions or powers outside the normal form, has no value,
                or is too large.
        """
        if isinstance(node, Fraction):
            return _as_form({_UNIT: node} if node else {})
        if isinstance(node, str):
            if node == "x":
                return _as_form({(0, 1, (), ()): Fraction(1)})
            if node in self._constants and len(node) == 1:
                return _as_form({(0, 0, (), ((("C",), 1),)): Fraction(1)})
            raise UnreadableAnswer(f"The name {node[:20]!r} is not known here; write a function of x.")
        operation, *args = node
        if operation == "+":
            total = self.read(args[0])
            for arg in args[1:]:
                total = self._sum(total, self.read(arg))
            return total
        if operation == "*":
            result = self.read(args[0])
            for arg in args[1:]:
                result = self._product(result, self.read(arg))
            return result
        if operation == "e":
            return self._exponential(_as_form(_ONE))
        if operation == "^" and args[0] == ("e",):
            return self._exponential(self.read(args[1]))
        if operation == "^":
            return self._power(self.read(args[0]), self.read(args[1]))
        if operation in ("ln", "log") and len(args) == 1:
            inside = args[0][1] if isinstance(args[0], tuple) and args[0][0] == "abs" else args[0]
            form = self.read(inside)
            top, bottom = self._logarithm_of_sum(form.above), self._logarithm_of_sum(form.below)
            return _as_form(self._plus(top, {term: -c for term, c in bottom.items()}))
        if operation in _TRIGONOMETRIC:
            return self._trigonometric(operation, self.read(args[0]))
        raise UnreadableAnswer("Only x, numbers, + - * / ^, e, ln, sin, cos, tan and their like are known here.")

    # Functions.

    def _exponent(self, form: Form) -> dict[tuple[int, int], Fraction]:
        """Return ``form``, which must be a polynomial in x and 1/x, as the exponent of e."""
        exponent: dict[tuple[int, int], Fraction] = {}
        for (i, n, p, atoms), c in self._without_denominator(form).items():
            if p or atoms:
                raise UnreadableAnswer(_NO_POLYNOMIAL)
            exponent[n, i] = c
        return exponent

    def _exponential(self, form: Form) -> Form:
        return _as_form({(0, 0, tuple(sorted(self._exponent(form).items())), ()): Fraction(1)})

    def _trigonometric(self, name: str, form: Form) -> Form:
        above, below = _TRIGONOMETRIC[name]
        exponent, i = self._exponent(form), 0
        if not name.endswith("h"):
            exponent, i = {(n, 1 - j): -c if j else c for (n, j), c in exponent.items()}, 1
        plus = tuple(sorted(exponent.items()))
        minus = tuple((key, -c) for key, c in plus)
        half = Fraction(1, 2)
        # cosh p = (e^p + e^-p) / 2, sinh p = (e^p - e^-p) / 2, cos p = cosh ip, sin p = -i sinh ip
        even, odd = _ONE, {}
        if plus:
            even = {(0, 0, plus, ()): half, (0, 0, minus, ()): half}
            odd = {(i, 0, plus, ()): -half if i else half, (i, 0, minus, ()): half if i else -half}
        parts = {"even": even, "odd": odd, "1": _ONE}
        return self._product(_as_form(parts[above]), self._inverse(_as_form(parts[below])))

    def _logarithm_of_sum(self, polynomial: Sum) -> Sum:
        if not polynomial:
            raise UnreadableAnswer("The logarithm of zero has no value.")
        if any(i or p or atoms for i, _, p, atoms in polynomial):
            raise UnreadableAnswer("The argument of a logarithm must be a quotient of polynomials in x.")
        powers = {n: c for (_, n, _, _), c in polynomial.items()}
        low, leading = min(powers), powers[max(powers)]
        monic = tuple(sorted((n - low, c / leading) for n, c in powers.items()))
        logarithms = [(((1, Fraction(1)),), low), (monic if len(monic) > 1 else None, 1)]
        logarithms += [(((0, Fraction(abs(leading.numerator))),), 1), (((0, Fraction(leading.denominator)),), -1)]
        total: Sum = {}
        for inside, factor in logarithms:
            if inside and factor and inside != ((0, Fraction(1)),):
                total = self._plus(total, {(0, 0, (), ((("ln", inside), 1),)): Fraction(factor)})
        return total

    def _power(self, base: Form, exponent: Form) -> Form:
        value = self._without_denominator(exponent)
        n = value.get(_UNIT, Fraction(0))
        if value.keys() - {_UNIT} or n.denominator != 1 or abs(n) > MAX_POWER:
            raise UnreadableAnswer(f"Powers of e may have any exponent, others a whole number up to {MAX_POWER}.")
        if n < 0:
            base, n = self._inverse(base), -n
        result = _as_form(_ONE)
        for bit in f"{n.numerator:b}":
            result = self._product(result, result)
            if bit == "1":
                result = self._product(result, base)
        return result

    # Arithmetic.

    def _without_denominator(self, form: Form) -> Sum:
        """Divide ``form`` by its denominator, which must be a number."""
        if form.below.keys() != {_UNIT}:
            raise UnreadableAnswer(_NO_POLYNOMIAL)
        return {term: c / form.below[_UNIT] for term, c in form.above.items()}

    def _inverse(self, form: Form) -> Form:
        if not form.above:
            raise UnreadableAnswer("The expression divides by zero.")
        if len(form.above) > 1:
            return Form(form.below, form.above)
        ((i, n, p, atoms), c) = next(iter(form.above.items()))
        # 1/i = -i
        inverse = (i, -n, tuple((key, -value) for key, value in p), tuple((atom, -power) for atom, power in atoms))
        return Form(self._times({inverse: (-1 if i else 1) / c}, form.below), _ONE)

    def _sum(self, one: Form, other: Form) -> Form:
        if one.below == other.below:
            return Form(self._plus(one.above, other.above), one.below)
        above = self._plus(self._times(one.above, other.below), self._times(other.above, one.below))
        return Form(above, self._times(one.below, other.below))

    def _product(self, one: Form, other: Form) -> Form:
        return Form(self._times(one.above, other.above), self._times(one.below, other.below))

    def _plus(self, one: Sum, other: Sum) -> Sum:
        self._charge(len(other))
        total = dict(one)
        for term, c in other.items():
            value = total.get(term, 0) + c
            if value:
                total[term] = value
            else:
                del total[term]
        return total

    def _times(self, one: Sum, other: Sum) -> Sum:
        if one is _ONE or other is _ONE:
            return other if one is _ONE else one
        self._charge(len(one) * len(other) * (1 + (_coefficient_bits(one) + _coefficient_bits(other)) // 512))
        product: Sum = {}
        for (i, n, p, atoms), c in one.items():
            for (j, m, q, others), d in other.items():
                term = ((i + j) % 2, n + m, _merge_powers(p, q), _merge_powers(atoms, others))
                value = product.get(term, 0) + (-c * d if i and j else c * d)
                if value:
                    product[term] = value
                else:
                    del product[term]
        return product

    def _differentiate(self, function: Sum) -> Form:
        total = Form({}, _ONE)
        for (i, n, p, atoms), c in function.items():
            here: Sum = {(i, n, p, atoms): c}
            inner: Sum = {(0, -1, (), ()): Fraction(n)} if n else {}
            for (power, j), a in p:
                if power:
                    inner = self._plus(inner, {(j, power - 1, (), ()): a * power})
            if inner:
                total = self._sum(total, _as_form(self._times(here, inner)))
            for place, (atom, power) in enumerate(atoms):
                if atom[0] == "ln":
                    fewer = atoms[:place] + (((atom, power - 1),) if power != 1 else ()) + atoms[place + 1 :]
                    slope = {(0, k - 1, (), ()): a * k for k, a in atom[1] if k}
                    inside = {(0, k, (), ()): a for k, a in atom[1]}
                    quotient = self._product(_as_form(slope), self._inverse(_as_form(inside)))
                    total = self._sum(total, self._product(_as_form({(i, n, p, fewer): c * power}), quotient))
        return total

    def _charge(self, work: int) -> None:
        self._left -= 1 + work
        if self._left < 0:
            raise UnreadableAnswer("The expression is too large.")


@lru_cache(maxsize=1024)
def read_reference(text: str) -> Form:
    """Return the function that a reference denotes, cached for all answers to a task."""
    return Functions().read(read_expression(text))


def _as_form(above: Sum) -> Form:
    return Form(above, _ONE)


def _coefficient_bits(function: Sum) -> int:
    return max((max(c.numerator.bit_length(), c.denominator.bit_length()) for c in function.values()), default=0)


def _merge_powers(one: Any, other: Any) -> Any:
    """Merge two sorted tuples of (key, value), adding the values of equal keys and dropping zeros."""
    if not one or not other:
        return one or other
    total = dict(one)
    for key, value in other:
        total[key] = total.get(key, 0) + value
    return tuple(sorted((key, value) for key, value in total.items() if value))


_TRIGONOMETRIC = {
    "sin": ("odd", "1"),
    "cos": ("even", "1"),
    "tan": ("odd", "even"),
    "cot": ("even", "odd"),
    "sec": ("1", "even"),
    "csc": ("1", "odd"),
}
_TRIGONOMETRIC |= {f"{name}h": parts for name, parts in list(_TRIGONOMETRIC.items())[:3]}
