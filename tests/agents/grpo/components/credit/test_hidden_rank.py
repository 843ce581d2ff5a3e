"""The effective rank of hidden states and what it adds to advantages."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.hidden_rank import HiddenRank, effective_rank, rank_measures

from ...conftest import group, trajectory  # isort: skip


def test_the_effective_rank_counts_equal_directions():
    assert effective_rank(torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])) == pytest.approx(2)
    assert effective_rank(torch.tensor([[1.0, 1], [-1, -1]])) == pytest.approx(1)
    assert effective_rank(torch.ones(3, 2)) == 0


def test_a_constant_rank_has_neither_velocity_nor_acceleration():
    line = torch.arange(6.0)[:, None] * torch.tensor([[1.0, 2.0]])
    assert rank_measures(line, stride=2) == pytest.approx((1, 0, 0))


def test_velocity_and_acceleration_of_a_growing_rank():
    # ranks 1 after two states, 2 after all four: one lead of 1 and nothing to accelerate
    states = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    assert rank_measures(states, stride=2) == pytest.approx((2, 1, 0))


def batch_with(*states):
    rows = [trajectory(0, [([5], [6] * len(s))]) for s in states]
    batch = collate([group(*rows)])
    hidden = torch.zeros(len(batch.ids), 2)
    hidden[batch.action] = torch.cat(states)
    return batch.with_(hidden=hidden)


def test_equal_episodes_keep_their_advantages():
    state = torch.tensor([[1.0, 0], [-1, 0]])
    batch = batch_with(state, state)
    advantage = torch.where(batch.action, 1.0, 0.0)
    assert HiddenRank(stride=1)(advantage, batch).tolist() == advantage.tolist()


def test_the_bonus_never_exceeds_half_of_the_advantage_nor_lowers_it():
    high, low = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), torch.tensor([[1.0, 0], [-1, 0], [1, 0], [-1, 0]])
    batch = batch_with(high, low)
    advantage = torch.where(batch.action, torch.where(batch.episode_of == 0, -0.01, 1.0), 0.0)
    got = HiddenRank(stride=2)(advantage, batch)[batch.action].tolist()
    # rank 2 is a third above the mean of 1.5, so the bonus is far above |A| / 2 = 0.005
    assert got == pytest.approx([-0.005] * 4 + [1.0] * 4)


def test_running_means_are_saved_and_resumed():
    batch = batch_with(torch.eye(2), torch.eye(2))
    one, other = HiddenRank(), HiddenRank()
    one(batch.action.float(), batch)
    other.load_state_dict(one.state_dict())
    assert other.means == one.means == pytest.approx([1, 0, 0, 0])
