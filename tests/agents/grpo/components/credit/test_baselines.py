"""Baselines against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None, **changes):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate(
        [group(*(trajectory(r, [([5], [6] * next(counts))], **changes) for r in rs)) for rs in outcomes_by_group]
    )


def of(baseline, batch, **params):
    return BASELINES[baseline](RETURNS["outcome"](batch), batch, **params).tolist()


def test_a_teachers_row_does_not_count_in_the_mean_that_it_is_compared_with():
    own = [trajectory(r, [([5], [6])]) for r in (1, 0, 0, 0)]
    taught = trajectory(1, [([5], [6])])
    taught = replace(taught, turns=(replace(taught.turns[0], origins=(Origin.TEACHER,)),))
    assert of("own_mean", collate([group(*own, taught)])) == pytest.approx([0.25] * 5)
    assert of("own_mean", collate([group(taught)])) == [1.0]


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
