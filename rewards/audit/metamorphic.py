r"""Pairs of answer and reference with a known verdict, because the answer was made from the reference.

Right answers: variables renamed on both sides, sums and products in another order, an equation scaled, other
multiplication signs, spaces and delimiters. Wrong answers: a letter taken for a unit of a whole sum (``3m`` for
``1 + 2m``), one variable renamed, a coefficient changed. `rewritings` makes pairs from any reference that the
mathematics verifier reads, `fuzz` from random expressions; `measure_fuzz` counts a verifier's errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from ...checks import check_number
from ...errors import InputError
from ..verdict import Verdict
from ..verifiers import verify
from ..verifiers.mathematics.grammar import read
from ..verifiers.mathematics.tree import (
    Apply,
    Choice,
    Malformed,
    Matrix,
    Num,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    as_num,
    difference,
    is_scalar,
    leaves,
    make_product,
    make_sum,
    symbols,
)
from ..verifiers.mathematics.unit_readings import as_variables
from .random_values import number_and_multiple, random_value, split_coefficient
from .value_writer import Style, Unwritable, evaluate_at, flip_sign, rename_variables, write_value

# Letters that are common names of variables and also name a unit or begin the name of one.
UNIT_LETTERS = tuple("ghlmstdckAJKLNVW")
OTHER_LETTERS = tuple("abnpqruvwxyzBCDM")
_MIRRORED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
DELIMITERS = (
    *(("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("\\boxed{", "}"), ("$\\boxed{", "}$")),
    *(("**", "**"), ("  ", " ")),
)
STYLES = tuple(
    Style(latex, times, power, spaces)
    for latex, times, power in (
        *((True, times, "^") for times in ("", " ", "\\cdot ")),
        *((False, times, power) for times in ("", " ", "*") for power in ("^", "**")),
    )
    for spaces in (True, False)
)
_POINTS = 3
_TRIES = 40


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Answer and reference with a known label.

    Attributes:
        answer: text of the answer.
        reference: text of the reference.
        right: True if the answer is right.
        what: the change that made the answer from the reference.
    """

    answer: str
    reference: str
    right: bool
    what: str


def rewritings(reference: str, seed: int = 0, count: int = 8) -> list[LabelledPair]:
    """Make up to ``count`` right and up to ``count`` wrong answers from a reference. The list is empty if the reference
    consists of words, has a unit that cannot be a variable, or is outside the verifier's grammar."""
    try:
        value = as_variables(read(reference))
        write_value(value)
    except (Malformed, Unwritable, RecursionError):
        return []
    rng = np.random.default_rng([seed, *reference.encode()])
    pairs: list[LabelledPair] = []
    for right in (True, False):
        for _ in range(count):
            if pair := _pair(value, right, rng):
                pairs.append(pair)
    return pairs


def confusions(seed: int = 0, letters: Sequence[str] = UNIT_LETTERS) -> list[LabelledPair]:
    """Make for each letter one right and one wrong answer to a number plus a multiple of the letter: ``2m + 1`` and
    ``3m`` for ``1 + 2m``."""
    rng = np.random.default_rng([seed, 2])
    pairs = []
    for letter in letters:
        value = number_and_multiple(rng, letter)
        pairs.append(LabelledPair(_text(reorder(value, rng), rng), _text(value, rng), True, "reordered"))
        wrong = _confuse_unit(list(value.args), rng)
        pairs.append(LabelledPair(_text(wrong, rng), _text(value, rng), False, "a unit of the whole sum"))
    return pairs


def fuzz(
    count: int, seed: int = 0, right: bool = True, letters: Sequence[str] = UNIT_LETTERS
) -> Iterator[LabelledPair]:
    """Yield random pairs, all of them right or all of them wrong.

    Args:
        count: number of pairs.
        seed: seed of the draws; the same seed gives the same pairs.
        right: True for right answers, False for wrong ones.
        letters: names of variables; half of the expressions use `OTHER_LETTERS` as well.

    Raises:
        InputError: no letters, or a count below 0.
    """
    if count < 0 or not letters:
        raise InputError(f"a fuzz needs a count of 0 or more and letters, not {count!r} and {letters!r}.")
    rng = np.random.default_rng([seed, right])
    made = 0
    while made < count:
        pool = [*letters, *(OTHER_LETTERS if rng.random() < 0.5 else ())]
        pair = _pair(random_value(rng, pool), right, rng)
        if pair is not None:
            made += 1
            yield pair


@dataclass(frozen=True)
class FuzzResult:
    """Errors of a verifier on the pairs of `fuzz`.

    Attributes:
        right, wrong: number of pairs with a right and with a wrong answer.
        refused: pairs whose right answer was refused.
        accepted: pairs whose wrong answer was accepted.
        undecided: pairs without a valid verdict.
    """

    right: int
    wrong: int
    refused: tuple[LabelledPair, ...]
    accepted: tuple[LabelledPair, ...]
    undecided: tuple[LabelledPair, ...]


def measure_fuzz(
    right: int,
    wrong: int,
    seed: int = 0,
    grade: Callable[[str, str], Verdict] | None = None,
    after: Callable[[LabelledPair], object] | None = None,
) -> FuzzResult:
    """Count a verifier's errors on ``right`` right and ``wrong`` wrong pairs of `fuzz`.

    Args:
        right, wrong: number of pairs of each kind.
        seed: seed of `fuzz`.
        grade: callable from (answer, reference) to a verdict; None takes the verifier "math".
        after: called with each pair once it is graded (to show progress).
    """
    for name, value in (("right", right), ("wrong", wrong)):
        check_number(name, value, low=0)
    judge = grade or (lambda answer, reference: verify("math", answer, reference))
    refused, accepted, undecided = [], [], []
    for label, count in ((True, right), (False, wrong)):
        for pair in fuzz(count, seed, label):
            verdict = judge(pair.answer, pair.reference)
            if not verdict.valid:
                undecided.append(pair)
            elif verdict.success != label:
                (refused if label else accepted).append(pair)
            if after is not None:
                after(pair)
    return FuzzResult(right, wrong, tuple(refused), tuple(accepted), tuple(undecided))


# One pair.


def _pair(value: Value, right: bool, rng: np.random.Generator) -> LabelledPair | None:
    """Make a pair from a value; return None if this draw gives none."""
    names = sorted(one_letter_variables(value))
    if names and rng.random() < 0.5:
        pool = [name for name in (*UNIT_LETTERS, *OTHER_LETTERS) if name not in names]
        chosen = rng.choice(pool, size=len(names), replace=False).tolist()
        value = rename_variables(value, dict(zip(names, chosen)))
    if right:
        if _is_equation(value) and rng.random() < 0.6:
            answer, what = reorder(_scale(value, rng), rng), "scaled"
        else:
            answer, what = reorder(value, rng), "reordered"
    else:
        found = _change_value(value, rng)
        if found is None:
            return None
        answer, what = found
        answer = answer if rng.random() < 0.5 else reorder(answer, rng)
    try:
        return LabelledPair(_text(answer, rng), _text(value, rng), right, what)
    except Unwritable:
        return None


def _text(value: Value, rng: np.random.Generator) -> str:
    text = write_value(value, STYLES[rng.integers(len(STYLES))])
    if rng.random() < 0.4:
        opening, closing = DELIMITERS[rng.integers(len(DELIMITERS))]
        # Two asterisks inside the text are a power and would end the bold type.
        text = text if opening == "**" and "**" in text else opening + text + closing
    return text


def one_letter_variables(value: Value) -> set[str]:
    """Return the one-letter variable names in a value."""
    names: set[str] = set()
    for leaf in leaves(value):
        names |= symbols(leaf) if is_scalar(leaf) else set()  # type: ignore[arg-type]
    return {name for name in names if len(name) == 1}


# Changes that keep the value.


def _is_equation(value: Value) -> TypeGuard[Relation]:
    """Return True if a value is an equation or inequality of two scalars."""
    return (
        isinstance(value, Relation)
        and len(value.sides) == 2
        and value.operators[0] in "=<>≤≥"
        and all(map(is_scalar, value.sides))
    )


def reorder(value: Value, rng: np.random.Generator) -> Value:
    """Return the value with its sums, products and unordered groups in a random order."""
    if isinstance(value, Relation):
        return Relation(value.operators, tuple(reorder(side, rng) for side in value.sides))
    if isinstance(value, ValueGroup):
        items = [reorder(item, rng) for item in value.items]
        if value.kind in ("{}", "or", "and"):
            items = [items[k] for k in rng.permutation(len(items))]
        return ValueGroup(value.kind, tuple(items))
    if isinstance(value, Matrix):
        return Matrix(tuple(tuple(reorder(item, rng) for item in row) for row in value.rows))
    if isinstance(value, Choice) or not isinstance(value, Apply) or not value.args:
        return value
    args = [reorder(arg, rng) for arg in value.args]
    # Signed infinity has one spelling only.
    if Apply("oo") in args:
        return value
    if value.op in ("+", "*"):
        args = [args[k] for k in rng.permutation(len(args))]
    return Apply(value.op, tuple(args))  # type: ignore[arg-type]


def _scale(value: Relation, rng: np.random.Generator) -> Relation:
    """Multiply an equation or inequality by a number, and swap its sides in half of the draws."""
    operator, (left, right) = value.operators[0], value.sides
    factor = as_num(int(rng.integers(2, 10)))
    sides = (_times(factor, left), _times(factor, right))  # type: ignore[arg-type]
    if rng.random() < 0.5:
        sides, operator = sides[::-1], _MIRRORED.get(operator, operator)
    return Relation((operator,), sides)


def _times(factor: Num, value: Scalar) -> Scalar:
    """Multiply a scalar by a number, term by term."""
    if isinstance(value, Num):
        return Num(value.value * factor.value)
    if isinstance(value, Apply) and value.op == "+":
        return make_sum(*(_times(factor, term) for term in value.args))
    if isinstance(value, Apply) and value.op == "*" and isinstance(value.args[0], Num):
        return make_product(Num(value.args[0].value * factor.value), *value.args[1:])
    return make_product(factor, *(value.args if isinstance(value, Apply) and value.op == "*" else (value,)))


# Changes of the value.


def _change_value(value: Value, rng: np.random.Generator) -> tuple[Value, str] | None:
    """Return a different value that resembles ``value``, and the change in words; None after too many attempts."""
    for _ in range(_TRIES):
        if _is_equation(value):
            side = int(rng.integers(2))
            changed, what = _make_mistake(value.sides[side], rng)  # type: ignore[arg-type]
            sides = (changed, value.sides[1]) if side == 0 else (value.sides[0], changed)
            other = Relation(value.operators, sides)
            if not _proportional(difference(*value.sides), difference(*sides)):  # type: ignore[arg-type]
                return other, what
        elif isinstance(value, ValueGroup) and value.items and all(map(is_scalar, value.items)):
            place = int(rng.integers(len(value.items)))
            changed, what = _make_mistake(value.items[place], rng)  # type: ignore[arg-type]
            if all(_differ(changed, item) for item in value.items):  # type: ignore[arg-type]
                return ValueGroup(value.kind, (*value.items[:place], changed, *value.items[place + 1 :])), what
        elif isinstance(value, (Num, Sym, Apply)):
            changed, what = _make_mistake(value, rng)
            if _differ(changed, value):
                return changed, what
        else:
            return None
    return None


def _make_mistake(value: Scalar, rng: np.random.Generator) -> tuple[Scalar, str]:
    """Return a scalar with a mistake, and the mistake in words. The mistake need not change the scalar's value."""
    terms = list(value.args) if isinstance(value, Apply) and value.op == "+" else [value]
    names = sorted(name for name in symbols(value) if len(name) == 1)
    kind = int(rng.integers(6))
    if kind < 2 and len(terms) > 1 and names:
        return _confuse_unit(terms, rng), "a unit of the whole sum"
    if kind == 2 and names:
        pool = [name for name in (*UNIT_LETTERS, *OTHER_LETTERS) if name not in names]
        other = str(rng.choice(pool))
        return rename_variables(value, {str(rng.choice(names)): other}), "another variable"  # type: ignore[return-value]
    place = int(rng.integers(len(terms)))
    if kind == 3:
        terms[place] = flip_sign(terms[place])
        return make_sum(*terms), "another sign"
    if kind == 4 and len(terms) > 1:
        return make_sum(*terms[:place], *terms[place + 1 :]), "a term left out"
    coefficient, rest = split_coefficient(terms[place])
    other_number = Num(coefficient + int(rng.choice((-2, -1, 1, 2, 3))))
    terms[place] = make_product(other_number, *rest) if rest else other_number
    return make_sum(*terms), "another number"


def _confuse_unit(terms: list[Scalar], rng: np.random.Generator) -> Scalar:
    """Read the letters of one term as the unit of the whole sum: ``3m`` for ``1 + 2m``, or ``300 cm``."""
    place = int(rng.integers(len(terms)))
    coefficient, unit = split_coefficient(terms[place])
    rest = [split_coefficient(term) for position, term in enumerate(terms) if position != place]
    if all(not symbols(term) for position, term in enumerate(terms) if position != place) and len(unit) == 1:
        total = [term for position, term in enumerate(terms) if position != place]
        if all(isinstance(term, Num) for term in total):
            coefficient += sum((term.value for term in total if isinstance(term, Num)), Fraction(0))
            if unit[0] == Sym("m") and rng.random() < 0.3:
                return make_product(Num(coefficient * 100), Sym("c"), Sym("m"))
            return make_product(Num(coefficient), *unit)
        return make_product(make_sum(*total, Num(coefficient)), *unit)
    coefficient += sum((as_num for as_num, _ in rest), Fraction(0))
    return make_product(Num(coefficient), *(unit or (Sym("m"),)))


def _differ(one: Scalar, other: Scalar) -> bool:
    """Return True if two scalars certainly differ: their values are far apart at some sampled point."""
    return any(abs(a - b) > 1e-6 * (1 + abs(a) + abs(b)) for a, b in _values(one, other))


def _proportional(one: Scalar, other: Scalar) -> bool:
    """Return True if two scalars may be multiples of each other, by the ratios of their values at sampled points."""
    values = _values(one, other)
    if len(values) < 2:
        return True
    return all(abs(a * d - b * c) <= 1e-6 * (1e-9 + abs(a * d) + abs(b * c)) for (a, b), (c, d) in pairwise(values))


def _values(one: Scalar, other: Scalar) -> list[tuple[complex, complex]]:
    """Evaluate two scalars at a few points; points where either scalar has no value are left out."""
    names = sorted(symbols(one) | symbols(other))
    rng = np.random.default_rng(len(names))
    found = []
    for _ in range(_POINTS):
        point = dict(zip(names, rng.uniform(0.3, 2.5, len(names)).tolist()))
        try:
            found.append((evaluate_at(one, point), evaluate_at(other, point)))
        except (ArithmeticError, ValueError, KeyError):
            continue
    return found
