"""Returns that differ by rounding alone are equal, and no others are."""

from __future__ import annotations

import math

import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.rounding import differ, exact_sum, merge_equal, subtract_beyond_rounding
from palaestra.agents.grpo.batch.segments import Segments, suffix_sum
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES

from ..conftest import group, trajectory  # isort: skip


def test_a_sum_does_not_depend_on_its_order_and_may_be_infinite():
    assert exact_sum([0.1, 0.2, -0.3]) == exact_sum([-0.3, 0.2, 0.1])
    assert exact_sum([1e308, 1e308]) == math.inf


def test_values_differ_by_more_than_rounding():
    assert not differ([0.1 + 0.2, 0.3])
    assert not differ([])
    assert differ([1e6, 1e6 + 1e-6])
    assert differ([1e-12, 2e-12])


def test_a_difference_of_rounding_alone_is_zero():
    a, b = torch.tensor([0.1 + 0.2, 1e20, 2.0, math.inf]).double(), torch.tensor([0.3, 1e20, 1.0, 1.0]).double()
    a[0], b[0] = 0.1 + 0.2, 0.3
    assert subtract_beyond_rounding(a, b).tolist() == [0.0, 0.0, 1.0, math.inf]


def test_equal_values_of_a_group_are_merged_and_others_kept():
    value = torch.tensor([0.1 + 0.2, 0.3, 0.1 + 0.2, 1e-17, 1e20, 1e20 + 2**14], dtype=torch.float64)
    merged = merge_equal(value, torch.tensor([0, 0, 1, 0, 2, 2])).tolist()
    assert merged == [0.3, 0.3, 0.1 + 0.2, 0.0, 1e20, 1e20]


def test_returns_of_a_batch_are_in_double_precision_and_merged():
    rewards = (0.1 + 0.2, 0.3, 1e6 + 1e-6, 1e6)
    batch = collate([group(*(trajectory(r, [([5], [6])]) for r in pair)) for pair in (rewards[:2], rewards[2:])])
    assert batch.outcome.tolist() == [0.3, 0.3, 1e6 + 1e-6, 1e6]
    assert [one.has_variance for one in batch.group_list] == [False, True]


def test_a_suffix_sum_does_not_see_other_segments():
    value = torch.tensor([1e20, 0.1, 0.2], dtype=torch.float64)
    assert suffix_sum(value, torch.tensor([0, 1, 1])).tolist() == [1e20, 0.1 + 0.2, 0.2]
    halves = torch.ones(5, dtype=torch.float64)
    assert suffix_sum(halves, torch.tensor([0, 0, 0, 0, 1]), 0.5).tolist() == [1.875, 1.75, 1.5, 1.0, 1.0]


def test_the_mean_of_equal_values_is_their_value_and_no_deviation_overflows():
    peers = Segments(torch.zeros(7, dtype=torch.int64), 1)
    assert peers.shared_mean(torch.full((7,), 0.1, dtype=torch.float64)).tolist() == [0.1] * 7
    large = torch.tensor([1e200, -1e200] * 3 + [0.0], dtype=torch.float64)
    assert torch.allclose(peers.shared_std(large, 1) / 1e200, torch.ones(7).double())
    weight = torch.tensor([1.0, 1.0, 0, 0, 0, 0, 0])
    assert peers.shared_mean(torch.tensor([0.0, 1.0, 1e20, 0, 0, 0, 0]).double(), weight).tolist() == [0.5] * 7


def test_very_large_rewards_have_the_advantages_of_small_ones():
    def advantages(size):
        batch = collate([group(*(trajectory(size * r, [([5], [6])], success=r > 0) for r in (1.0, 0.0, 0.0, 1.0)))])
        return Objective(RECIPES["grpo"]).rollout_terms.weigh(batch).advantage[batch.action]

    assert torch.allclose(advantages(1e20), advantages(1.0), rtol=1e-3)
    assert torch.allclose(advantages(1e200), advantages(1.0), rtol=1e-3)
