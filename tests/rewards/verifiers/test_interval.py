"""Overlap of intervals and boxes, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.interval import iou


def test_two_intervals_that_share_a_third():
    assert iou([0, 2], [1, 3]) == Fraction(1, 3)
    assert verify("interval", "[1, 3]", [0, 2]).score == pytest.approx(1 / 3)


def test_two_boxes():
    # 1 shared of 4 + 4 - 1
    assert iou([0, 0, 2, 2], [1, 1, 3, 3]) == Fraction(1, 7)


def test_intervals_that_only_touch_do_not_overlap():
    assert iou([0, 1], [1, 2]) == 0
    assert iou([0, 0, 1, 1], [1, 0, 2, 1]) == 0


def test_without_extent_only_the_same_is_equal():
    assert iou([1, 1], [1, 1]) == 1
    assert iou([1, 1], [2, 2]) == 0
    assert iou([1, 1], [0, 2]) == 0


@given(*[st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)] * 2)
def test_overlap_is_symmetric_and_one_only_for_equals(one: list[int], other: list[int]):
    assert iou(one, other) == iou(other, one)
    assert (iou(one, other) == 1) == (one == other)


def test_success_is_a_threshold_that_may_be_met_exactly():
    assert verify("interval", "0, 1", [0, 2]).success
    assert not verify("interval", "0, 0.999", [0, 2]).success
    assert verify("interval", "1/3, 1", [0, 1], threshold=0.6).success
    assert not verify("interval", "[1, 3]", [0, 2], threshold=0.34).success


def test_a_float_is_the_decimal_that_it_prints_as():
    assert verify("interval", "[0.1, 0.3]", [0.1, 0.3], threshold=1.0).score == 1.0


@pytest.mark.parametrize(
    "answer",
    ["", "1", "1, 2, 3", "2, 1", "a, b", "[1, 2", "0 to 2", "1, 1e9", "1, inf", "1, nan", "1" * 10_000, "0, ٣", "0-2"],
)
def test_what_is_no_interval_is_malformed(answer: str):
    assert verify("interval", answer, [0, 2]).malformed


@pytest.mark.parametrize("reference", [[1], [2, 1], [0, 0, -1, 1], "01", [0, float("inf")], [True, 2], None, [1, 2, 3]])
def test_a_reference_that_is_no_interval_is_refused(reference: Any):
    with pytest.raises(InputError, match="reference"):
        verify("interval", "0, 1", reference)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
def test_a_threshold_that_cannot_be_met_or_missed_is_refused(threshold: float):
    with pytest.raises(InputError, match="threshold"):
        verify("interval", "0, 1", [0, 1], threshold=threshold)
