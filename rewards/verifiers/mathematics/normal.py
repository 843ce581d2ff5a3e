r"""Normal forms: exact decisions by rational functions in *atoms*, bounded by a budget of operations, not by a clock.

An atom is a variable, π, e, i, the square root of a prime, or any other subexpression, taken as opaque (``sin(x)``,
``2^x``). Two expressions with equal forms are equal for any atoms. If every atom is a variable, i, a root of a prime,
or one of π and e (not both), the atoms satisfy only the relations used here (roots of different primes and their
products are linearly independent over the rationals, and π and e are transcendental), so different forms prove that the
expressions differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, isqrt

from .tree import Malformed, Num, Scalar, Sym

Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]

ONE_BUDGET = 30_000  # products of terms in one comparison of two scalars; more goes to a worker
WHOLE_BUDGET = 150_000  # in all comparisons that one answer needs
MAX_BITS = 1 << 15  # of a number that is computed
MAX_POWER = 64  # of a sum
MAX_MONOMIAL_POWER = 10**6
MAX_FACTORIAL = 1_000
MAX_EXPONENTIAL = 10**5
TRIAL_PRIMES = tuple(p for p in range(2, 1000) if all(p % q for q in range(2, isqrt(p) + 1)))


class TooBig(Exception):
    """Error raised when the budget is spent."""


class Budget:
    """Number of products of terms that remain for all comparisons of one answer."""

    def __init__(self, terms: int = WHOLE_BUDGET):
        self.left = terms


@dataclass(slots=True)
class RationalForm:
    """Quotient of two polynomials; the denominator ``below`` is not the zero polynomial."""

    above: Polynomial
    below: Polynomial

    @property
    def rational(self) -> Fraction | None:
        """Value of the form if it is a rational number, else None."""
        if self.above.keys() <= {()} and self.below.keys() <= {()}:
            return self.above.get((), Fraction(0)) / self.below[()]
        return None


ONE: Polynomial = {(): Fraction(1)}


class Ring:
    """Atoms of one comparison, and arithmetic on polynomials in them.

    Attributes:
        certain: True if there is no opaque atom, and not both π and e, so that different forms prove a difference.
        giant: True if some number was too large to be computed and became an atom.
    """

    def __init__(self, budget: Budget) -> None:
        self._index: dict[tuple, int] = {}
        self._opaque: list[tuple[str, tuple[RationalForm, ...], int]] = []
        self._squares: dict[int, Fraction] = {}
        self._constants: set[int] = set()
        self._budget = budget
        self._floor = max(budget.left - ONE_BUDGET, 0)
        self._exact = True
        self.giant = False

    @property
    def certain(self) -> bool:
        return self._exact and not (("pi",) in self._index and ("e",) in self._index)

    @property
    def imaginary(self) -> bool:
        """True if the expressions contain i, or the square root of a negative number."""
        return ("i",) in self._index

    # Decisions.

    def equal(self, left: RationalForm, right: RationalForm) -> bool:
        """Return True if two forms are equal."""
        return not self._subtract(self._multiply(left.above, right.below), self._multiply(right.above, left.below))

    def ratio(self, left: RationalForm, right: RationalForm) -> Fraction | bool | None:
        """Return the constant factor between two forms: a number, True if irrational, None if there is none."""
        first = self._by_variables(self._multiply(left.above, right.below))
        second = self._by_variables(self._multiply(right.above, left.below))
        if first.keys() != second.keys() or not first:
            return None
        key = next(iter(first))
        a, b = first[key], second[key]
        for other in first:
            if self._subtract(self._multiply(first[other], b), self._multiply(second[other], a)):
                return None
        return a[()] / b[()] if a.keys() == b.keys() == {()} else True

    def _by_variables(self, polynomial: Polynomial) -> dict[Monomial, Polynomial]:
        grouped: dict[Monomial, Polynomial] = {}
        for monomial, coefficient in polynomial.items():
            variable = tuple(factor for factor in monomial if factor[0] not in self._constants)
            constant = tuple(factor for factor in monomial if factor[0] in self._constants)
            grouped.setdefault(variable, {})[constant] = coefficient
        return grouped

    # From trees to forms.

    def form(self, tree: Scalar) -> RationalForm:
        """Return the form of a tree.

        Raises:
            Malformed: a division by zero or another operation without a value.
            TooBig: the budget is spent.
        """
        if isinstance(tree, Num):
            return RationalForm({(): tree.value} if tree.value else {}, ONE)
        if isinstance(tree, Sym):
            return self._atom(("variable", tree.name))
        if tree.op == "+":
            total = self.form(tree.args[0])
            for arg in tree.args[1:]:
                total = self._sum(total, self.form(arg))
            return total
        if tree.op == "*":
            result = RationalForm(ONE, ONE)
            for arg in tree.args:
                result = self._product(result, self.form(arg))
            return result
        if not tree.args:
            return self._constant(tree.op)
        self._charge(1)
        args = tuple(map(self.form, tree.args))
        if tree.op == "^":
            return self._power(*args)
        if tree.op == "root":
            degree = args[1].rational
            if degree is None or not degree:
                return self._function("^", (args[0], self._power(args[1], self._number(-1))))
            return self._power(args[0], self._number(1 / degree))
        if tree.op == "log":
            below = self._function("ln", args[1:]) if len(args) == 2 else self._atom(("variable", "\\log"))
            return self._product(self._function("ln", args[:1]), self._inverse(below))
        return self._function(tree.op, args)

    def _constant(self, op: str) -> RationalForm:
        if op == "oo":
            raise Malformed("Infinity cannot be part of an expression.")
        form = self._atom((op,))
        atom = self._index[(op,)]
        self._constants.add(atom)
        if op == "i":
            self._squares[atom] = Fraction(-1)
        return form

    def _function(self, op: str, args: tuple[RationalForm, ...]) -> RationalForm:
        values = [arg.rational for arg in args]
        value = values[0]
        if value is not None:
            if op == "abs":
                return self._number(abs(value))
            if op == "floor":
                return self._number(value.numerator // value.denominator)
            if op == "ceil":
                return self._number(-(-value.numerator // value.denominator))
            if op == "ln" and value == 0:
                raise Malformed("The logarithm of zero has no value.")
            if op == "ln" and value == 1:
                return self._number(0)
            if op == "factorial" and value.denominator == 1:
                if value < 0:
                    raise Malformed("The factorial of a negative whole number has no value.")
                if value <= MAX_FACTORIAL:
                    return self._number(factorial(int(value)))
                self.giant = True
        if op == "binomial" and None not in values:
            n, k = (v for v in values if v is not None)
            if n.denominator == k.denominator == 1 and 0 <= n <= MAX_FACTORIAL and k >= 0:
                return self._number(comb(int(n), int(k)))
            self.giant |= abs(n) > MAX_FACTORIAL or abs(k) > MAX_FACTORIAL
        self._exact = False
        for known, known_args, atom in self._opaque:
            if known == op and len(args) == len(known_args) and all(map(self.equal, args, known_args)):
                return RationalForm({((atom, 1),): Fraction(1)}, ONE)
        form = self._atom(("opaque", len(self._opaque)))
        self._opaque.append((op, args, self._index[("opaque", len(self._opaque))]))
        return form

    def _power(self, base: RationalForm, exponent: RationalForm) -> RationalForm:
        n = exponent.rational
        value = base.rational
        if n is None:
            return self._function("^", (base, exponent))
        if not base.above and n <= 0:
            raise Malformed("The expression divides by zero." if n else "Zero to the power of zero has no value.")
        if value in (0, 1) or n == 1:
            return base
        if n.denominator == 1:
            return self._whole_power(base, int(n))
        if n.denominator > MAX_BITS:
            return self._function("^", (base, exponent))
        if value is None:
            root = self._function("^", (base, self._number(Fraction(1, n.denominator))))
        else:
            root = self._root(value, n.denominator)
        return self._whole_power(root, n.numerator)

    def _whole_power(self, base: RationalForm, n: int) -> RationalForm:
        if n < 0:
            return self._whole_power(self._inverse(base), -n)
        value = base.rational
        if value is not None:
            if _bits(value) * n <= MAX_BITS or value in (0, 1, -1):
                return self._number(value**n if abs(value) != 1 else value ** (n % 2))
            self.giant = True
            return self._function("^", (base, self._number(n)))
        if len(base.above) == len(base.below) == 1 and n > MAX_POWER:
            # A power of a single term without roots or a coefficient only has larger exponents.
            (monomial,), (other,) = base.above, base.below
            plain = base.above[monomial] == base.below[other] == 1
            if plain and n <= MAX_MONOMIAL_POWER and not any(atom in self._squares for atom, _ in monomial + other):
                return RationalForm(
                    {tuple((a, e * n) for a, e in monomial): Fraction(1)},
                    {tuple((a, e * n) for a, e in other): Fraction(1)},
                )
        if n > MAX_POWER:
            self.giant |= n > MAX_EXPONENTIAL
            return self._function("^", (base, self._number(n)))
        result = RationalForm(ONE, ONE)
        while n:
            if n & 1:
                result = self._product(result, base)
            n >>= 1
            if n:
                base = self._product(base, base)
        return result

    def _root(self, value: Fraction, degree: int) -> RationalForm:
        """Return the root of a rational number; for a negative number the real root if the degree is odd."""
        if value < 0:
            if degree == 2:
                return self._product(self._constant("i"), self._root(-value, 2))
            if degree % 2:
                return self._product(self._number(-1), self._root(-value, degree))
        above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
        if above is not None and below is not None:
            return self._number(Fraction(above, below))
        if degree != 2 or value < 0:
            return self._function("^", (self._number(value), self._number(Fraction(1, degree))))
        # sqrt(a/b) = sqrt(ab) / b
        outside, primes, rest = _square_free(value.numerator * value.denominator)
        result = self._number(Fraction(outside, value.denominator))
        for prime in primes:
            result = self._product(result, self._square_root(prime))
        if rest > 1:
            # The rest may not be prime, so its root may depend on other roots.
            self._exact = False
            result = self._product(result, self._square_root(rest))
        return result

    def _square_root(self, value: int) -> RationalForm:
        form = self._atom(("root", value))
        atom = self._index[("root", value)]
        self._squares[atom] = Fraction(value)
        self._constants.add(atom)
        return form

    # Arithmetic.

    def _atom(self, key: tuple) -> RationalForm:
        atom = self._index.setdefault(key, len(self._index))
        return RationalForm({((atom, 1),): Fraction(1)}, ONE)

    def _number(self, value: int | Fraction) -> RationalForm:
        return RationalForm({(): Fraction(value)} if value else {}, ONE)

    def _inverse(self, form: RationalForm) -> RationalForm:
        if not form.above:
            raise Malformed("The expression divides by zero.")
        return RationalForm(form.below, form.above)

    def _sum(self, left: RationalForm, right: RationalForm) -> RationalForm:
        if left.below == right.below:
            return RationalForm(self._add(left.above, right.above), left.below)
        above = self._add(self._multiply(left.above, right.below), self._multiply(right.above, left.below))
        return RationalForm(above, self._multiply(left.below, right.below))

    def _product(self, left: RationalForm, right: RationalForm) -> RationalForm:
        return RationalForm(self._multiply(left.above, right.above), self._multiply(left.below, right.below))

    def _charge(self, terms: int, *polynomials: Polynomial) -> None:
        bits = sum(max((_bits(c) for c in polynomial.values()), default=0) for polynomial in polynomials)
        self._budget.left -= terms * (1 + bits // 256)
        if self._budget.left < self._floor:
            raise TooBig

    def _add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        self._charge(len(right), left, right)
        total = dict(left)
        for monomial, coefficient in right.items():
            value = total.get(monomial, 0) + coefficient
            if value:
                total[monomial] = value
            else:
                del total[monomial]
        return total

    def _subtract(self, left: Polynomial, right: Polynomial) -> Polynomial:
        return self._add(left, {monomial: -coefficient for monomial, coefficient in right.items()})

    def _multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left is ONE or right is ONE:
            return right if left is ONE else left
        self._charge(len(left) * len(right), left, right)
        result: Polynomial = {}
        for first, a in left.items():
            for second, b in right.items():
                monomial, factor = self._merge(first, second)
                value = result.get(monomial, 0) + a * b * factor
                if value:
                    result[monomial] = value
                else:
                    del result[monomial]
        return result

    def _merge(self, first: Monomial, second: Monomial) -> tuple[Monomial, Fraction | int]:
        if not first or not second:
            return first or second, 1
        exponents = dict(first)
        factor: Fraction | int = 1
        for atom, exponent in second:
            total = exponents.pop(atom, 0) + exponent
            if total > 1 and atom in self._squares:
                factor *= self._squares[atom] ** (total // 2)
                total %= 2
            if total:
                exponents[atom] = total
        return tuple(sorted(exponents.items())), factor


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _whole_root(value: int, degree: int) -> int | None:
    """Return the ``degree``-th root of a non-negative ``value``; None if it is not a whole number."""
    if degree == 2:
        root = isqrt(value) if value >= 0 else 0
        return root if root * root == value else None
    if value < 0:
        return None
    if degree >= value.bit_length():
        return value if value < 2 else None
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= value:
            low = middle
        else:
            high = middle - 1
    return low if low**degree == value else None


def _square_free(value: int) -> tuple[int, list[int], int]:
    """Factor ``value`` into (a, primes, rest): value = a² times the primes times a rest with unknown factors."""
    outside, primes = 1, []
    for prime in TRIAL_PRIMES:
        while value % (prime * prime) == 0:
            value //= prime * prime
            outside *= prime
        if value % prime == 0:
            value //= prime
            primes.append(prime)
    if 1 < value < TRIAL_PRIMES[-1] ** 2:
        return outside, [*primes, value], 1
    root = isqrt(value)
    return (outside * root, primes, 1) if root * root == value else (outside, primes, value)
