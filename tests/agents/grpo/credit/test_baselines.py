"""Baselines against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.credit.peers import answer_entropy, peers_by
from palaestra.agents.grpo.components.credit.trackers import BetaTracker, Ema
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None, **changes):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate(
        [group(*(trajectory(r, [([5], [6] * next(counts))], **changes) for r in rs)) for rs in outcomes_by_group]
    )


def of(baseline, batch, **params):
    return BASELINES[baseline](RETURNS["outcome"](batch), batch, **params).tolist()


def test_peers_may_be_the_whole_batch():
    batch = batch_of([1, 0, 0], [1])
    assert of("group_mean", batch, by="batch") == [0.5] * 4
    assert of("leave_one_out", batch, by="batch") == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1 / 3])


def test_an_unknown_kind_of_peers_is_refused():
    with pytest.raises(InputError, match="did you mean 'state'"):
        of("group_mean", batch_of([1, 0]), by="sate")


def test_a_teachers_row_does_not_count_in_the_mean_that_it_is_compared_with():
    own = [trajectory(r, [([5], [6])]) for r in (1, 0, 0, 0)]
    taught = trajectory(1, [([5], [6])])
    taught = replace(taught, turns=(replace(taught.turns[0], origins=(Origin.TEACHER,)),))
    assert of("own_mean", collate([group(*own, taught)])) == pytest.approx([0.25] * 5)
    assert of("own_mean", collate([group(taught)])) == [1.0]


def test_roles_are_compared_apart_within_a_group():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0, "x"), (0.4, "y"))]
    batch = collate([group(*rows), group(*rows[:1])])
    assert of("by_role", batch) == pytest.approx([0.5, 0.5, 0.4, 1])


def test_turns_are_compared_with_turns_of_the_same_number():
    rows = [trajectory(r, [([5], [6, 6])] * n) for r, n in ((1, 2), (0, 2), (0.5, 1))]
    batch = collate([group(*rows)])
    units = RETURNS["turn_return"](batch)
    assert units.value.tolist() == [1, 1, 0, 0, 0.5]
    assert BASELINES["same_turn"](units, batch).tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.5])
    assert BASELINES["group_mean"](units, batch, by="turn").tolist() == BASELINES["same_turn"](units, batch).tolist()
    alone = replace(units, value=torch.tensor([1.0, 1, 0, 0, 2.0]))
    assert BASELINES["same_turn"](alone, batch).tolist() == pytest.approx([1, 0.5, 1, 0.5, 1])


def test_turns_at_the_same_observation_are_compared_even_at_different_times():
    # GiGPO: anchor states "s", "t", and "s" again
    def seen(reward, *observations):
        made = trajectory(reward, [([5], [6])] * len(observations))
        turns = tuple(replace(t, observation=o) for t, o in zip(made.turns, observations, strict=True))
        return replace(made, turns=turns)

    one = group(seen(1, "s", "t"), seen(0, "s", "s"))
    batch = collate([one, group(seen(0.5, "s"))])
    units = RETURNS["turn_return"](batch)
    assert BASELINES["anchor_state"](units, batch).tolist() == pytest.approx([1 / 3, 1, 1 / 3, 1 / 3, 0.5])


def test_the_length_weighted_baseline_weighs_by_tokens():
    assert of("length_weighted", batch_of([1, 0], lengths=[3, 1])) == pytest.approx([0.75, 0.75])
    assert of("length_weighted", batch_of([1, 0], lengths=[2, 2])) == pytest.approx([0.5, 0.5])


def test_the_optimal_token_baseline_weighs_by_what_the_tokens_so_far_add():
    batch = batch_of([1, 0], lengths=[2, 1])
    p = torch.zeros(len(batch.ids))
    p[batch.action] = torch.tensor([0.25, 0.5, 0.75]).log()
    batch = batch.with_(logp_old=p)
    units = RETURNS["outcome_by_token"](batch)
    # first tokens weigh 0.75 and 0.25; the only second token is its own baseline
    assert BASELINES["optimal_token"](units, batch).tolist() == pytest.approx([0.75, 1, 0.75])


def test_the_weights_of_the_optimal_token_baseline_add_up_along_the_episode():
    batch = batch_of([1, 0], lengths=[2, 2])
    p = torch.zeros(len(batch.ids))
    p[batch.action] = torch.tensor([0.25, 0.5, 0.75, 0.9]).log()
    batch = batch.with_(logp_old=p)
    # second tokens weigh 0.75 + 0.5 and 0.25 + 0.1
    assert BASELINES["optimal_token"](RETURNS["outcome_by_token"](batch), batch).tolist() == pytest.approx(
        [0.75, 1.25 / 1.6] * 2
    )


def test_the_greedy_outcome_is_the_baseline_and_the_mean_where_it_was_lost():
    played = group(trajectory(1, [([5], [6])]), trajectory(0, [([5], [6])]))
    batch = collate([replace(played, greedy=0.25), played])
    assert of("greedy", batch) == [0.25, 0.25, 0.5, 0.5]


def test_what_was_drawn_and_not_kept_counts_in_the_baseline():
    # Reinforce-Ada: one success in 32 draws, of which 4 were kept
    kept = group(*(trajectory(r, [([5], [6])]) for r in (1, 0, 0, 0)))
    batch = collate([replace(kept, drawn=(1.0, *[0.0] * 31)), kept])
    centred = batch.outcome - torch.tensor(of("drawn_mean", batch))
    assert centred.tolist()[:2] == pytest.approx([31 / 32, -1 / 32])
    assert centred.tolist()[4] == pytest.approx(0.75)


def test_a_quantile_reinforces_rare_successes_and_punishes_rare_failures():
    assert of("quantile", batch_of([1, 0, 0, 0, 0]), level=0.4) == [0] * 5
    assert of("quantile", batch_of([1, 1, 1, 1, 0]), level=0.4) == [1] * 5
    # the border: 2 of 5 fail, and exactly 0.4 of the outcomes do not exceed 0
    assert of("quantile", batch_of([1, 1, 1, 0, 0]), level=0.4) == [0] * 5
    assert of("quantile", batch_of([3, 1, 2], [9]), level=1.0) == [3, 3, 3, 9]
    with pytest.raises(InputError, match=r"in \(0, 1\]"):
        of("quantile", batch_of([1]), level=0.0)


def test_the_median_of_an_even_number_is_halfway():
    assert of("median", batch_of([4, 1, 2, 8], [1, 5, 2])) == [3] * 4 + [2] * 3


def test_a_shift_changes_every_advantage_by_the_same():
    assert of("shifted", batch_of([1, 0]), shift=-0.1) == pytest.approx([0.4, 0.4])
    assert of("shifted", batch_of([1, 0]), base=BASELINES["leave_one_out"], shift=0.5) == pytest.approx([0.5, 1.5])


def test_the_log_mean_exp_lies_between_mean_and_maximum():
    batch = batch_of([1, 0])
    assert of("log_mean_exp", batch) == pytest.approx([math.log((math.e + 1) / 2)] * 2)
    assert of("log_mean_exp", batch, temperature=1e-3) == pytest.approx([1, 1], abs=1e-3)
    assert of("log_mean_exp", batch, temperature=1e3) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_an_imagined_success_makes_failures_negative():
    assert of("virtual_best", batch_of([0, 0, 0], [1])) == [0.25] * 3 + [1]


def test_the_kalman_mean_of_one_and_of_many_measurements():
    # one measurement: gain 1 / 1.01; with precise measurements the mean
    assert of("kalman", batch_of([1.0]), noise=0.01) == pytest.approx([1 / 1.01])
    assert of("kalman", batch_of([1, 0]), noise=1e-6) == pytest.approx([0.5] * 2, abs=1e-5)


def test_a_running_mean_for_each_role_is_updated_before_it_is_subtracted():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0.5, "y"))]
    batch = collate([group(*rows)])
    ema = Ema(decay=0.5)
    assert ema(RETURNS["outcome"](batch), batch).tolist() == [0.5, 0.25]
    assert ema(RETURNS["outcome"](batch), batch).tolist() == [0.75, 0.375]


def test_n_equal_returns_of_a_role_count_as_n_updates():
    three, one = batch_of([1, 1, 1]), batch_of([1])
    at_once, in_turn = Ema(decay=0.5), Ema(decay=0.5)
    together = at_once(RETURNS["outcome"](three), three)[0].item()
    for _ in range(3):
        last = in_turn(RETURNS["outcome"](one), one)[0].item()
    assert together == pytest.approx(last) == pytest.approx(0.875)


def test_the_beta_tracker_predicts_before_it_learns():
    batch = batch_of([1], task_id="q")
    tracker = BetaTracker(keep=0.5)
    # 4 / 8 at first; then (0.5 x 4 + 1) / (0.5 x 8 + 1) = 3 / 5
    assert tracker(RETURNS["outcome"](batch), batch).tolist() == [0.5]
    assert tracker(RETURNS["outcome"](batch), batch).tolist() == pytest.approx([0.6])
    other = batch_of([1], task_id="another")
    assert tracker(RETURNS["outcome"](other), other).tolist() == [0.5]


@pytest.mark.parametrize("make", [lambda: Ema(by="params"), lambda: BetaTracker(by="params")])
def test_trackers_are_saved_and_resumed(make):
    batch = batch_of([1, 1], params={"digits": 3})
    one, other = make(), make()
    one(RETURNS["outcome"](batch), batch)
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert other(RETURNS["outcome"](batch), batch).tolist() == one(RETURNS["outcome"](batch), batch).tolist()
    fresh = make()(RETURNS["outcome"](batch), batch).tolist()
    assert fresh != one(RETURNS["outcome"](batch), batch).tolist()


def test_the_entropy_of_answers_is_that_of_their_frequencies():
    def says(text):
        made = trajectory(1, [([5], [6])])
        return replace(made, turns=(replace(made.turns[0], action=f"so <answer>{text}</answer>"),))

    batch = collate([group(says("4"), says("4"), says("5"), says("5")), group(says("4"))])
    assert answer_entropy(batch).tolist() == pytest.approx([math.log(2), 0])


def test_units_without_tokens_are_compared_with_no_turn():
    made = trajectory(1, [([5], [6]), ([5], [])])
    batch = collate([group(made, made)])
    assert peers_by(RETURNS["turn_return"](batch), batch, "turn").of.tolist() == [1, 0, 1, 0]
