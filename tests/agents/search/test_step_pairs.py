"""Better and worse steps after the same prefix."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.search.step_pairs import step_pairs
from palaestra.rewards.models.losses import bradley_terry_loss

from .conftest import tree_of  # isort: skip


def texts(group):
    return ["".join(map(chr, t.turns[0].act_ids)) for t in group.trajectories]


def test_the_two_best_steps_stand_against_the_two_worst():
    tree = tree_of("ab", "cd", "ef", "gh", "ij", rewards=(1.0, 0.75, 0.5, 0.25, 0.0))
    (group,) = step_pairs(tree)
    assert texts(group) == ["a", "c", "g", "i"]
    assert [t.outcome for t in group.trajectories] == [1.0, 1.0, 0.0, 0.0]


def test_the_shared_prefix_is_not_trained():
    tree = tree_of("abx", "aby", rewards=(1.0, 0.0))
    (group,) = step_pairs(tree)
    assert texts(group) == ["abx", "aby"]
    assert [t.turns[0].origins for t in group.trajectories] == [(Origin.HINT, Origin.HINT, Origin.POLICY)] * 2
    assert group.trajectories[0].turns[0].logps == (0.0, 0.0, -1.0)
    batch = collate([group])
    assert int(batch.written_by(Origin.POLICY).sum()) == 2


def test_steps_of_equal_value_make_no_pair():
    assert step_pairs(tree_of("ab", "cd")) == []
    assert step_pairs(tree_of("ab", "cd", rewards=(1.0, 0.5)), least=0.5) == []


def test_the_widest_gaps_come_first():
    tree = tree_of("ax", "ay", "bx", "by", width=9, rewards=(0.6, 0.5, 1.0, 0.0))
    assert [texts(group) for group in step_pairs(tree, most=2)] == [["bx", "by"], ["ax", "ay"]]
    assert len(step_pairs(tree, most=1)) == 1


def test_the_preference_loss_of_equal_scores_is_ln_2():
    # rStar-Math: the mean of -log sigmoid over 2 x 2 pairs.
    better, worse = torch.zeros(4), torch.zeros(4)
    assert bradley_terry_loss(better, worse).mean().item() == pytest.approx(math.log(2))
