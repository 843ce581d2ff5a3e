"""Faults that other learners shipped, as far as no other file tests them; numbers are those of the list that they come
from. The rest: 1, 4, 12 in rollouts/test_episode; 2, 3 in test_chat_template; 5 in test_sampler; 15, 16 in
test_torch_engine; 7 in components/correctors; 8 in objective/test_loss; 9 in test_every_recipe; 10, 11, 18, 20 in
objective/test_objective; 22 in rewards/verifiers/test_workers; 25 in test_optimizers; 26 in components/surrogates.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, Stream, c
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.grpo.update import Update

from .conftest import group, trajectory  # isort: skip


def play(language, temperature: float = 1.0, slots: int = 64, samples: int = 4):
    environments = Environments("palaestra/GuessNumber-v0")
    engine = language.engine(slots, 400)
    engine.seed(3)
    limits = TokenLimits(action=5, episode=30, context=400)
    player = EpisodePlayer(environments, engine, language.renderer, limits, temperature, np.random.default_rng(0))
    tasks = [RolloutTask(environments.param_space.at(0.2), seed, samples, seed) for seed in (0, 1)]
    return Independent().play(tasks, player)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
def test_6_log_probabilities_are_those_of_the_distribution_that_was_sampled(small, temperature):
    batch = collate(play(small, temperature))
    again = Passes(temperature=temperature).measure(small.model, batch).logp
    assert batch.action.sum() > 20
    assert (again - batch.logp_mu).abs().max() < 1e-5
    other = Passes(temperature=2.0).measure(small.model, batch).logp
    assert (other - batch.logp_mu).abs().max() > 1e-3


def test_13_ages_of_replayed_episodes_survive_a_resume(small, tmp_path):
    small.save(tmp_path / "model")
    config = TrainConfig(
        recipe="remix",
        model=str(tmp_path / "model"),
        axes={"digits": 1, "terms": 2},
        warmup=WarmUp(steps=0),
        steps=6,
        prompts=3,
        samples=4,
        max_new_tokens=4,
        eval_every=0,
        final_episodes=4,
        checkpoint_every=3,
        threads=1,
        track=(),
    )
    Learner.start(tmp_path / "whole", config).run()
    learner = Learner.start(tmp_path / "halves", config)
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 3 else None)
    assert Learner.resume(tmp_path / "halves").run()
    logs = [(tmp_path / run / "metrics.jsonl").read_text() for run in ("whole", "halves")]
    assert logs[0] == logs[1]
    assert '"replayed_share": 0.' in logs[0]
    states = [(newest_checkpoint(tmp_path / run) / "state.json").read_text() for run in ("whole", "halves")]
    assert states[0] == states[1]


def lagging(small, lag: float, guards=()) -> tuple[dict[str, float], dict[str, float]]:
    """Statistics of an update on samples of a policy that differs by ``lag`` nats a token, one way or the other."""
    rows = [trajectory(float(i % 2), [([5, 6], [20 + i, 30, 40])]) for i in range(8)]
    batch = collate([group(*rows)])
    now = Passes().measure(small.model, batch).logp[batch.action].view(8, 3)
    turns = [
        replace(row.turns[0], logps=tuple((now[i] + lag * (-1) ** (i // 2)).tolist())) for i, row in enumerate(rows)
    ]
    old = group(*(replace(row, turns=(turn,)) for row, turn in zip(rows, turns, strict=True)))
    model = copy.deepcopy(small.model)
    objective = Objective(replace(RECIPES["dr_grpo"], guards=guards))
    tally, updates = Update(TrainConfig(lr=1e-3), objective, model, None, None).run([old], [], 1e-3)
    moved = any(not torch.equal(a, b) for a, b in zip(model.parameters(), small.model.parameters(), strict=True))
    assert moved == (updates["updates"] == 1)
    return tally.means(), updates


def test_14_a_lag_shows_in_the_effective_sample_size_and_a_guard_stops_the_update(small):
    fresh, late = lagging(small, 0.0)[0], lagging(small, 1.0)[0]
    assert fresh["ess"] == pytest.approx(1.0)
    # Weights e^3 and e^-3 in equal parts: (1/2 (e^3 + e^-3))^2 / (1/2 (e^6 + e^-6)) = 0.5025.
    assert late["ess"] == pytest.approx(0.5025, abs=1e-3)
    assert lagging(small, 1.0, (c("min_ess", share=0.6),))[1] == {
        "grad_norm": 0.0,
        "updates": 0,
        "skipped_updates": 1,
        "lr": 1e-3,
    }
    assert lagging(small, 0.0, (c("min_ess", share=0.6),))[1]["updates"] == 1


def test_17_sampling_and_scoring_leave_no_global_state_behind(small):
    def state():
        config = small.model.config
        return (
            config._attn_implementation,
            small.model.training,
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_rng_state().tolist(),
            [weight.requires_grad for weight in small.model.parameters()],
        )

    before = state()
    Passes(checkpoint=True).measure(small.model, collate(play(small)))
    assert state() == before


def test_19_text_is_for_people_and_never_reaches_the_gradient(small):
    played = play(small, samples=6)
    paid = [
        replace(g, trajectories=tuple(replace(t, shaping={"x": float(i % 2)}) for i, t in enumerate(g.trajectories)))
        for g in played
    ]

    def gradient(groups):
        model = copy.deepcopy(small.model)
        accumulate_gradients(model, Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(groups)), Passes())
        return torch.cat([weight.grad.flatten() for weight in model.parameters()])

    other = [
        replace(
            g,
            trajectories=tuple(
                replace(t, turns=tuple(replace(turn, observation="other", action="text") for turn in t.turns))
                for t in g.trajectories
            ),
        )
        for g in paid
    ]
    assert gradient(paid).abs().max() > 0
    assert torch.equal(gradient(paid), gradient(other))


def test_21_the_overlong_punishment_is_measured_by_the_budget_not_by_the_longest_sibling():
    def punished(*lengths):
        rows = group(*(trajectory(0, [([5], [6] * n)]) for n in lengths))
        return [t.outcome for t in Objective(RECIPES["dapo"]).add_rewards([rows])[0].trajectories]

    assert punished(14, 2)[0] == punished(14, 16)[0] == pytest.approx(-1 / 3)


def test_23_a_limit_on_decoding_does_not_limit_episodes(small):
    # Two slots, eight conversations of several turns: those that wait for a slot are none the less under way.
    few, many = play(small, slots=2), play(small, slots=64)
    assert [len(g.trajectories) for g in few] == [len(g.trajectories) for g in many] == [4, 4]
    assert max(len(t.turns) for g in few for t in g.trajectories) > 1


@pytest.mark.parametrize("lost", [1, 3, 4])
def test_24_lost_environments_make_a_smaller_group_not_a_worse_one(lost):
    rows = [trajectory(float(i % 2), [([5], [6 + i])]) for i in range(4)]
    partly = group(*(replace(row, valid=i >= lost) for i, row in enumerate(rows)))
    alone = group(*rows[lost:])
    found, expected = (
        Objective(RECIPES["rloo"]).rollout_terms.weigh(
            collate([g, group(trajectory(1, [([5], [9])]), trajectory(0, [([5], [8])]))])
        )
        for g in (partly, alone)
    )
    assert found.advantage.tolist() == expected.advantage.tolist()
    assert found.weight.tolist() == expected.weight.tolist()


# Numbers that are none ------------------------------------------------------------------------------------------------


def two_arms(logp: float = -1.0):
    rows = [trajectory(float(i % 2), [([5, 6], [20 + i, 30])], [[logp, -1.0]]) for i in range(4)]
    return [group(*rows)]


def updated(small, *batches):
    """Weights after an update on each batch in turn, and what the updates report."""
    model = copy.deepcopy(small.model)
    update = Update(TrainConfig(lr=1e-3), Objective(RECIPES["rloo"]), model, None, None)
    reports = [update.run(batch, [], 1e-3)[1] for batch in batches]
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]), reports


def test_a_gradient_that_is_no_number_is_counted_and_leaves_weights_and_optimiser_as_they_were(small):
    good = two_arms()
    first, *others = good[0].trajectories
    poisoned = [replace(good[0], trajectories=(replace(first, shaping={"broken": float("inf")}), *others))]
    weights, reports = updated(small, good, poisoned, good)
    expected, _ = updated(small, good, good)
    assert [(report["updates"], report["skipped_updates"]) for report in reports] == [(1, 0), (0, 1), (1, 0)]
    assert torch.equal(weights, expected)


def test_ratios_beyond_every_float_report_finite_figures(small):
    model = copy.deepcopy(small.model)
    tally, updates = Update(TrainConfig(), Objective(RECIPES["dr_grpo"]), model, None, None).run(
        two_arms(logp=-400.0), [], 1e-3
    )
    assert all(np.isfinite(value) for value in {**tally.means(), **updates}.values())


def test_tokens_that_the_policy_did_not_sample_say_nothing_about_the_sampler(small):
    def gap(origin: Origin) -> float:
        (made,) = two_arms()
        turns = [replace(t.turns[0], logps=(-50.0, -50.0), origins=(int(origin),) * 2) for t in made.trajectories]
        rows = tuple(replace(t, turns=(turn,)) for t, turn in zip(made.trajectories, turns, strict=True))
        objective = Objective(replace(RECIPES["rloo"], origins=("policy", "teacher")))
        update = Update(TrainConfig(), objective, copy.deepcopy(small.model), None, None)
        return update.run([replace(made, trajectories=rows)], [], 1e-3)[0].means()["sampler_gap"]

    assert gap(Origin.POLICY) > 10
    assert gap(Origin.TEACHER) == 0


def test_streams_rescore_what_was_sampled_in_another_context(small):
    (made,) = two_arms(logp=-50.0)
    rescored = replace(made, trajectories=tuple(replace(t, rescore=True) for t in made.trajectories))
    stream = Stream(c("oracle"), surrogate=c("clip"))
    objective = Objective(replace(RECIPES["rloo"], streams=(stream,)))
    update = Update(TrainConfig(), objective, copy.deepcopy(small.model), None, None)
    ((_, weighted),) = update._weigh_minibatches([made], [[rescored]])
    measured = update.passes.measure(small.model, weighted.batch).logp
    assert torch.allclose(weighted.batch.measurement("logp_old"), measured)


# Passes passes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "with_gradient", "without"),
    [
        ("dr_grpo", {}, 1, 0),
        # One more for the reference.
        ("grpo", {}, 1, 1),
        # The policy of the first and only update is its own anchor.
        ("decoupled_ppo", {"minibatches": 1}, 1, 0),
        ("decoupled_ppo", {"minibatches": 1, "epochs": 3}, 3, 1),
        # The critic reads hidden states.
        ("ppo", {"epochs": 1}, 1, 1),
        # A loss that relates episodes looks at all of them before any goes through with a gradient.
        ("gvpo", {}, 1, 1),
    ],
)
def test_no_forward_pass_is_run_that_nobody_needs(small, monkeypatch, name, settings, with_gradient, without):
    counted = []
    score = Passes.score

    def counting(self, *arguments, **options):
        counted.append(torch.is_grad_enabled())
        return score(self, *arguments, **options)

    monkeypatch.setattr(Passes, "score", counting)
    objective = Objective(RECIPES[name])
    objective.advance(1, 10)
    model, reference = copy.deepcopy(small.model), copy.deepcopy(small.model)
    Update(TrainConfig(**settings), objective, model, reference, None).run(two_arms(), [], 1e-3)
    assert (counted.count(True), counted.count(False)) == (with_gradient, without)
