from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palaestra.rewards.algebra import (
    Scheduled,
    Shaped,
    Sum,
    Weighted,
)
from palaestra.rewards.terms.outcome import EnvironmentReward

from .conftest import Read, episode, reward_of  # isort: skip


def test_a_sum_names_its_terms_after_its_parts():
    verdict = Sum(correct=EnvironmentReward(), style=Read("x"))(episode(success=True, x=0.25))
    assert dict(verdict.terms) == {"correct": 1.0, "style": 0.25}
    assert verdict.reward == 1.25
    assert verdict.success


def test_a_part_with_several_terms_keeps_them_apart():
    inner = Sum(a=Read("x"), b=Read("y"))
    assert dict(Sum(left=inner, right=Read("x"))(episode(x=1.0, y=2.0)).terms) == {
        "left.a": 1.0,
        "left.b": 2.0,
        "right": 1.0,
    }


def test_a_weight_scales_every_term():
    verdict = Weighted(Sum(a=Read("x"), b=Read("y")), -0.5)(episode(x=1.0, y=2.0))
    assert dict(verdict.terms) == {"a": -0.5, "b": -1.0}


def test_a_schedule_follows_training_and_is_saved():
    faded = Scheduled(Read("x"), {"kind": "linear", "start": 1.0, "end": 0.0})
    root = Sum(a=faded)
    assert reward_of(root, x=2.0) == 2.0
    root.advance(5, 10)
    assert reward_of(root, x=2.0) == pytest.approx(1.0)
    copy = Sum(a=Scheduled(Read("x"), {"kind": "linear", "start": 1.0, "end": 0.0}))
    copy.load_state_dict(json.loads(json.dumps(root.state_dict())))
    assert reward_of(copy, x=2.0) == pytest.approx(1.0)


@given(st.lists(st.tuples(st.booleans(), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=8))
def test_shaped_never_ranks_a_failure_above_a_success(rows: list[tuple[bool, float, float]]):
    shaped = Shaped(width=0.99, weights={"b": 7.0}, a=Read("x", -1.0, 2.0), b=Read("y", 0.0, 1.0))
    values = [(success, reward_of(shaped, success=success, x=x, y=y)) for success, x, y in rows]
    lost = [value for success, value in values if not success]
    won = [value for success, value in values if success]
    assert not lost or not won or max(lost) < min(won)


def test_shaped_is_its_success_plus_the_places_between_the_bounds():
    shaped = Shaped(width=0.6, weights={"a": 2.0}, a=Read("x", -1.0, 1.0), b=Read("y", 0.0, 1.0))
    verdict = shaped(episode(success=True, x=0.0, y=1.0))
    assert dict(verdict.terms) == pytest.approx({"success": 1.0, "a": 0.6 * 2 / 3 * 0.5, "b": 0.6 / 3})


def test_the_bounds_of_a_schedule_are_those_of_all_its_weights():
    scheduled = Scheduled(Read("x", -1.0, 2.0), {"kind": "linear", "start": 0.5, "end": -3.0})
    assert scheduled.bounds == (-6.0, 3.0)
