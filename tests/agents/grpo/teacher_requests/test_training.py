"""How a group is trained: each request against the same step without it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.collection.task_collector import cut_batch
from palaestra.agents.grpo.config import RequestSettings, StageOverrides
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.update import split_groups
from palaestra.teachers import TEACHERS, Preset, Proposal
from palaestra.teachers.random import RandomTeacher

from ..conftest import group, trajectory
from .conftest import rows


@pytest.fixture
def advise():
    """``advise(meta)``: the name of a uniform teacher whose first proposal of each batch makes these requests."""
    made = []

    def register(meta, name="advising"):
        class Advising(RandomTeacher):
            asks = frozenset(meta)

            def propose(self, k):
                first, *rest = super().propose(k)
                return [Proposal(first.id, first.task, first.n, meta=meta), *rest]

        Preset(name, Advising, "The uniform teacher with advice.", "")
        made.append(name)
        return name

    yield register
    for name in made:
        TEACHERS._entries.pop(name)


def plain(groups, **fields):
    return [replace(g, trajectories=tuple(replace(t, **fields) for t in g.trajectories)) for g in groups]


def gradient(learner, groups, packer="shared_prefix", budget=2048):
    """The gradient of the learner's loss on these groups, as one vector."""
    model, update = learner.language.model, learner.parts.update
    update.passes = Passes(packer, budget, learner.config.temperature)
    model.zero_grad()
    accumulate_gradients(model, update.weigh(groups), update.passes, reference=update.reference)
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.fixture
def moved(start, advise):
    """A learner whose policy has left its reference, and its next groups, the first of which scales the penalty."""
    options = {
        "recipe": "grpo",
        "stages": StageOverrides(regularisers="kl_k3(coefficient=1.0)"),
        "lr": 3e-3,
        "steps": 9,
    }
    learner = start(advise({"kl_scale": 0.25}), **options)
    for step in (1, 2):
        learner.parts.objective.advance(step, 9)
        learner.parts.update.run(learner.parts.collector.collect(step).trainable, [], 3e-3)
    return learner, learner.parts.collector.collect(3).trainable


def test_the_factor_on_the_penalty_reaches_the_loss_of_its_group_alone(moved):
    learner, groups = moved
    unscaled, none = plain(groups, kl_scale=None), plain(groups, kl_scale=0.0)
    assert [{t.kl_scale for t in g.trajectories} for g in groups] == [{0.25}, {None}, {None}]
    full, without = gradient(learner, unscaled), gradient(learner, none)
    assert not torch.allclose(full, without, atol=1e-5)
    only_first = gradient(learner, [none[0], *unscaled[1:]])
    # The loss is linear in the factor: a quarter of the first group's penalty is left.
    assert torch.allclose(gradient(learner, groups), only_first + 0.25 * (full - only_first), atol=1e-6)


@pytest.mark.parametrize(("packer", "budget"), [("plain", 2048), ("shared_prefix", 40), ("plain", 40)])
def test_the_scaled_penalty_does_not_depend_on_packing_or_micro_batches(moved, packer, budget):
    learner, groups = moved
    assert torch.allclose(gradient(learner, groups, packer, budget), gradient(learner, groups), atol=1e-6)


def test_a_penalty_in_the_return_is_scaled_too(start, advise):
    learner = start(advise({"kl_scale": 0.0}), recipe="remax", steps=9, lr=3e-3)
    assert "logp_ref" in learner.parts.objective.needs
    for step in (1, 2):
        learner.parts.objective.advance(step, 9)
        learner.parts.update.run(learner.parts.collector.collect(step).trainable, [], 3e-3)
    groups = learner.parts.collector.collect(3).trainable
    scaled = learner.parts.update.weigh(groups).advantage
    unscaled = learner.parts.update.weigh(plain(groups, kl_scale=None)).advantage
    first = learner.parts.update.weigh(groups).batch.episode_of < len(groups[0].trajectories)
    assert not torch.allclose(scaled[first], unscaled[first], atol=1e-6)
    assert torch.equal(scaled[~first], unscaled[~first])


def test_a_factor_that_the_teacher_asks_for_takes_the_place_of_the_recipes_own(start):
    # Recipe and teacher would otherwise each take half.
    learner = start("clpo", recipe="clpo_kl", teacher_options={"group": 4, "hard": 0.9, "medium": 1.0})
    learner.parts.collector.collect(1)
    groups = learner.parts.collector.collect(2).trainable
    assert {t.kl_scale for g in groups for t in g.trajectories} >= {0.5}
    hard = [replace(g, trajectories=tuple(replace(t, turns=_lost(t)) for t in g.trajectories)) for g in groups]
    learner.parts.update.reference = _shifted(learner.parts.update.reference)
    asked = gradient(learner, plain(hard, kl_scale=0.5))
    own = gradient(learner, plain(hard, kl_scale=None))
    assert torch.allclose(asked, own, atol=1e-7)
    assert own.abs().max() > 0


def _lost(t):
    return tuple(replace(turn, reward=0.0) for turn in t.turns)


def _shifted(model):
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.01 * torch.sin(torch.arange(weight.numel()).reshape(weight.shape).float()))
    return model


def test_the_two_weights_scale_the_advantages_of_successes_and_of_failures(start, advise):
    learner = start(advise({"success_weight": 2.0, "failure_weight": 0.25}), samples=8)
    collected = learner.parts.collector.collect(1)
    weighed = learner.parts.update.weigh(collected.groups)
    unweighed = learner.parts.update.weigh(plain(collected.groups, advantage_weight=1.0))
    assert collected.groups[0].has_variance
    for number, episode in enumerate(weighed.batch.trajectories):
        factor = 1.0 if number >= 8 else 2.0 if episode.success else 0.25
        tokens = weighed.batch.action & (weighed.batch.episode_of == number)
        assert weighed.advantage[tokens] == pytest.approx(factor * unweighed.advantage[tokens])
    assert torch.equal(weighed.weight, unweighed.weight)


def test_the_weight_of_failures_under_pairing_changes_the_update(start):
    def collect(weight):
        options = {"failure_weight": weight, "group": 8, "odd": 3}
        learner = start("pairing", f"weight {weight}", teacher_options=options, pool=8, prompts=8)
        for step in range(1, 6):
            groups = learner.parts.collector.collect(step).trainable
            if any(group.has_variance for group in groups):
                return learner, groups
        raise AssertionError("no pair was trained")

    (plain_learner, plain_groups), (learner, groups) = collect(1.0), collect(0.2)
    pairs = [group.pair for group in groups]
    assert pairs == [number for pair in dict.fromkeys(pairs) for number in (pair, pair)][: len(pairs)]
    weighed, unweighed = learner.parts.update.weigh(groups), plain_learner.parts.update.weigh(plain_groups)
    assert torch.equal(weighed.batch.ids, unweighed.batch.ids)
    assert weighed.advantage[weighed.advantage < 0] == pytest.approx(0.2 * unweighed.advantage[unweighed.advantage < 0])
    assert torch.equal(weighed.advantage[weighed.advantage > 0], unweighed.advantage[unweighed.advantage > 0])


def test_only_groups_inside_the_band_are_trained_and_the_batch_is_filled(start):
    every = start("random", "every", prompts=6)
    filtered = start("balanced-filter", teacher_options={"low": 0.3, "high": 0.7}, prompts=6, pool=30)
    rate = lambda group: sum(t.success for t in group.trajectories) / len(group.trajectories)  # noqa: E731
    assert any(not 0.3 < rate(group) < 0.7 for group in every.parts.collector.collect(1).trainable)
    collected = filtered.parts.collector.collect(1)
    assert all(0.3 < rate(group) < 0.7 for group in collected.trainable)
    assert len(collected.trainable) == 6
    assert len(collected.played) > 6
    words = [row.done["band"] for row in collected.played]
    assert words == ["inside" if 0.3 < rate(row.group) < 0.7 else "outside" for row in collected.played]


def test_the_rounds_that_fill_a_batch_are_bounded(start):
    impossible = {"low": 0.3, "high": 0.31}
    learner = start("balanced-filter", teacher_options=impossible, requests=RequestSettings(rounds=2))
    collected = learner.parts.collector.collect(1)
    assert (len(collected.played), collected.trainable) == (6, [])


def test_screening_episodes_join_the_group_that_is_trained(start):
    learner = start("speed", teacher_options={"screen": 3, "n": 4}, prompts=2)
    collected = learner.parts.collector.collect(1)
    screened = {row.proposal.id: row for row in collected.played if not row.proposal.train}
    assert collected.trainable
    for trained in collected.trainable:
        assert len(trained.trajectories) == 3 + 4
        row = next(row for row in collected.played if row.proposal.id == trained.proposal)
        (earlier,) = (screened[id] for id in row.proposal.meta["joins"])
        assert [t.turns for t in trained.trajectories[4:]] == [t.turns for t in earlier.group.trajectories]
        assert {t.task_id for t in trained.trajectories} == {earlier.group.trajectories[0].task_id}
        # The logs count an episode where it was played.
        assert len(row.group.trajectories) == 4
        assert row.done["joins"] == 3
    batch = learner.parts.update.weigh(collected.trainable).batch
    assert batch.episodes == 7 * len(collected.trainable)


def test_only_episodes_that_may_yet_be_joined_are_kept(start):
    learner = start("speed", teacher_options={"screen": 3, "n": 4}, requests=RequestSettings(rounds=1))
    for step in range(1, 6):
        learner.parts.collector.collect(step)
        assert learner.parts.collector._screened.keys() <= learner.parts.teacher.joinable()


@pytest.mark.parametrize("teacher", ["speed", "lilo"])
def test_a_run_that_stops_between_screening_and_training_resumes_bit_for_bit(start, teacher):
    options = {"batch": 3, "factor": 2} if teacher == "lilo" else {}
    fixed = {
        "teacher_options": {"screen": 3, "n": 4, **options},
        "requests": RequestSettings(rounds=1),
        "steps": 5,
        "pool": 6,
    }
    whole, stopped = start(teacher, "whole", **fixed), start(teacher, "stopped", **fixed)
    assert whole.run()
    assert not stopped.run(lambda progress: progress.step == 2 and stopped.stop())
    assert stopped.parts.collector._screened
    again = Learner.resume(stopped.folder.path)
    assert again.parts.collector._screened == stopped.parts.collector._screened
    assert again.run()
    for log in ("metrics", "proposals", "trajectories"):
        assert rows(again.folder.path, log) == rows(whole.folder.path, log)
    assert any(row.get("requests/joins") for row in rows(whole.folder.path, "metrics")[2:])
    newest = [sorted((run.folder.path / "checkpoints").iterdir())[-1] for run in (whole, again)]
    assert len({(place / "model.safetensors").read_bytes() for place in newest}) == 1


def test_a_checkpoint_without_requests_has_no_entry_for_them(start):
    assert start("random").parts.collector.state_dict() == {}


def test_pairs_stay_together_in_mini_batches_and_at_the_end_of_a_batch():
    groups = [replace(group(trajectory(1.0, [([1], [2])])), pair=pair) for pair in (-1, 0, 0, 1, 1, -1)]
    parts = split_groups(groups, 3)
    assert [[g.pair for g in part] for part in parts] == [[-1, 0, 0], [1, 1], [-1]]
    assert [g.pair for g in cut_batch(groups, 2)] == [-1, 0, 0]
    assert [g.pair for g in cut_batch(groups, 3)] == [-1, 0, 0]
    assert [g.pair for g in cut_batch(groups, 9)] == [-1, 0, 0, 1, 1, -1]
