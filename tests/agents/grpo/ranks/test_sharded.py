"""Models that are split over two processes: this one leads, and a real one follows over gloo."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.sharded import ShardedRanks
from palaestra.agents.grpo.ranks.sharding import check_model
from palaestra.agents.grpo.ranks.shards import Shards
from palaestra.agents.grpo.ranks.work import split_episodes
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.recipe import c
from palaestra.agents.grpo.update import Update
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import InputError

from ..arms import SUPPLIED
from ..test_every_recipe import full, models  # noqa: F401 - fixtures
from ..thoughts import with_thoughts
from .test_leader import FAMILIES, follow, gradient, update_of

# In both processes: what only tests ask for.
EXTRA = """
from palaestra.agents.grpo.ranks.sharding import root_of
from palaestra.agents.grpo.ranks.shards import Shards
from torch.distributed.tensor import DTensor
Shards.gradients = lambda self: [
    None if w.grad is None else w.grad.full_tensor() for w in self.models[0].parameters()
]
Shards.moments = lambda self: [
    state[key].full_tensor() for state in self.steps.optimizer.state.values() for key in ("exp_avg", "exp_avg_sq")
]
Shards.reference = lambda self: [w.full_tensor() for w in self.models[1].parameters()]
def all_bytes(shards):
    weights = [w for model in shards.models if model is not None for w in root_of(model).parameters()]
    weights = list({id(weight): weight for weight in weights}.values())
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    moments = [value for state in shards.steps.optimizer.state.values() for value in state.values()]
    kinds = {"weights": weights, "gradients": gradients, "optimizer": moments}
    local = {kind: [t.to_local() if isinstance(t, DTensor) else t for t in kinds[kind]] for kind in kinds}
    return shards.channel.gather({kind: sum(t.nbytes for t in tensors) for kind, tensors in local.items()})
Shards.all_bytes = all_bytes
"""
FOLLOW = f"""{EXTRA}
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.sharded import ShardedFollower
channel = RankChannel(1.0)
ShardedFollower(channel).serve()
channel.leave()
"""
SOME = ("grpo", "dpo", "kdrl", "prime", "grpo_full_kl")
"""Families whose losses go through the models in different ways: tokens, coupled episodes, a second model to distil
from, an auxiliary model, and the reference within the same pass."""


@pytest.fixture(scope="module")
def ranks():
    exec(EXTRA, {})
    with follow(FOLLOW) as other:
        channel = RankChannel(2.0)
    leader = ShardedRanks(channel)
    yield leader
    leader.stop()
    channel.leave()
    assert other.wait(timeout=300) == 0
    for name in ("gradients", "moments", "reference", "all_bytes"):
        delattr(Shards, name)


def split_gradient(models: Any, name: str, groups: Any, ranks: ShardedRanks) -> Any:  # noqa: F811
    """Gradient and statistics of the first mini-batch; the models are left as they are."""
    update = update_of(copy.deepcopy(models), name, ranks)
    kept = update.objective.filter_groups(update.objective.add_rewards(groups))
    tally = update._accumulate(update._weigh_minibatches(kept, [groups for _ in update.objective.streams])[0])
    assert tally is not None
    found = zip(update.model.parameters(), ranks.call_all("gradients"), strict=True)
    return torch.cat([(torch.zeros_like(w) if g is None else g).flatten() for w, g in found]), tally.means()


@pytest.mark.parametrize("name", FAMILIES if os.environ.get("EVERY_FAMILY") else SOME)
def test_two_processes_have_the_gradient_and_the_statistics_of_one(name, ranks, models, full):  # noqa: F811
    alone, statistics = gradient(copy.deepcopy(models), name, full, None)
    shared, joined = split_gradient(models, name, full, ranks)
    assert alone.abs().max() > 0
    assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()
    assert joined == pytest.approx(statistics, rel=1e-5, abs=1e-9)


def test_two_processes_read_and_score_soft_tokens_like_one(ranks, models, full):  # noqa: F811
    thoughtful = with_thoughts(full)
    alone, _ = gradient(copy.deepcopy(models), "grpo", thoughtful, None)
    shared, _ = split_gradient(models, "grpo", thoughtful, ranks)
    assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()


def test_a_process_with_nothing_to_train_takes_part_and_weights_without_gradient_keep_none(ranks, models, full):  # noqa: F811
    group = replace(full[0], trajectories=full[0].trajectories[:1])
    assert sorted(map(len, split_episodes(collate([group]), [0], 2))) == [0, 1]
    found = []
    for processes in (None, ranks):
        mine = copy.deepcopy(models)
        mine[0].requires_grad_(False)
        mine[0].model.layers[1].mlp.requires_grad_(True)
        update = update_of(mine, "reinforce", processes)
        update._accumulate(update._weigh_minibatches([group], [])[0])
        grads = [w.grad for w in mine[0].parameters()] if processes is None else ranks.call_all("gradients")
        found.append(grads)
    for mine, theirs in zip(*found, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs)


def updates(models: Any, groups: Any, ranks: ShardedRanks | None, **settings: Any) -> Update:  # noqa: F811
    """Two updates of two optimiser steps, after which the reference moves half of the way."""
    recipe = replace(RECIPES["grpo_full_kl"], reference=c("ema", alpha=0.5))
    objective = Objective(recipe, extras=SUPPLIED)
    objective.advance(3, 10)
    config = TrainConfig(recipe="grpo_full_kl", minibatches=2, epochs=1, token_budget=60, **settings)
    update = Update(config, objective, *copy.deepcopy(models[:2]), None, ranks=ranks)
    for step in (1, 2):
        update.run(groups, [], 1e-3)
        update.move_reference(step, {})
    return update


def state_of(update: Update, ranks: ShardedRanks | None) -> list[torch.Tensor]:
    """Weights, moments of the optimiser, and the reference."""
    policy = [w.detach().clone() for w in update.model.parameters()]
    if ranks is not None:
        return [*policy, *ranks.call_all("moments"), *ranks.call_all("reference")]
    moments = [state[key] for state in update.optimizer.state.values() for key in ("exp_avg", "exp_avg_sq")]
    return [*policy, *moments, *update.reference.parameters()]


def assert_near(found: list[torch.Tensor], wanted: list[torch.Tensor], bound: float) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine - theirs).abs().max() <= bound * theirs.abs().max()


def test_weights_optimiser_and_reference_after_steps_are_those_of_one_process(ranks, models, full):  # noqa: F811
    before = [w.detach().clone() for w in models[0].parameters()]
    alone = state_of(updates(models, full, None), None)
    together = state_of(updates(models, full, ranks), ranks)
    assert_near(together, alone, 1e-6)
    assert (alone[0] - before[0]).abs().max() > 1e-4  # more than the bound


@pytest.mark.parametrize("checkpointing", [False, True])
def test_adapters_over_a_half_precision_base_are_trained_alone(ranks, small, full, checkpointing):  # noqa: F811
    found = []
    for processes in (None, ranks):
        language = LanguageModel(copy.deepcopy(small.model).bfloat16(), small.tokenizer, small.renderer)
        language = language.with_lora(2, alpha=4.0, seed=1)
        with torch.no_grad():
            for weight in language.model.parameters():
                if weight.requires_grad:  # so that the policy is not its reference
                    weight.add_(0.02 * torch.ones_like(weight))
        objective = Objective(RECIPES["grpo_full_kl"], extras=SUPPLIED)
        objective.advance(3, 10)
        config = TrainConfig(
            recipe="grpo_full_kl", minibatches=1, token_budget=60, lora=2, gradient_checkpointing=checkpointing
        )
        update = Update(config, objective, language.model, language.reference().model, None, ranks=processes)
        update._accumulate(update._weigh_minibatches(full, [])[0])
        grads = [w.grad for w in language.model.parameters()] if processes is None else ranks.call_all("gradients")
        found.append([None if grad is None else grad.clone() for grad in grads])
    assert sum(grad is not None for grad in found[0]) == 2 * 7 * len(small.model.model.layers)
    for mine, theirs in zip(*found, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert (mine - theirs).abs().max() <= 0.02 * mine.abs().max()  # half precision, summed in another order


def test_a_step_that_is_taken_back_leaves_weights_and_optimiser_as_they_were(ranks, models, full):  # noqa: F811
    update = updates(models, full, ranks)
    before = state_of(update, ranks)
    update._accumulate(update._weigh_minibatches(full, [])[0])
    update.steps.clip()
    update.steps.remember()
    update.steps.take()
    update.steps.finish()
    changed = state_of(update, ranks)
    assert (changed[0] - before[0]).abs().max() > 0
    update.steps.undo()
    update.steps.clear()
    update.steps._moved = True
    update.steps.finish()
    assert all(map(torch.equal, state_of(update, ranks), before))


def test_each_process_has_its_part_and_the_leader_a_copy_without_gradients(ranks, models, full):  # noqa: F811
    update = updates(models, full, ranks)
    update._accumulate(update._weigh_minibatches(full, [])[0])
    parts = ranks.call_all("all_bytes")
    whole = sum(w.numel() * w.element_size() for w in models[0].parameters())
    for part in parts:
        assert part["weights"] == pytest.approx(2 * whole / 2, rel=0.02)  # of the policy and its reference
        assert part["gradients"] == pytest.approx(whole / 2, rel=0.02)
        assert part["optimizer"] == pytest.approx(2 * whole / 2, rel=0.02)
    assert all(w.grad is None for w in update.model.parameters())
    assert all(w.is_meta for w in update.reference.parameters())


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_checkpoint_in_shards_is_read_in_one_process_and_the_other_way_round(dtype, ranks, models, full, tmp_path):  # noqa: F811
    cast = [copy.deepcopy(model).to(getattr(torch, dtype)) for model in models]
    split = updates(cast, full, ranks)
    saved = state_of(split, ranks)
    for name in ("shards", "whole", "again"):
        (tmp_path / name).mkdir()
    split.save(tmp_path / "shards")
    assert sorted(path.name for path in tmp_path.glob("shards/shards/__*")) == ["__0_0.distcp", "__1_0.distcp"]

    def fresh(processes: ShardedRanks | None, policy: Any) -> Update:
        """An update that has the policy of a checkpoint and nothing else of it yet."""
        return updates_of(policy, cast[1], processes)

    alone = fresh(None, split.model)
    alone.load(tmp_path / "shards")
    whole = whole_state(alone)
    assert [t.dtype for t in whole] == [t.dtype for t in saved]
    assert all(map(torch.equal, whole, saved))
    alone.save(tmp_path / "whole")

    back = fresh(ranks, split.model)
    back.load(tmp_path / "whole")
    assert all(map(torch.equal, state_of(back, ranks), saved))
    back.save(tmp_path / "again")
    alone.load(tmp_path / "again")
    assert all(map(torch.equal, whole_state(alone), saved))


def updates_of(policy: Any, reference: Any, ranks: ShardedRanks | None) -> Update:
    objective = Objective(RECIPES["grpo_full_kl"], extras=SUPPLIED)
    config = TrainConfig(recipe="grpo_full_kl")
    return Update(config, objective, copy.deepcopy(policy), copy.deepcopy(reference), None, ranks=ranks)


def whole_state(update: Update) -> list[torch.Tensor]:
    state = update.optimizer.state_dict()
    inner = state.get("inner", state)["state"]
    moments = [inner[number][key] for number in sorted(inner) for key in ("exp_avg", "exp_avg_sq")]
    return [*(w.detach().clone() for w in update.model.parameters()), *moments, *update.reference.parameters()]


def test_a_checkpoint_that_cannot_be_written_or_read_is_an_error_of_the_leader_and_not_the_end(ranks, models, full):  # noqa: F811
    update = updates(models, full, ranks)
    with pytest.raises(OSError, match="process 0"):
        update.save(Path("/proc/none"))
    with pytest.raises(RuntimeError, match="process 0: FileNotFoundError"):
        update.load(Path("/none"))
    update.run(full, [], 1e-3)


def test_models_that_cannot_be_split_are_refused(models):  # noqa: F811
    mixed, sharing = copy.deepcopy(models[0]), copy.deepcopy(models[0])
    mixed.model.layers[0].float()
    sharing.model.layers[1].mlp.up_proj.weight = sharing.model.layers[0].mlp.up_proj.weight
    for model, words in ((mixed, "2 types are trained .* without --shard"), (sharing, "layers .* share weights")):
        with pytest.raises(InputError, match=words):
            check_model(model)
    check_model(models[0])
