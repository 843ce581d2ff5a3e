"""Random expressions, relations, tuples and sets in given letters: the references of `metamorphic.fuzz`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..verifiers.mathematics.tree import (
    Apply,
    Num,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    as_num,
    make_product,
    make_sum,
)


def random_value(rng: np.random.Generator, letters: Sequence[str]) -> Value:
    """Draw an expression, a relation, a tuple or a set in some of ``letters``."""
    kind = int(rng.integers(9))
    if kind == 0:
        return _term(rng, letters) if rng.random() < 0.6 else _with_function(rng, letters)
    if kind == 1:
        return number_and_multiple(rng, str(rng.choice(letters)))
    if kind == 2:
        return _sum_of(rng, letters, 2)
    if kind == 3:
        return _sum_of(rng, letters, int(rng.integers(3, 5)))
    if kind == 4:
        # 3 (m + 2) s
        factors = [as_num(int(rng.integers(2, 9))), _sum_of(rng, letters, 2), Sym(str(rng.choice(letters)))]
        return make_product(*factors[: int(rng.integers(2, 4))])
    if kind == 5:
        below = _sum_of(rng, letters, 2) if rng.random() < 0.5 else _term(rng, letters)
        return make_product(_sum_of(rng, letters, 2), Apply("^", (below, as_num(-1))))
    if kind == 6:
        left = Sym(str(rng.choice(letters))) if rng.random() < 0.6 else _sum_of(rng, letters, 2)
        operator = str(rng.choice(("=", "=", "=", "<", "≤", ">", "≥")))
        return Relation((operator,), (left, _sum_of(rng, letters, 2)))
    if kind == 7:
        items = tuple(_sum_of(rng, letters, 2) for _ in range(int(rng.integers(2, 4))))
        return ValueGroup(str(rng.choice(("()", ",", "{}"))), items)
    root = Apply("root", (as_num(int(rng.choice((2, 3, 5, 7)))), as_num(2)))
    return make_sum(make_product(as_num(int(rng.integers(2, 9))), root), _term(rng, letters))


def number_and_multiple(rng: np.random.Generator, letter: str) -> Apply:
    """Draw a number plus a multiple of ``letter``, in this order."""
    first, second = (int(k) for k in rng.choice((-9, -5, -3, 1, 2, 4, 7, 10), size=2, replace=False))
    return Apply("+", (as_num(first), make_product(as_num(second), Sym(letter))))


def _with_function(rng: np.random.Generator, letters: Sequence[str]) -> Scalar:
    """Draw the sum of a term and a multiple of a function or square root."""
    inside = _term(rng, letters) if rng.random() < 0.5 else _sum_of(rng, letters, 2)
    kind = int(rng.integers(6))
    if kind < 3:
        outside: Scalar = Apply("root", (inside, as_num(2)))
    else:
        outside = Apply(("sin", "cos", "ln")[kind - 3], (inside,))
    return make_sum(make_product(as_num(int(rng.integers(2, 9))), outside), _term(rng, letters))


def _sum_of(rng: np.random.Generator, letters: Sequence[str], terms: int) -> Scalar:
    """Draw a sum of ``terms`` unlike terms; in half of the draws one of them is a plain number."""
    found: dict[Scalar, Scalar] = {}
    if rng.random() < 0.5:
        found[as_num(1)] = as_num(int(rng.choice((-9, -5, -3, -1, 1, 2, 3, 4, 5, 7, 10, 12))))
    while len(found) < terms:
        term = _term(rng, letters)
        found.setdefault(make_product(*split_coefficient(term)[1]), term)
    parts = list(found.values())
    return make_sum(*(parts[k] for k in rng.permutation(len(parts))))


def _term(rng: np.random.Generator, letters: Sequence[str]) -> Scalar:
    """Draw a multiple of one or two letters; in a quarter of the draws the first letter is squared or cubed."""
    names = sorted(rng.choice(letters, size=int(rng.choice((1, 1, 1, 2))), replace=False).tolist())
    factors: list[Scalar] = [Sym(name) for name in names]
    if rng.random() < 0.25:
        factors[0] = Apply("^", (factors[0], as_num(int(rng.integers(2, 4)))))
    coefficient = Fraction(int(rng.choice((-7, -3, -2, -1, 1, 1, 2, 3, 4, 5, 8))), int(rng.choice((1, 1, 1, 1, 2, 3))))
    return make_product(*factors) if coefficient == 1 else make_product(Num(coefficient), *factors)


def split_coefficient(term: Scalar) -> tuple[Fraction, tuple[Scalar, ...]]:
    """Split a term into its coefficient and the remaining factors."""
    if isinstance(term, Num):
        return term.value, ()
    factors = term.args if isinstance(term, Apply) and term.op == "*" else (term,)
    if isinstance(factors[0], Num):
        return factors[0].value, tuple(factors[1:])
    return Fraction(1), tuple(factors)
