"""Replay strategies, by hand, and what holds for all of them."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group, Origin
from palaestra.agents.grpo.components.replay.mixing import MixPolicy, Priority
from palaestra.agents.grpo.components.replay.recompose import Recompose
from palaestra.agents.grpo.components.replay.self_imitation import SelfImitation, group_advantages
from palaestra.agents.grpo.components.replay.successes import (
    LikelySuccesses,
    PastSuccesses,
    PromptReplay,
    mean_probability,
)
from palaestra.agents.grpo.components.surrogates.clip import clipped_surrogate, moving_clip
from palaestra.agents.grpo.recipes.stages import REPLAYS
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def played(step: int, rewards=(1.0, 0.0), task="t", lengths=None, logp=-1.0, groups=1) -> list[Group]:
    """Fresh groups of a step; the number of a group tells step and place."""
    lengths = lengths or [2] * len(rewards)
    members = [
        trajectory(r, [([1], [2 + i] * n)], [[logp] * n], task_id=task, version=step)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=True))
    ]
    return [group(*members, proposal=100 * step + place) for place in range(groups)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# All of them ---------------------------------------------------------------------------------------------------------


def tenth(step: int) -> list[Group]:
    """A step with failures, successes and repeated tasks."""
    tasks = [f"task {(step + i) % 3}" for i in range(4)]
    outcomes = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (1.0, 0.0, 0.0, 0.0)]
    return [
        replace(played(step, r, task, lengths=[1 + (step + i) % 4 for i in range(len(r))], logp=-0.3)[0], proposal=i)
        for i, (task, r) in enumerate(zip(tasks, outcomes, strict=True))
    ]


@pytest.mark.parametrize("name", list(REPLAYS))
def test_a_resumed_replay_mixes_the_same(name):
    one, other = REPLAYS[name](), REPLAYS[name]()
    for step in range(1, 8):
        one.mix(tenth(step), step, rng(step))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for step in range(8, 14):
        assert one.mix(tenth(step), step, rng(step)) == other.mix(tenth(step), step, rng(step))
    assert one.state_dict() == other.state_dict()


@pytest.mark.parametrize("name", [n for n in REPLAYS if n != "none"])
def test_the_memory_is_bounded(name):
    replay = REPLAYS[name](capacity=5)
    for step in range(1, 30):
        replay.mix(tenth(step), step, rng(step))
    assert len(replay) <= 5


@pytest.mark.parametrize("name", list(REPLAYS))
def test_log_probabilities_and_versions_are_those_of_sampling(name):
    replay = REPLAYS[name]()
    for step in range(1, 10):
        for mixed in replay.mix(tenth(step), step, rng(step)):
            assert 0 <= mixed.proposal < 4
            for t in mixed.trajectories:
                assert t.version <= step
                assert all(logp == -0.3 for turn in t.turns for logp in turn.logps)


@pytest.mark.parametrize("name", list(REPLAYS))
def test_an_empty_step_is_no_trouble(name):
    replay = REPLAYS[name]()
    replay.mix(tenth(1), 1, rng())
    replay.mix([], 2, rng())
    assert replay.mix(tenth(3), 3, rng())


# ReMix ---------------------------------------------------------------------------------------------------------------


def test_with_probability_zero_and_one_update_a_batch_is_its_own():
    replay = MixPolicy(probability=0.0, utd=1)
    for step in range(1, 4):
        assert replay.mix(played(step, groups=3), step, rng(step)) == played(step, groups=3)


def test_updates_to_data_multiply_the_batch():
    replay = MixPolicy(probability=0.0, utd=2)
    assert replay.mix(played(1, groups=3), 1, rng()) == played(1, groups=3) * 2


def test_the_first_batch_has_nothing_to_replay():
    assert MixPolicy(probability=1.0, utd=1).mix(played(1), 1, rng()) == played(1)


def test_replayed_groups_come_from_the_last_two_batches_alike():
    replay = MixPolicy(probability=1.0, window=2, utd=1)
    for step in (1, 2, 3):
        replay.mix(played(step, groups=500), step, rng(step))
    sources = Counter(g.trajectories[0].version for g in replay.mix(played(4, groups=500), 4, rng()))
    assert set(sources) == {2, 3}
    assert abs(sources[2] - 250) < 60


def test_two_in_five_places_are_replayed():
    replay = MixPolicy(probability=0.4, utd=1)
    replay.mix(played(1, groups=1000), 1, rng(1))
    old = sum(g.trajectories[0].version == 1 for g in replay.mix(played(2, groups=1000), 2, rng()))
    assert 340 < old < 460


def test_a_fresh_row_in_the_moving_window_is_plain_clipping():
    import torch

    logp, old = torch.tensor([-0.5, -1.5, -1.0]), torch.tensor([-1.0, -1.0, -1.0])
    advantage = torch.tensor([1.0, -1.0, 2.0])
    moving, _ = moving_clip(logp, old, old, advantage)
    assert torch.equal(moving, clipped_surrogate(logp, old, advantage)[0])


# Use counts ----------------------------------------------------------------------------------------------------------


def test_priority_is_the_step_less_two_for_each_use():
    replay = Priority(ratio=1.0)
    taken = []
    for step in (1, 2, 3, 3, 3):  # nothing fresh is played after the first two
        fresh = played(step) if step < 3 else played(step, ())
        taken += [g.trajectories[0].version for g in replay.mix(fresh, step, rng())[1:]]
    # Step 2 takes 1, whose priority falls to 1 - 2. Then 2 leads with 2, falls to 0, still leads, falls to -2; then 1.
    assert taken == [1, 2, 2, 1]


def test_what_was_used_three_times_is_forgotten():
    replay = Priority(ratio=1.0)
    replay.mix(played(1), 1, rng())
    only = played(0, rewards=())
    assert [len(replay.mix(only, step, rng())) for step in range(2, 6)] == [2, 2, 2, 1]


def test_an_often_used_new_group_yields_to_an_unused_old_one():
    replay = Priority(ratio=1.0, decay=2.0)
    replay.mix(played(1, groups=2), 1, rng())
    nothing = played(0, rewards=())
    first = replay.mix(nothing, 2, rng())[1].proposal
    second = replay.mix(nothing, 2, rng())[1].proposal
    assert {first, second} == {100, 101}


# Successes of the same task ------------------------------------------------------------------------------------------


def test_a_failed_group_gets_a_past_success_in_place_of_its_last_episode():
    replay = PastSuccesses()
    replay.mix(played(1, (1.0, 0.0)), 1, rng())
    (mixed,) = replay.mix(played(2, (0.0, 0.0, 0.0)), 2, rng())
    assert [t.version for t in mixed.trajectories] == [2, 2, 1]
    assert [t.success for t in mixed.trajectories] == [False, False, True]
    assert mixed.proposal == 200


def test_a_group_with_a_success_and_another_task_are_left_alone():
    replay = PastSuccesses()
    replay.mix(played(1, (1.0, 0.0)), 1, rng())
    for groups in (played(2, (1.0, 0.0)), played(2, (0.0, 0.0), task="other")):
        assert replay.mix(groups, 2, rng()) == groups


@pytest.mark.parametrize(
    ("criterion", "version"), [("recent", 3), ("entropy", 2), ("probability", 2), ("random", None)]
)
def test_the_criterion_chooses_among_past_successes(criterion, version):
    replay = PastSuccesses(criterion=criterion)
    for step, logp in ((1, -1.0), (2, -0.1), (3, -2.0)):
        replay.mix(played(step, (1.0,), logp=logp), step, rng())
    (mixed,) = replay.mix(played(4, (0.0, 0.0)), 4, rng())
    assert mixed.trajectories[-1].version == version or (version is None and mixed.trajectories[-1].version < 4)


def test_recorded_entropy_counts_before_its_estimate():
    replay = PastSuccesses()
    for step, entropy, logp in ((1, 0.2, -3.0), (2, 0.9, -0.1)):
        (fresh,) = played(step, (1.0,), logp=logp)
        (t,) = fresh.trajectories
        turn = replace(t.turns[0], entropies=(entropy, entropy))
        replay.mix([replace(fresh, trajectories=(replace(t, turns=(turn,)),))], step, rng())
    assert replay.mix(played(3, (0.0, 0.0)), 3, rng())[0].trajectories[-1].version == 1


def test_replayed_tokens_can_be_told_apart():
    replay = PastSuccesses(as_teacher=True)
    replay.mix(played(1, (1.0,)), 1, rng())
    batch = collate(replay.mix(played(2, (0.0, 0.0)), 2, rng()))
    assert batch.written_by(Origin.TEACHER).sum() == 2
    assert (batch.logp_mu[batch.written_by(Origin.TEACHER)] == -1).all()


def test_prompt_replay_stands_beside_the_fresh_group():
    replay = PromptReplay(samples=2)
    replay.mix(played(1, (1.0, 0.0, 0.5)), 1, rng())
    fresh, old = replay.mix(played(2, (0.0, 0.0)), 2, rng())
    assert fresh == played(2, (0.0, 0.0))[0]
    assert [t.outcome for t in old.trajectories] == [0.0, 0.5]
    assert old.proposal == 200


def test_prompt_replay_can_join_the_fresh_group():
    replay = PromptReplay(samples=2, split=False)
    replay.mix(played(1, (1.0, 0.0)), 1, rng())
    (mixed,) = replay.mix(played(2, (0.0,)), 2, rng())
    assert [t.version for t in mixed.trajectories] == [2, 1, 1]


@pytest.mark.parametrize(
    ("strategy", "outcomes"),
    [("recency", {0.5, 0.4}), ("reward", {1.0, 0.9}), ("variance", {1.0, 0.0}), ("full", None)],
)
def test_the_strategy_chooses_what_is_retrieved(strategy, outcomes):
    replay = PromptReplay(samples=2, strategy=strategy)
    replay.mix(played(1, (1.0, 0.9, 0.0, 0.5, 0.4)), 1, rng())
    _, old = replay.mix(played(2, (0.0,)), 2, rng())
    got = {t.outcome for t in old.trajectories}
    assert len(old.trajectories) == 2
    assert outcomes is None or got == outcomes


# WebRL ---------------------------------------------------------------------------------------------------------------


def test_a_rank_score_of_one_token_is_its_probability():
    (t,) = played(1, (1.0,), logp=math.log(0.9))[0].trajectories
    assert mean_probability(t) == pytest.approx(0.9)


@pytest.mark.parametrize(("score", "kept"), [(0.97, 0), (0.4, 0), (0.9, 1), (0.5, 0)])
def test_likely_but_uncertain_successes_are_kept(score, kept):
    replay = LikelySuccesses()
    replay.mix(played(1, (1.0, 0.0), logp=math.log(score) + (0.0 if score != 0.5 else -1e-12)), 1, rng())
    assert len(replay.mix(played(2), 2, rng())) == 1 + kept


def test_at_most_twice_the_fresh_episodes_are_replayed():
    replay = LikelySuccesses(ratio=2.0)
    replay.mix(played(1, (1.0,) * 9, logp=-0.3), 1, rng())
    assert len(replay.mix(played(2, (1.0, 0.0)), 2, rng())) == 1 + 4


# SPEAR ---------------------------------------------------------------------------------------------------------------


def test_the_recalibrated_advantage_is_the_return_above_the_median_of_group_means():
    replay = SelfImitation(threshold=0.5, good=0)
    # Two groups of mean 0.6; the best of each is more than half a standard deviation above.
    replay.remember(played(1, (1.0, 0.6, 0.2)) + played(1, (0.9, 0.6, 0.3)), 1)
    recalled = [g.trajectories[0] for g in replay.recall(99, 2, rng())]
    assert [t.outcome for t in recalled] == [1.0, 0.9]
    assert [t.advantage for t in recalled] == pytest.approx([0.4, 0.3])


def test_what_is_no_longer_above_the_median_is_not_replayed():
    replay = SelfImitation(threshold=0.5, good=0)
    replay.remember(played(1, (0.5, 0.0)), 1)
    replay.remember(played(2, (0.6, 0.6)) + played(2, (0.6, 0.6)), 2)
    assert replay.recall(99, 3, rng()) == []


def test_only_episodes_more_than_the_threshold_above_their_group_are_remembered():
    assert group_advantages(played(1, (1.0, 0.0, 0.0, 0.0))[0])[0] == pytest.approx(1.5, abs=1e-3)
    replay = SelfImitation(threshold=1.0, good=1)
    replay.remember(played(1, (1.0, 0.0)), 1)  # 0.707
    assert len(replay) == 0
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 1


def test_a_group_needs_two_successes():
    replay = SelfImitation()
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 0
    replay.remember(played(1, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 2


def test_an_episode_expires_after_ten_updates():
    replay = SelfImitation(good=0)
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay.recall(9, 11, rng())) == 1
    assert replay.recall(9, 12, rng()) == []


def test_the_alternative_calibration_decays_the_old_advantage():
    replay = SelfImitation(good=0, calibration="decay")
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert replay.recall(9, 2, rng())[0].trajectories[0].advantage == pytest.approx(0.9 * 1.5, abs=1e-3)


def test_with_normalisation_the_gain_is_divided_by_the_median_deviation():
    replay = SelfImitation(good=0, normalise=True)
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0)), 1)  # mean 1/4, standard deviation 1/2
    assert replay.recall(9, 2, rng())[0].trajectories[0].advantage == pytest.approx(1.5)


def test_no_more_is_replayed_than_is_fresh():
    replay = SelfImitation(good=0)
    replay.remember(played(1, (1.0, 0.0, 0.0, 0.0), groups=5), 1)
    assert len(replay.recall(3, 2, rng())) == 3


# RoRecomp ------------------------------------------------------------------------------------------------------------


def test_short_successes_and_long_failures_come_first():
    replay = Recompose(share=0.5, probability=0.0)
    (first,) = replay.mix(played(1, (1.0, 1.0, 0.0, 0.0), lengths=[5, 3, 2, 4]), 1, rng())
    assert [(t.success, t.action_tokens) for t in first.trajectories] == [(True, 3), (False, 4)]


def test_advantages_are_those_of_the_whole_group():
    replay = Recompose(share=0.5, probability=0.0, eps=0.0)
    (first,) = replay.mix(played(1, (1.0, 1.0, 0.0, 0.0)), 1, rng())
    assert [t.advantage for t in first.trajectories] == pytest.approx([0.5 / math.sqrt(1 / 3), -0.5 / math.sqrt(1 / 3)])


def test_in_what_comes_first_length_and_advantage_go_against_each_other():
    draw, lengths, advantages = rng(), [], []
    for _ in range(20):
        rewards, drawn = [1.0] * 4 + [0.0] * 4, draw.permutation(np.arange(1, 9)).tolist()
        (first,) = Recompose(share=0.25, probability=0.0).mix(played(1, rewards, lengths=drawn), 1, draw)
        short, long = first.trajectories
        assert (short.action_tokens, long.action_tokens) == (min(drawn[:4]), max(drawn[4:]))
        lengths += [short.action_tokens, long.action_tokens]
        advantages += [short.advantage, long.advantage]
    assert np.corrcoef(lengths, advantages)[0, 1] < -0.5


def test_an_all_correct_group_gives_short_episodes_without_advantage():
    (first,) = Recompose(probability=0.0).mix(played(1, (1.0,) * 4, lengths=[4, 3, 2, 1]), 1, rng())
    assert [(t.action_tokens, t.advantage) for t in first.trajectories] == [(1, 0.0), (2, 0.0)]


def test_every_response_is_trained_at_most_once_and_the_oldest_first():
    replay, seen, waited = Recompose(probability=0.5, capacity=4), Counter(), []
    for step in range(1, 60):
        for mixed in replay.mix(played(step, (1.0, 1.0, 0.0, 0.0)), step, rng(step)):
            seen.update((t.version, t.turns[0].act_ids) for t in mixed.trajectories)
            waited += [t.version for t in mixed.trajectories if t.version < step]
    assert max(seen.values()) == 1
    assert waited == sorted(waited)
    assert sum(seen.values()) >= 4 * 59 - 2 * 4


def test_a_full_queue_gives_its_oldest_part_whatever_the_chance():
    replay = Recompose(probability=0.0, capacity=1)
    assert len(replay.mix(played(1, (1.0, 1.0)), 1, rng())) == 1
    assert [g.trajectories[0].version for g in replay.mix(played(2, (1.0, 1.0)), 2, rng())] == [2, 1]


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(InputError, match="did you mean 'entropy'"):
        PastSuccesses(criterion="entropie")
