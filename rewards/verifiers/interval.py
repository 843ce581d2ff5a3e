"""Verifier "interval": overlap of intervals and boxes, as for temporal and visual grounding.

The score is the intersection over union of Mixed-R1 (arXiv 2505.24164); success is a threshold on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..answers.numbers import parse_number
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, rejected
from .sequence import ListError, split_elements

MAX_LENGTH = 2_000


@VERIFIERS.register("interval")
def verify_interval(answer: str, reference: Sequence[float], *, threshold: float = 0.5) -> Verdict:
    """Score the overlap of the interval or box ``answer`` with ``reference``; success from ``threshold`` on.

    The score is the intersection over union, in exact arithmetic.

    Args:
        answer: two numbers, low and high, or the four of a box: ``[0.5, 2]``, ``10, 20, 30, 40``; numbers as for the
            verifier "number".
        reference: (low, high), or a box (x_min, y_min, x_max, y_max).
        threshold: least score of a success, in (0, 1].

    Raises:
        InputError: a reference of another form or with the upper end first, or a threshold outside (0, 1].
    """
    gold = _check_reference(reference)
    if not check_number("the threshold of the interval verifier", threshold) > 0.0 or threshold > 1.0:
        raise InputError(f"the threshold of the interval verifier must lie in (0, 1], not {threshold!r}.")
    if len(answer) > MAX_LENGTH:
        return rejected("The answer is far longer than an interval.")
    try:
        numbers = [parse_number(part) for part in split_elements(answer)]
    except ListError as error:
        return rejected(str(error))
    given = [number for number in numbers if number is not None]
    if len(given) != len(numbers) or len(given) != len(gold):
        example = "[0.5, 2]" if len(gold) == 2 else "[0, 0, 3, 4]"
        return rejected(f"The answer must be {len(gold)} numbers, such as {example}.")
    if not _in_order(given):
        return rejected("The lower end of an interval must not exceed the upper one.")
    overlap = iou(given, gold)
    if overlap >= Fraction(str(threshold)):
        return CORRECT if overlap == 1 else Verdict(float(overlap), True, feedback="It overlaps far enough.")
    return Verdict(float(overlap), False, feedback="It does not overlap far enough.")


def iou(one: Sequence[Any], other: Sequence[Any]) -> Fraction:
    """Return the intersection over union of two intervals (low, high) or boxes (x_min, y_min, x_max, y_max).

    If both have size 0, the result is 1 for equal arguments and 0 otherwise.
    """
    half = len(one) // 2
    shared = first = second = Fraction(1)
    for axis in range(half):
        low, high = max(one[axis], other[axis]), min(one[half + axis], other[half + axis])
        shared *= max(high - low, 0)
        first *= one[half + axis] - one[axis]
        second *= other[half + axis] - other[axis]
    union = first + second - shared
    if union == 0:
        return Fraction(int(list(one) == list(other)))
    return Fraction(shared, union)


def _in_order(numbers: Sequence[Any]) -> bool:
    half = len(numbers) // 2
    return all(numbers[axis] <= numbers[half + axis] for axis in range(half))


def _check_reference(reference: Sequence[float]) -> list[Fraction]:
    usable = isinstance(reference, (list, tuple)) and len(reference) in (2, 4)
    if usable and all(_is_number(number) for number in reference):
        # A float counts as the decimal that it prints as.
        exact = [Fraction(str(number)) for number in reference]
        if _in_order(exact):
            return exact
    raise InputError(
        "the interval verifier needs (low, high) or (x_min, y_min, x_max, y_max), lower ends first, as reference, "
        f"not {reference!r}."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and math.isfinite(value)
