"""Past successes against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.replay.past_successes import (
    LikelySuccesses,
    PastSuccesses,
    PromptReplay,
    mean_probability,
)

from .conftest import make_groups, rng  # isort: skip


def test_a_failed_group_gets_a_past_success_in_place_of_its_last_episode():
    replay = PastSuccesses()
    replay.mix(make_groups(1, (1.0, 0.0)), 1, rng())
    (mixed,) = replay.mix(make_groups(2, (0.0, 0.0, 0.0)), 2, rng())
    assert [t.version for t in mixed.trajectories] == [2, 2, 1]
    assert [t.success for t in mixed.trajectories] == [False, False, True]
    assert mixed.proposal == 200


def test_a_group_with_a_success_and_another_task_are_left_alone():
    replay = PastSuccesses()
    replay.mix(make_groups(1, (1.0, 0.0)), 1, rng())
    for groups in (make_groups(2, (1.0, 0.0)), make_groups(2, (0.0, 0.0), task="other")):
        assert replay.mix(groups, 2, rng()) == groups


@pytest.mark.parametrize(
    ("criterion", "version"), [("recent", 3), ("entropy", 2), ("probability", 2), ("random", None)]
)
def test_the_criterion_chooses_among_past_successes(criterion, version):
    replay = PastSuccesses(criterion=criterion)
    for step, logp in ((1, -1.0), (2, -0.1), (3, -2.0)):
        replay.mix(make_groups(step, (1.0,), logp=logp), step, rng())
    (mixed,) = replay.mix(make_groups(4, (0.0, 0.0)), 4, rng())
    assert mixed.trajectories[-1].version == version or (version is None and mixed.trajectories[-1].version < 4)


def test_recorded_entropy_counts_before_its_estimate():
    replay = PastSuccesses()
    for step, entropy, logp in ((1, 0.2, -3.0), (2, 0.9, -0.1)):
        (fresh,) = make_groups(step, (1.0,), logp=logp)
        (t,) = fresh.trajectories
        turn = replace(t.turns[0], entropies=(entropy, entropy))
        replay.mix([replace(fresh, trajectories=(replace(t, turns=(turn,)),))], step, rng())
    assert replay.mix(make_groups(3, (0.0, 0.0)), 3, rng())[0].trajectories[-1].version == 1


def test_replayed_tokens_can_be_told_apart():
    replay = PastSuccesses(as_teacher=True)
    replay.mix(make_groups(1, (1.0,)), 1, rng())
    batch = collate(replay.mix(make_groups(2, (0.0, 0.0)), 2, rng()))
    assert batch.written_by(Origin.TEACHER).sum() == 2
    assert (batch.logp_mu[batch.written_by(Origin.TEACHER)] == -1).all()


def test_prompt_replay_stands_beside_the_fresh_group():
    replay = PromptReplay(samples=2)
    replay.mix(make_groups(1, (1.0, 0.0, 0.5)), 1, rng())
    fresh, old = replay.mix(make_groups(2, (0.0, 0.0)), 2, rng())
    assert fresh == make_groups(2, (0.0, 0.0))[0]
    assert [t.outcome for t in old.trajectories] == [0.0, 0.5]
    assert old.proposal == 200


def test_prompt_replay_can_join_the_fresh_group():
    replay = PromptReplay(samples=2, split=False)
    replay.mix(make_groups(1, (1.0, 0.0)), 1, rng())
    (mixed,) = replay.mix(make_groups(2, (0.0,)), 2, rng())
    assert [t.version for t in mixed.trajectories] == [2, 1, 1]


@pytest.mark.parametrize(
    ("strategy", "outcomes"),
    [("recency", {0.5, 0.4}), ("reward", {1.0, 0.9}), ("variance", {1.0, 0.0}), ("full", None)],
)
def test_the_strategy_chooses_what_is_retrieved(strategy, outcomes):
    replay = PromptReplay(samples=2, strategy=strategy)
    replay.mix(make_groups(1, (1.0, 0.9, 0.0, 0.5, 0.4)), 1, rng())
    _, old = replay.mix(make_groups(2, (0.0,)), 2, rng())
    got = {t.outcome for t in old.trajectories}
    assert len(old.trajectories) == 2
    assert outcomes is None or got == outcomes


def test_a_rank_score_of_one_token_is_its_probability():
    (t,) = make_groups(1, (1.0,), logp=math.log(0.9))[0].trajectories
    assert mean_probability(t) == pytest.approx(0.9)


@pytest.mark.parametrize(("score", "kept"), [(0.97, 0), (0.4, 0), (0.9, 1), (0.5, 0)])
def test_likely_but_uncertain_successes_are_kept(score, kept):
    replay = LikelySuccesses()
    replay.mix(make_groups(1, (1.0, 0.0), logp=math.log(score) + (0.0 if score != 0.5 else -1e-12)), 1, rng())
    assert len(replay.mix(make_groups(2), 2, rng())) == 1 + kept


def test_at_most_twice_the_fresh_episodes_are_replayed():
    replay = LikelySuccesses(ratio=2.0)
    replay.mix(make_groups(1, (1.0,) * 9, logp=-0.3), 1, rng())
    assert len(replay.mix(make_groups(2, (1.0, 0.0)), 2, rng())) == 1 + 4
