"""Scales against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS, SCALES

from ...conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def of(scale, batch, baseline=BASELINES["group_mean"], **params):
    units = RETURNS["outcome"](batch)
    return SCALES[scale](units.with_value(units.value - baseline(units, batch)), batch, **params).tolist()


def test_the_batch_deviation_is_that_of_returns_and_the_same_for_all_rows():
    batch = batch_of([1, 1, 1, 0], [0, 0, 0, 0])
    # three successes in eight: sqrt(8/7 x 3/8 x 5/8) = 0.51755
    deviation = math.sqrt(8 / 7 * 15 / 64)
    assert of("batch_std", batch, eps=0.0) == pytest.approx([v / deviation for v in (0.25,) * 3 + (-0.75,)] + [0] * 4)


def test_whitening_counts_a_unit_once_for_each_token():
    batch = batch_of([1, 0], lengths=[3, 1])
    units = RETURNS["outcome"](batch)
    # mean 3/4, deviation sqrt(3/16)
    assert SCALES["whiten"](units, batch).tolist() == pytest.approx(
        [0.25 / math.sqrt(3 / 16), -0.75 / math.sqrt(3 / 16)]
    )
    assert SCALES["whiten_units"](units, batch).tolist() == pytest.approx([1, -1])


def test_division_by_the_mean_turns_the_gradient_into_that_of_the_log():
    assert of("mean", batch_of([1, 0, 0, 0], [0, 0])) == pytest.approx([3, -1, -1, -1, 0, 0])


def test_the_largest_magnitude_becomes_one():
    assert of("max_abs", batch_of([1, 0, 0, 0], [0.5, 0.5])) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3, 0, 0])
    assert of("max_abs", batch_of([2, 0], [0.5, 0]), by="group") == pytest.approx([1, -1, 1, -1])


def test_only_the_order_counts_for_ranks_and_equals_share_theirs():
    assert of("rank", batch_of([10, 1, 2, 1])) == pytest.approx([1, -2 / 3, 1 / 3, -2 / 3])
    assert of("rank", batch_of([5, 5], [3])) == [0, 0, 0]
    assert of("rank", batch_of([2, 1], [1, 2])) == [1, -1, -1, 1]


def test_signs_and_groups_without_a_signal():
    assert of("sign", batch_of([0.3, 0.1])) == [1, -1]
    # four of six units lie in a group with a signal
    assert of("informative", batch_of([1, 0, 0, 0], [1, 1])) == pytest.approx([0.75 * 1.5] + [-0.25 * 1.5] * 3 + [0, 0])


def test_the_deviation_of_what_was_drawn():
    kept = group(*(trajectory(r, [([5], [6])]) for r in (1, 0)))
    batch = collate([replace(kept, drawn=(1.0, 0.0, 0.0, 0.0)), kept])
    # 0.5 and sqrt(1/2) with ddof 1
    assert of("drawn_std", batch, eps=0.0) == pytest.approx([1, -1, 0.70711, -0.70711], abs=1e-4)


def test_the_deviation_may_be_taken_within_roles():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0, "x"), (4, "y"), (0, "y"))]
    batch = collate([group(*rows)])
    got = of(
        "group_std",
        batch,
        baseline=lambda u, b: BASELINES["group_mean"](u, b, by="role"),
        ddof=0,
        eps=0.0,
        by="role",
    )
    assert got == pytest.approx([1, -1, 1, -1])
