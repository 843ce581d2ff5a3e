"""Success scales against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS, SCALES

from ...conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def of(scale, batch, baseline=BASELINES["group_mean"], **params):
    units = RETURNS["outcome"](batch)
    return SCALES[scale](units.with_value(units.value - baseline(units, batch)), batch, **params).tolist()


def test_the_beta_norm_of_two_groups():
    # p = 0.5 -+ 0.17678: m = 0.5, v = 0.0625, alpha = beta = 1.5, so A = pi/8 (r - p) / sqrt(p (1 - p))
    p, q = 0.5 - math.sqrt(1 / 32), 0.5 + math.sqrt(1 / 32)
    batch = batch_of([p, p + 0.1, p - 0.1], [q, q + 0.1, q - 0.1])
    factor = math.pi / 8 / math.sqrt(p * q)
    assert of("beta_norm", batch) == pytest.approx([0, 0.1 * factor, -0.1 * factor] * 2, abs=1e-5)


def test_the_beta_norm_without_spread_is_none():
    assert of("beta_norm", batch_of([1, 0])) == pytest.approx([0.5, -0.5])
    assert of("beta_norm", batch_of([1, 0], [0, 1])) == pytest.approx([0.5, -0.5, -0.5, 0.5])


def test_pass_at_one_is_grpo_with_the_population_deviation():
    batch = batch_of([1, 0, 0, 0])
    assert of("pass_at_k", batch, k=1) == pytest.approx(of("group_std", batch, ddof=0, eps=0.0))


def test_pass_at_two_of_one_success_in_four():
    # q = C(3,2)/C(4,2) = 1/2, s = 1/2; a failure has 1/2 - C(2,1)/C(3,1) = -1/6
    assert of("pass_at_k", batch_of([1, 0, 0, 0]), k=2) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    # three failures cannot fill a subset of four without a success, so nothing is to be gained
    assert of("pass_at_k", batch_of([1, 0, 0, 0]), k=4) == [0] * 4


def test_a_group_smaller_than_k_is_left_alone():
    # the other: q = 1/4, s = sqrt(3/16); a failure has 1/4 - 1/3
    spread = math.sqrt(3 / 16)
    expected = [0, 0, 0.25 / spread, *[-1 / 12 / spread] * 3]
    assert of("pass_at_k", batch_of([1, 0], [1, 0, 0, 0]), k=3) == pytest.approx(expected)


def test_only_a_single_best_sample_is_credited():
    assert of("best_gap", batch_of([0.9, 0.5, 0.1], [1, 1, 0], [3])) == pytest.approx([0.4] + [0] * 6)


def test_failures_beside_an_imagined_success():
    # (0, 0, 0, 1): deviation with ddof 1 is 0.5
    assert of("virtual_std", batch_of([0, 0, 0]), BASELINES["virtual_best"], eps=0.0) == pytest.approx([-0.5] * 3)
    assert of("virtual_std", batch_of([1, 1]), BASELINES["virtual_best"]) == [0, 0]


def test_the_deviation_left_by_the_kalman_filter():
    # one measurement of variance 1 on a prior of variance 1: mean 0.5 and variance 0.5
    assert of(
        "kalman_std", batch_of([1.0]), lambda u, b: BASELINES["kalman"](u, b, noise=1.0), noise=1.0
    ) == pytest.approx([0.5 / math.sqrt(0.5)])


def says(reward, text):
    made = trajectory(reward, [([5], [6])])
    return replace(made, turns=(replace(made.turns[0], action=text),))


def test_unanimous_groups_learn_from_other_tasks():
    batch = collate([group(says(0, "4"), says(0, "4")), group(says(1, "5"), says(1, "5"))])
    # rates 0 and 1 have mean 0.5 and deviation sqrt(1/2)
    assert of("consistency_blend", batch, eps=1e-9) == pytest.approx([-0.70711] * 2 + [0.70711] * 2, abs=1e-4)


def test_groups_that_disagree_learn_from_themselves():
    batch = collate([group(*(says(r, str(i)) for i, r in enumerate((1, 0, 0, 0, 0, 0)))), group(says(1, "x"))])
    units = RETURNS["outcome"](batch)
    centred = units.with_value(units.value - units.peers.shared_mean(units.value))
    # six answers: H = ln 6, w = 0.997
    share = 1 / (1 + math.exp(-20 * (math.log(6) - 1.5)))
    across = (1 / 6 - 7 / 12) / torch.tensor([1 / 6, 1.0]).std().item()
    expected = share * SCALES["group_std"](centred, batch, eps=0.0)[0].item() + (1 - share) * across
    assert share == pytest.approx(0.997, abs=1e-3)
    assert SCALES["consistency_blend"](centred, batch, eps=0.0)[0].item() == pytest.approx(expected, abs=1e-5)
