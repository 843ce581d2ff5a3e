"""Implicit prm against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.components.auxiliaries.implicit_prm import ImplicitRewardModel

from .conftest import PASSES, answers, make_auxiliary, measure_batch  # isort: skip


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_a_reward_model_equal_to_its_base_has_loss_ln_2_and_no_rewards(objective, small):
    model, batch = make_auxiliary("implicit_prm", small, objective=objective), measure_batch(small)
    assert torch.allclose(model.measure(batch, PASSES)["logp_prm"], batch.logp_ref)
    loss, count = model.update(batch, PASSES)["prm_loss"]
    assert count == 1
    assert loss == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_training_moves_likelihood_from_failures_to_successes(objective, small):
    model, batch = make_auxiliary("implicit_prm", small, objective=objective, lr=1e-2), measure_batch(small)
    accuracy = []
    for _ in range(20):
        total, count = model.update(batch, PASSES)["prm_accuracy"]
        accuracy.append(total / count)
    reward = batch.sum_by_episode(model.measure(batch, PASSES)["logp_prm"] - batch.logp_ref)
    assert reward[[0, 3]].min() > reward[[1, 2]].max()
    assert (accuracy[0], accuracy[-1]) == (0.5, 1.0)


@pytest.mark.parametrize(("when", "still"), [("after", True), ("before", False)])
def test_when_says_whether_rewards_know_the_batch(when, still, small):
    model, batch = make_auxiliary("implicit_prm", small, when=when, lr=1e-2), measure_batch(small)
    model.train_early(batch, PASSES)
    first = model.measure(batch, PASSES)["logp_prm"]
    stats = model.update(batch, PASSES)
    assert torch.allclose(first, batch.logp_ref) == still
    assert "prm_loss" in stats


def test_the_gradient_is_that_of_the_loss_written_out(small):
    model, batch = make_auxiliary("implicit_prm", small, beta=0.5), measure_batch(small)
    with torch.no_grad():
        for weight in model.model.parameters():
            weight.mul_(1.05)
    score = 0.5 * batch.sum_by_episode(model.measure(batch, PASSES)["logp_prm"] - batch.logp_ref)
    sigma = score.sigmoid()
    expected = -(sigma[[0, 3]].log().sum() + (1 - sigma[[1, 2]]).log().sum()) / 4
    assert model.update(batch, PASSES)["prm_loss"][0] == pytest.approx(expected.item(), rel=1e-5)


def test_without_pairs_the_pairwise_objective_leaves_the_model_alone(small):
    model, batch = make_auxiliary("implicit_prm", small, objective="pairwise"), measure_batch(small, answers(1.0, 1.0))
    assert model.update(batch, PASSES) == {}


def test_each_objective_has_the_base_of_its_paper():
    assert ImplicitRewardModel(objective="ce").needs == {"logp_ref"}
    assert ImplicitRewardModel(objective="pairwise").needs == {"logp_old"}
