"""Intervals over tasks: numbers worked out by hand, coverage on simulated repeats, and the fitted half point."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.agents.evaluation.intervals import (
    effective_count,
    mean_interval,
    share_interval,
    solved_to,
    wilson_interval,
)


def test_values_of_different_tasks_are_all_independent():
    assert effective_count([0.0, 1.0, 1.0], ["a", "b", "c"]) == effective_count([0.0, 1.0, 1.0], None) == 3


def test_repeats_that_agree_count_once():
    # Two tasks, each five times with the same result: as good as two values.
    assert effective_count([1.0] * 5 + [0.0] * 5, ["a"] * 5 + ["b"] * 5) == pytest.approx(2)


def test_equal_values_count_as_if_repeats_agreed():
    # (3 + 1)² / (3² + 1²) = 1.6
    assert effective_count([1.0] * 4, ["a", "a", "a", "b"]) == pytest.approx(1.6)
    assert effective_count([1.0] * 4, ["a"] * 4) == 1


def test_a_design_effect_by_hand():
    # Tasks a: 1 1, b: 1 0, c: 0 0. Mean 1/2; sums of deviations 1, 0, -1; squares of all deviations 6/4.
    assert effective_count([1, 1, 1, 0, 0, 0], ["a", "a", "b", "b", "c", "c"]) == pytest.approx(4.5)


def test_wilson_of_repeats_is_that_of_as_many_tasks():
    # 100 episodes of 12 tasks, all solved: the interval of 12 of 12.
    tasks = [number % 12 for number in range(96)]
    found = wilson_interval(96, 96, effective=effective_count([1.0] * 96, tasks))
    assert (found.low, found.high) == pytest.approx((wilson_interval(12, 12).low, 1.0))
    assert found.count == 96


def test_a_mean_over_tasks_is_wider_than_over_episodes():
    values, tasks = [0.0, 0.0, 1.0, 1.0, 3.0, 3.0], ["a", "a", "b", "b", "c", "c"]
    assert mean_interval(values, clusters=tasks).low < mean_interval(values).low
    # Pairs that agree: the interval of the three means.
    half = mean_interval(values, clusters=tasks).mean - mean_interval(values, clusters=tasks).low
    assert half == pytest.approx(1.959963984540054 * np.std([0, 1, 3], ddof=1) / np.sqrt(3))


def test_a_single_task_has_no_interval():
    assert np.isnan(mean_interval([0.0, 1.0], clusters=["a", "a"]).low)


@pytest.mark.parametrize("interval", ["wilson", "share", "mean"])
def test_intervals_of_repeated_tasks_cover_the_truth(interval):
    # 20 distinct tasks, each five times with the same outcome, solved with chance 0.6: 95 % of the intervals hold 0.6.
    # Intervals over episodes would hold it in two of three cases.
    rng = np.random.default_rng(0)
    tasks, held = np.repeat(np.arange(20), 5).tolist(), 0
    for _ in range(400):
        values = np.repeat(rng.random(20) < 0.6, 5).astype(float).tolist()
        if interval == "wilson":
            found = wilson_interval(int(sum(values)), 100, effective=effective_count(values, tasks))
        else:
            found = (share_interval if interval == "share" else mean_interval)(values, clusters=tasks)
        held += found.low <= 0.6 <= found.high
    assert 0.91 <= held / 400 <= 0.99


class TestSolvedTo:
    def fit(self, solved, count=60):
        difficulties = np.linspace(0, 1, count)
        return solved_to(difficulties.tolist(), [float(solved(d)) for d in difficulties], list(range(count)))

    def test_a_sharp_edge_is_found(self):
        assert self.fit(lambda d: d < 0.42).mean == pytest.approx(0.42, abs=0.02)

    def test_an_agent_that_solves_all_or_nothing_is_at_the_end(self):
        assert self.fit(lambda d: 1).mean == 1.0
        assert self.fit(lambda d: 0).mean == 0.0

    def test_one_that_gets_better_with_difficulty_has_a_flat_curve(self):
        assert self.fit(lambda d: d > 0.2).mean == 1.0

    def test_the_interval_holds_the_half_point_of_a_known_curve(self):
        rng, held = np.random.default_rng(1), 0
        difficulties = np.linspace(0, 1, 200)
        chance = 1 / (1 + np.exp(8 * (difficulties - 0.3)))
        for _ in range(60):
            found = solved_to(
                difficulties.tolist(), (rng.random(200) < chance).astype(float).tolist(), list(range(200))
            )
            held += found.low <= 0.3 <= found.high
        assert held >= 52

    def test_repeats_of_few_tasks_widen_it(self):
        rng = np.random.default_rng(2)
        few = rng.random(12)
        won = (rng.random(12) < 1 - few).astype(float)
        once = solved_to(few.tolist(), won.tolist(), list(range(12)))
        often = solved_to(np.repeat(few, 8).tolist(), np.repeat(won, 8).tolist(), np.repeat(np.arange(12), 8).tolist())
        assert often.high - often.low > 0.7 * (once.high - once.low)
