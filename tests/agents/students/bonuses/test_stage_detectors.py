"""Ramps with jumps, split where they jump."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.agents.students.bonuses.stage_detectors import (
    StageDetector,
    cut,
    fit_detectors,
    split_stages,
    stage_reward,
    telling_scores,
)
from palaestra.errors import InputError


def ramp(*levels: float, rise: float = 0.1, length: int = 6) -> np.ndarray:
    """A slow ramp that jumps to each of some levels."""
    return np.concatenate([level + rise * np.arange(length) for level in levels])[:, None]


def test_a_ramp_with_one_jump_is_split_at_the_jump():
    rows = np.concatenate([0.1 * np.arange(9), 5 + 0.1 * np.arange(4)])[:, None]
    assert split_stages([rows], 2) == [[9]]


def test_two_jumps_give_three_stages():
    assert split_stages([ramp(0, 5, 1)], 3) == [[6, 12]]


def test_several_demonstrations_are_split_where_they_agree():
    # Each also jumps elsewhere, in a feature of its own, by more.
    rows = [np.zeros((12, 3)) for _ in range(2)]
    for number, (one, jump, other) in enumerate(zip(rows, (4, 7), (9, 2))):
        one[jump:, 0] = 3.0
        one[other, 1 + number] = 1.0
    assert split_stages(rows, 2) == [[4], [7]]


def test_exact_splits_are_those_of_enumeration():
    rows = np.random.default_rng(0).normal(size=(9, 4))

    def cost(starts: list[int]) -> float:
        return sum(float(part.std(0).mean()) for part in cut(rows, starts))

    best = min(([i, j] for i in range(2, 8) for j in range(i + 2, 8)), key=cost)
    assert split_stages([rows], 3, least=2) == [best]


def test_a_demonstration_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="3 states has no 2 stages of at least 2"):
        split_stages([np.zeros((3, 1))], 2, least=2)


def test_a_feature_that_is_alike_in_and_outside_a_stage_is_not_chosen():
    inside = np.array([[1.0, 3.0, 0.0], [0.0, 3.2, 0.0]])
    outside = np.array([[1.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    assert telling_scores(inside, outside) == pytest.approx([-1.0, 3.0 - 0.2, 0.0])
    for detector in fit_detectors([outside, inside]):
        assert detector.features.tolist() == [1]


def test_a_score_is_the_mean_log_density_and_later_stages_count_double():
    detector = StageDetector(np.array([0, 2]), np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    # Densities of N(0, 1) at 2 deviations and at 0, the first one over 0.5.
    expected = (-2 - math.log(0.5) - math.log(2 * math.pi)) / 2
    row = np.array([2.0, 9.0, 2.0])
    assert detector.log_likelihood(row) == pytest.approx(expected)
    empty = StageDetector(np.array([], dtype=int), np.array([]), np.array([]))
    assert empty.log_likelihood(row) == 0
    # Stages 1, 2 and 3: 2 * R_2 + 4 * R_3.
    assert stage_reward([detector, empty, detector], row) == pytest.approx(4 * expected)
    assert stage_reward([empty, detector, detector], row) == pytest.approx(6 * expected)
