"""Allocators of rollouts: bounds, sums, and the optimality that each claims."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.budgets.allocators import ALLOCATORS, knapsack_value, proportional_counts


@pytest.fixture(params=sorted(ALLOCATORS))
def allocate(request):
    return ALLOCATORS[request.param]


def dynamic_programme(p, budget, low, high):
    """The highest total value of any allocation, the slow way."""
    best = np.full(budget + 1, -np.inf)
    best[0] = 0.0
    for rate in p:
        after = np.full(budget + 1, -np.inf)
        for n in range(low, min(high, budget) + 1):
            reachable = best[: budget + 1 - n] + knapsack_value(n, rate)
            after[n:] = np.maximum(after[n:], reachable)
        best = after
    return best[budget]


def random_case(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    p = np.where(rng.random(k) < 0.25, rng.integers(0, 2, k), rng.random(k) ** 3)
    low = int(rng.integers(0, 4))
    high = low + int(rng.integers(0, 20))
    return p, int(rng.integers(k * low, k * high + 1)), low, high


def test_the_papers_allocators_are_registered():
    assert {"uniform", "knapsack", "cures", "e3", "zero-one"} <= set(ALLOCATORS)


@pytest.mark.parametrize("seed", range(60))
def test_counts_spend_the_budget_within_the_bounds(allocate, seed):
    p, budget, low, high = random_case(seed)
    counts = allocate(p, budget, low, high)
    assert counts.dtype == np.int64
    assert counts.shape == p.shape
    assert counts.sum() == budget
    assert counts.min() >= low
    assert counts.max() <= high


@pytest.mark.parametrize("p", [[0.0] * 4, [1.0] * 4, [0.5] * 4, [0.0, 1.0, 0.0, 1.0], [0.2]])
def test_rates_without_signal_still_spend_the_budget(allocate, p):
    assert allocate(p, 7 * len(p), 1, 9).sum() == 7 * len(p)


def test_equal_rates_are_served_equally_within_one(allocate):
    counts = allocate([0.3] * 7, 60, 2, 128)
    assert counts.max() - counts.min() == 1


def test_reordering_the_prompts_reorders_the_counts(allocate):
    p = np.array([0.05, 0.4, 0.9, 0.55, 0.75])
    order = np.array([3, 0, 4, 1, 2])
    assert allocate(p[order], 40, 2, 30).tolist() == allocate(p, 40, 2, 30)[order].tolist()


# Rounding unequal shares by largest remainder can take one back (the Alabama paradox): no cures, no e3 here.
@pytest.mark.parametrize("name", ["uniform", "knapsack", "zero-one"])
def test_no_prompt_loses_by_a_larger_budget(name):
    p, allocate = [0.0, 0.05, 0.3, 0.6, 0.95, 1.0], ALLOCATORS[name]
    for budget in range(12, 60):
        assert (allocate(p, budget + 1, 2, 10) >= allocate(p, budget, 2, 10)).all()


def test_no_prompts_take_no_budget(allocate):
    assert allocate([], 0, 2, 8).tolist() == []
    with pytest.raises(InputError, match="0 prompts"):
        allocate([], 5, 2, 8)


@pytest.mark.parametrize(("budget", "low", "high"), [(3, 2, 8), (17, 2, 8)])
def test_a_budget_that_the_bounds_cannot_meet_is_refused(allocate, budget, low, high):
    with pytest.raises(InputError, match="give 4 to 16"):
        allocate([0.5, 0.5], budget, low, high)


@pytest.mark.parametrize(
    ("p", "budget", "low", "high", "match"),
    [
        ([0.5, 1.5], 8, 2, 8, "success rates"),
        ([0.5, float("nan")], 8, 2, 8, "success rates"),
        ([[0.5]], 8, 2, 8, "success rates"),
        ([0.5, 0.5], 8, 5, 4, "low=5"),
        ([0.5, 0.5], 8, -1, 4, "low must be a whole number of at least 0, not -1"),
        ([0.5, 0.5], 7.5, 2, 4, "budget"),
    ],
)
def test_unusable_arguments_are_refused(allocate, p, budget, low, high, match):
    with pytest.raises(InputError, match=match):
        allocate(p, budget, low, high)


def test_knapsack_values_of_the_paper():
    assert knapsack_value(4, 0.5) == pytest.approx(0.109375)
    assert knapsack_value(8, 0.1) == pytest.approx(0.04613, abs=5e-6)
    assert knapsack_value(8, np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_knapsack_moves_rollouts_to_the_harder_of_two():
    counts = ALLOCATORS["knapsack"]([0.5, 0.1], 16, 2, 128)
    assert counts.tolist() == [6, 10]
    assert knapsack_value(6, 0.5) + knapsack_value(10, 0.1) == pytest.approx(0.17385, abs=5e-6)
    assert 2 * 0.5 * (knapsack_value(8, 0.5) + knapsack_value(8, 0.1)) == pytest.approx(0.17016, abs=5e-6)


@pytest.mark.parametrize("seed", range(40))
def test_greedy_knapsack_equals_the_dynamic_programme(seed):
    p, budget, low, high = random_case(seed)
    counts = ALLOCATORS["knapsack"](p, budget, low, high)
    assert knapsack_value(counts, p).sum() == pytest.approx(dynamic_programme(p, budget, low, high), abs=1e-12)


def test_knapsack_equals_the_dynamic_programme_on_a_batch_of_64_with_512():
    p = np.random.default_rng(0).beta(0.5, 0.5, 64)
    counts = ALLOCATORS["knapsack"](p, 512, 2, 128)
    assert knapsack_value(counts, p).sum() == pytest.approx(dynamic_programme(p, 512, 2, 128), abs=1e-12)


def test_knapsack_gives_solved_prompts_the_least_and_unsolved_ones_the_rest():
    allocate = ALLOCATORS["knapsack"]
    assert allocate([1.0, 0.5, 0.0], 30, 2, 128).tolist() == [2, 26, 2]
    assert allocate([1.0, 0.5, 0.0, 0.0], 40, 2, 16).tolist() == [2, 16, 11, 11]
    assert allocate([1.0, 0.5, 0.0], 40, 2, 16).tolist() == [8, 16, 16]


def test_cures_counts_minimise_the_variance_over_all_allocations():
    p = np.array([0.5, 0.2, 0.02])
    variance = p * (1 - p)
    every = [n for n in itertools.product(range(1, 19), repeat=3) if sum(n) == 20]
    best = min(float((variance / n).sum()) for n in every)
    counts = ALLOCATORS["cures"](p, 20, 1, 18)
    assert counts.tolist() == [9, 8, 3]  # sqrt(p(1-p)) = .5, .4, .14: shares 9.62, 7.69, 2.69
    assert float((variance / counts).sum()) == pytest.approx(best, rel=0.02)


def test_cures_shares_are_neymans_where_nothing_needs_rounding():
    assert ALLOCATORS["cures"]([0.5, 0.2, 0.8, 0.0], 26, 0, 128).tolist() == [10, 8, 8, 0]


def test_cures_clips_to_the_bounds_and_shares_out_the_rest_in_proportion():
    assert ALLOCATORS["cures"]([0.5, 0.2, 0.0, 1.0], 26, 2, 128).tolist() == [12, 10, 2, 2]
    assert ALLOCATORS["cures"]([0.5, 0.2, 0.0, 1.0], 40, 2, 12).tolist() == [12, 12, 8, 8]


def test_e3_is_linear_in_the_rank_of_difficulty():
    assert ALLOCATORS["e3"]([0.9, 0.1, 0.5], 12, 2, 16).tolist() == [2, 6, 4]
    assert ALLOCATORS["e3"]([0.9, 0.9, 0.5, 0.1], 20, 2, 16).tolist() == [3, 3, 6, 8]


def test_zero_one_spends_only_where_outcomes_differ():
    assert ALLOCATORS["zero-one"]([0.0, 0.5, 0.9, 1.0], 16, 0, 128).tolist() == [0, 8, 8, 0]
    assert ALLOCATORS["zero-one"]([0.0, 0.0], 16, 0, 128).tolist() == [8, 8]


def test_weights_that_differ_beyond_any_count_do_not_break_the_sums():
    counts = proportional_counts(np.array([1e-300, 1.0, 1e-200, 0.0]), 50, 1, 30)
    assert counts.sum() == 50
    assert counts[1] == 30
