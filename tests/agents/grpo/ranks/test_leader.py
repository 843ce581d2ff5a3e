"""An update that two processes share: this one leads, and a real one follows over gloo."""

from __future__ import annotations

import copy
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.leader import Ranks, single_process_passes
from palaestra.agents.grpo.ranks.work import split_episodes
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.errors import InputError

from ..arms import ENV, SUPPLIED, trained_on
from ..test_every_recipe import full, models  # noqa: F401 - fixtures
from ..thoughts import with_thoughts

FOLLOW = """
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.follower import Follower
channel = RankChannel(1.0)
Follower(channel).serve()
channel.leave()
"""


@contextmanager
def follow(program: str = FOLLOW):
    """Start another process that follows, in an environment in which this one leads."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    other = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, **place, "RANK": "1"})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**place, "RANK": "0"}.items():
            patch.setenv(name, value)
        yield other


@pytest.fixture(scope="module")
def ranks():
    with follow() as other:
        channel = RankChannel(2.0)
    leader = Ranks(channel)
    yield leader
    leader.stop()
    channel.leave()
    assert other.wait(timeout=300) == 0


def update_of(models: Any, name: str, ranks: Ranks | None, temperature: float = 1.0) -> Update:  # noqa: F811
    objective = Objective(RECIPES[name], teacher_model=True, extras=SUPPLIED)
    objective.advance(3, 10)
    config = TrainConfig(recipe=name, minibatches=1, epochs=1, token_budget=200, temperature=temperature)
    return Update(config, objective, *models, ranks=ranks)


def gradient(models: Any, name: str, groups: Any, ranks: Ranks | None, temperature: float = 1.0) -> Any:  # noqa: F811
    """Gradient and statistics of the first mini-batch."""
    update = update_of(models, name, ranks, temperature)
    update.model.zero_grad()
    kept = update.objective.filter_groups(update.objective.add_rewards(groups))
    tally = update._accumulate(update._weigh_minibatches(kept, [groups for _ in update.objective.streams])[0])
    assert tally is not None
    zero = [torch.zeros_like(w) if w.grad is None else w.grad for w in update.model.parameters()]
    return torch.cat([grad.flatten() for grad in zero]).clone(), tally.means()


# One recipe of each file of agents/grpo/recipes, and of each kind of loss in the two largest.
FAMILIES = {
    "reinforce_pp": "advantages",
    "prorl": "anchored",
    "ppo": "auxiliary: a critic",
    "grpo": "basic: loss of tokens",
    "reinforce_ada": "budgets",
    "dpo": "classic: episodes compared with each other",
    "topr": "classic: loss of episodes",
    "m2po": "corrections",
    "luffy": "guided: a stream of other episodes",
    "thr": "hidden: states of the model",
    "latr": "lookahead",
    "kdrl": "mixed: KL to a model to distil from",
    "recap": "priorities",
    "prime": "process: a reward model",
    "gspo": "ratios: of whole episodes",
    "flow_rl": "regressions: a partition function",
    "grpo_full_kl": "regularised: KL to the reference over the vocabulary",
    "exgrpo": "replayed",
    "ttrl": "rewarded",
    "gfpo": "selection",
    "absolute_zero": "selfplay",
    "on_policy_distillation": "supervised: a model to distil from alone",
    "eighty_twenty": "tokens: entropy",
    "vine_ppo": "trees",
    "gigpo": "turns",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_two_processes_have_the_gradient_and_the_statistics_of_one(name, ranks, models, full):  # noqa: F811
    alone, statistics = gradient(models, name, full, None)
    shared, joined = gradient(models, name, full, ranks)
    assert alone.abs().max() > 0
    assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()
    assert joined == pytest.approx(statistics, rel=1e-5, abs=1e-9)


def test_two_processes_read_and_score_soft_tokens_like_one(ranks, models, full):  # noqa: F811
    thoughtful = with_thoughts(full)
    for name in ("grpo", "dpo"):  # in the micro-batches of each process, and from coefficients of the leader
        alone, statistics = gradient(models, name, thoughtful, None)
        shared, joined = gradient(models, name, thoughtful, ranks)
        assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()
        assert joined == pytest.approx(statistics, rel=1e-5, abs=1e-9)
        assert (alone - gradient(models, name, full, None)[0]).abs().max() > 1e-2 * alone.abs().max()


@pytest.mark.parametrize("name", ["grpo", "dpo"])
def test_a_sampling_temperature_other_than_1_is_that_of_both_processes(name, ranks, models, full):  # noqa: F811
    alone, statistics = gradient(models, name, full, None, temperature=0.6)
    shared, joined = gradient(models, name, full, ranks, temperature=0.6)
    assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()
    assert joined == pytest.approx(statistics, rel=1e-5, abs=1e-9)
    assert (alone - gradient(models, name, full, None)[0]).abs().max() > 1e-2 * alone.abs().max()


def test_a_process_with_nothing_to_train_takes_part(ranks, models, full):  # noqa: F811
    group = full[0].__class__(0, full[0].trajectories[:1])
    update, alone = (update_of(models, "reinforce", r) for r in (ranks, None))
    shares = split_episodes(collate([group]), [0], 2)
    assert sorted(map(len, shares)) == [0, 1]
    results = []
    for each in (update, alone):
        each.model.zero_grad()
        (parts,) = each._weigh_minibatches([group], [])
        each._accumulate(parts)
        results.append([None if w.grad is None else w.grad.clone() for w in each.model.parameters()])
    for mine, theirs in zip(*results, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs)


def test_two_processes_add_up_half_precision_gradients_in_single_precision(ranks, models, full):  # noqa: F811
    half = [copy.deepcopy(model).bfloat16() for model in models]
    (alone, _), (shared, _) = (gradient(half, "grpo", full, each) for each in (None, ranks))
    assert alone.dtype == shared.dtype == torch.float32
    # Rounded sums would have no digit that bfloat16 has not.
    assert not torch.equal(shared, shared.bfloat16().float())
    assert (shared - alone).abs().max() <= 1e-2 * alone.abs().max()


def test_weights_that_changed_are_known_to_the_other_process_at_its_next_measurement(ranks, models, full):  # noqa: F811
    update = update_of(models, "grpo", ranks)
    batch = collate(full)
    before = update.passes.measure(models[0], batch).logp
    with torch.no_grad():
        for weight in models[0].parameters():
            weight.mul_(1.05)
    try:
        after = update.passes.measure(models[0], batch)
        expected = single_process_passes(update.passes).measure(models[0], batch)
    finally:
        with torch.no_grad():
            for weight in models[0].parameters():
                weight.div_(1.05)
    assert (after.logp - before).abs().max() > 1e-3
    torch.testing.assert_close(after.logp, expected.logp)
    torch.testing.assert_close(after.entropy, expected.entropy)


def test_weights_after_an_optimiser_step_are_known_to_the_other_process(ranks, models, full):  # noqa: F811
    # Torch's fused optimiser leaves the version of a weight as it is.
    update = update_of(models, "grpo", ranks)
    batch = collate(full)
    before = update.passes.measure(models[0], batch).logp
    kept = copy.deepcopy(models[0].state_dict())
    for weight in models[0].parameters():
        weight.grad = torch.ones_like(weight)
    try:
        for group in update.optimizer.param_groups:
            group["lr"] = 0.01
        update.optimizer.step()
        after = update.passes.measure(models[0], batch).logp
        expected = single_process_passes(update.passes).measure(models[0], batch).logp
    finally:
        update.optimizer.zero_grad()
        models[0].load_state_dict(kept)
    assert (after - before).abs().max() > 1e-3
    torch.testing.assert_close(after, expected)


def test_settings_of_a_measurement_are_those_of_both_processes(ranks, models, full):  # noqa: F811
    update = update_of(models, "grpo", ranks)
    batch = collate(full)
    hot = replace(update.passes, temperature=3.0)
    measured = hot.measure(models[0], batch).logp
    torch.testing.assert_close(measured, single_process_passes(hot).measure(models[0], batch).logp)
    assert (measured - update.passes.measure(models[0], batch).logp).abs().max() > 1e-3


def test_gradients_that_nobody_adds_up_are_computed_by_the_leader_alone(ranks, models, full):  # noqa: F811
    update = update_of(models, "grpo", ranks)
    batch = collate(full)
    slope = batch.action.double()
    found = []
    for passes in (update.passes, Passes(budget=200)):
        update.model.zero_grad()
        passes.backward(models[0], batch, slope)
        found.append(next(update.model.parameters()).grad.clone())
    update.model.zero_grad()
    torch.testing.assert_close(*found)


def test_shares_are_runs_of_nearly_equal_numbers_of_tokens(full):  # noqa: F811
    batch = collate(full)
    length = torch.bincount(batch.episode_of, minlength=batch.episodes)
    for count in (2, 3):
        shares = split_episodes(batch, range(batch.episodes), count)
        assert [e for share in shares for e in share] == list(range(batch.episodes))
        tokens = [int(length[share].sum()) for share in shares]
        assert max(tokens) - min(tokens) <= 2 * int(length.max())


def test_a_loss_that_remembers_parts_of_a_batch_is_refused(models):  # noqa: F811
    objective = Objective(RECIPES["grpo"], teacher_model=True, extras=SUPPLIED)
    objective.rollout_terms.loss.surrogate.state_dict = lambda: {"seen": 1}  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"'clip' of recipe 'grpo' .* without --nproc"):
        Ranks.check(objective.rollout_terms.loss, "grpo")


def test_a_run_that_plays_ahead_shares_its_updates_and_plays_alone(ranks, small, tmp_path):
    trained_on(small, "aab", steps=30).save(tmp_path / "model")
    config = TrainConfig(
        env=ENV,
        model=str(tmp_path / "model"),
        teacher="random",
        recipe="tis",
        minibatches=1,
        warmup=WarmUp(steps=0),
        lr=1e-3,
        steps=4,
        prompts=2,
        samples=6,
        max_new_tokens=2,
        max_episode_tokens=2,
        context=64,
        eval_every=0,
        final_episodes=2,
        threads=1,
        track=(),
        staleness=1,
    )
    weights = []
    for name, others in (("alone", None), ("shared", ranks)):
        learner = Learner.start(tmp_path / name, config, ranks=others)
        assert learner.run()
        assert type(learner.parts.collector._passes) is Passes
        weights.append(torch.cat([weight.detach().flatten() for weight in learner.language.model.parameters()]))
    assert torch.allclose(*weights, atol=1e-5)
    assert (tmp_path / "alone/proposals.jsonl").read_bytes() == (tmp_path / "shared/proposals.jsonl").read_bytes()
