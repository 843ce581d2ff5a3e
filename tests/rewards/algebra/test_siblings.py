from __future__ import annotations

import math

import pytest
from palaestra.rewards.algebra import (
    Normalize,
    Trust,
)
from palaestra.rewards.algebra.siblings import trust_weight

from .conftest import Read, episode  # isort: skip


def test_normalised_parts_weigh_the_same_whatever_their_spread():
    # r = (0, 1) and (0, 100): both become -+1/sqrt(2) by the unbiased deviation.
    normal = Normalize(whiten=False, eps=0.0, a=Read("x"), b=Read("y"))
    first, second = normal.group([episode(x=0.0, y=100.0), episode(x=1.0, y=0.0)])
    half = 1 / math.sqrt(2)
    assert dict(first.terms) == pytest.approx({"a": -half, "b": half})
    assert dict(second.terms) == pytest.approx({"a": half, "b": -half})


def test_a_part_that_is_equal_throughout_the_group_adds_nothing():
    normal = Normalize(whiten=False, a=Read("x"), b=Read("y"))
    assert [v.terms["b"] for v in normal.group([episode(x=0.0, y=3.0), episode(x=1.0, y=3.0)])] == [0, 0]


def test_parts_that_plain_sums_cannot_tell_apart_stay_distinct():
    # GDPO's example: (0, 1) and (0, 2) of two binary rewards have the same group advantage when summed first.
    normal = Normalize(whiten=False, eps=0.0, ddof=0, a=Read("x"), b=Read("y"))
    one = normal.group([episode(x=0.0, y=0.0), episode(x=0.0, y=1.0)])
    two = normal.group([episode(x=0.0, y=0.0), episode(x=1.0, y=1.0)])
    assert [v.reward for v in one] == pytest.approx([-1, 1])
    assert [v.reward for v in two] == pytest.approx([-2, 2])


def test_whitening_leaves_mean_0_and_deviation_1_over_the_batch():
    normal = Normalize(eps=0.0, a=Read("x"), b=Read("y"))
    batch = normal.batch(
        [[episode(x=0.0, y=1.0), episode(x=1.0, y=1.0)], [episode(x=5.0, y=0.0), episode(x=9.0, y=2.0)]]
    )
    values = [verdict.reward for group in batch for verdict in group]
    mean = sum(values) / 4
    assert mean == pytest.approx(0, abs=1e-12)
    assert sum((v - mean) ** 2 for v in values) / 3 == pytest.approx(1)


def test_normalised_parts_are_weighed_after_the_normalisation():
    normal = Normalize(weights={"a": 3.0}, whiten=False, eps=0.0, ddof=0, a=Read("x"), b=Read("y"))
    first, second = normal.group([episode(x=0.0, y=0.0), episode(x=7.0, y=100.0)])
    assert dict(first.terms) == pytest.approx({"a": -3.0, "b": -1.0})
    assert dict(second.terms) == pytest.approx({"a": 3.0, "b": 1.0})


def test_an_invalid_sibling_is_not_counted_in_the_normalisation():
    normal = Normalize(whiten=False, eps=0.0, a=Read("x"))
    verdicts = normal.group([episode(x=0.0), episode(x=99.0, valid=False), episode(x=1.0)])
    assert [v.valid for v in verdicts] == [True, False, True]
    assert verdicts[2].reward == pytest.approx(1 / math.sqrt(2))


def test_trust_falls_where_wrong_answers_are_liked_better():
    assert trust_weight([0.4, 0.6], [True, False]) == pytest.approx(0.8187, abs=1e-4)
    assert trust_weight([0.6, 0.4], [True, False]) == 1.0
    assert trust_weight([0.1, 0.9], [True, True]) == 1.0
    group = Trust(Read("x")).group([episode(success=True, x=0.4), episode(x=0.6)])
    assert [v.reward for v in group] == pytest.approx([0.4 * math.exp(-0.2), 0.6 * math.exp(-0.2)])


def test_trust_can_ask_another_reward_which_episodes_are_good():
    group = Trust(Read("x"), by=Read("c"), threshold=0.5).group([episode(x=0.4, c=0.5), episode(x=0.6, c=0.4)])
    assert [v.reward for v in group] == pytest.approx([0.4 * math.exp(-0.2), 0.6 * math.exp(-0.2)])
