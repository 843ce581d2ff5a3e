"""Checks of an update before its first step, and the episodes that it leaves out."""

from __future__ import annotations

import copy

import pytest
import torch
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.agents.language.adapters import add_adapters
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import InputError

from .conftest import group, trajectory  # isort: skip


def answers(*rewards: float):
    """A group of answers of three tokens."""
    return group(*(trajectory(r, [([5, 6], [7 + i, 8, 9])]) for i, r in enumerate(rewards)))


FAILED, MIXED = answers(0.0, 0.0, 0.0, 0.0), answers(0.0, 1.0)


def update_of(model, reference, recipe="grpo", **settings) -> Update:
    return Update(TrainConfig(recipe=recipe, **settings), Objective(RECIPES[recipe]), model, reference, None)


def moved(model):
    """A copy of a model with other weights."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.lm_head.weight.mul_(1.05)
    return model


@pytest.fixture
def passes(monkeypatch) -> list[int]:
    """Episodes of each micro-batch that goes through a model."""
    found: list[int] = []
    plain = Passes._states

    def counted(self, model, micro):
        found.append(len(micro.episodes))
        return plain(self, model, micro)

    monkeypatch.setattr(Passes, "_states", counted)
    return found


def test_compiling_a_model_that_runs_its_own_code_is_refused(small):
    model = copy.deepcopy(small.model)
    model.config.model_type = "gemma2"
    with pytest.raises(InputError, match="--compile does not reach"):
        Update(TrainConfig(compile=True), Objective(RECIPES["dr_grpo"]), model, None, None)
    assert Update(TrainConfig(compile=True), Objective(RECIPES["dr_grpo"]), small.model, None, None).passes.compile


@pytest.mark.parametrize("minibatches", [1, 2])
def test_failed_groups_cost_no_pass_and_no_update_while_the_policy_is_its_reference(small, minibatches, passes):
    model = copy.deepcopy(small.model)
    update = update_of(model, small.model, minibatches=minibatches)
    tally, figures = update.run([FAILED, FAILED], [], 1e-3)
    assert figures["updates"] == figures["skipped_updates"] == 0
    assert not tally.means()
    assert all(map(torch.equal, model.parameters(), small.model.parameters()))
    # With several mini-batches the reference is measured: an earlier one may have moved the policy.
    assert len(passes) == (minibatches - 1) * 2


def test_failed_groups_are_drawn_to_a_reference_that_the_policy_has_left(small):
    update = update_of(moved(small.model), small.model)
    before = update.model.lm_head.weight.clone()
    assert update.run([FAILED], [], 1e-3)[1]["updates"] == 1
    assert not torch.equal(update.model.lm_head.weight, before)


def test_of_a_batch_at_the_reference_only_episodes_with_an_advantage_go_through_the_models(small, passes):
    update_of(copy.deepcopy(small.model), small.model).run([FAILED, MIXED], [], 1e-3)
    assert passes == [2, 2]  # the reference, then the policy


def test_a_second_minibatch_trains_on_failed_groups_once_the_first_has_moved_the_policy(small):
    update = update_of(copy.deepcopy(small.model), small.model, minibatches=2)
    assert update.run([MIXED, FAILED], [], 1e-3)[1]["updates"] == 2
    update = update_of(copy.deepcopy(small.model), small.model, minibatches=2)
    assert update.run([FAILED, MIXED], [], 1e-3)[1]["updates"] == 1


def test_fresh_adapters_are_the_reference_and_trained_ones_are_not(small):
    pytest.importorskip("peft")
    adapters = add_adapters(copy.deepcopy(small.model), 2, 4.0)
    model = adapters.get_base_model()
    reference = LanguageModel(model, small.tokenizer, small.renderer, adapters).reference().model
    assert update_of(model, reference).run([FAILED], [], 1e-3)[1]["updates"] == 0
    with torch.no_grad():
        next(weight for name, weight in model.named_parameters() if ".lora_B." in name).add_(0.1)
    assert update_of(model, reference).run([FAILED], [], 1e-3)[1]["updates"] == 1


def test_a_penalty_with_coefficient_zero_trains_no_failed_group(small):
    recipe = RECIPES["grpo"].with_(regularisers="kl_k3(coefficient=0)")
    update = Update(TrainConfig(), Objective(recipe), moved(small.model), small.model, None)
    assert update.run([FAILED], [], 1e-3)[1]["updates"] == 0
