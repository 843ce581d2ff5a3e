from __future__ import annotations

import math
import pickle

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, Verdict


def test_reward_is_the_score_without_terms_and_their_sum_with_them():
    assert Verdict(0.25, False).reward == 0.25
    assert Verdict(1.0, True, terms={"answer": 1.0, "length": -0.25}).reward == 0.75


@pytest.mark.parametrize("score", [-0.01, 1.01, math.nan, math.inf])
def test_score_outside_the_unit_interval_is_refused(score: float):
    with pytest.raises(InputError, match="score"):
        Verdict(score, False)


def test_failed_machinery_cannot_claim_success():
    with pytest.raises(InputError, match="valid=False"):
        Verdict(1.0, True, valid=False)


def test_a_term_must_be_finite():
    with pytest.raises(InputError, match="'bonus'"):
        Verdict(1.0, True, terms={"bonus": math.nan})


def test_verdicts_and_episodes_are_frozen_and_picklable():
    episode = Episode("t", {"n": 1}, (Step("q", "a", 1.0, {"answer": 1.0}, 3),), True, 1.0, True, False, 8)
    for value in (Verdict(1.0, True, terms={"a": 1.0}), episode):
        assert pickle.loads(pickle.dumps(value)) == value
        with pytest.raises(AttributeError):
            value.valid = False  # type: ignore[misc]


def test_episode_sums_rewards_and_tokens():
    steps = (Step("", "a", 0.25, {}, 3), Step("", "b", 0.5, {}, 4))
    episode = Episode("t", {}, steps, False, 0.5, True, False, None)
    assert episode.reward == 0.75
    assert episode.tokens == 7


@pytest.mark.parametrize(("reward", "tokens"), [(math.nan, 1), (1.0, -1)])
def test_a_step_with_impossible_numbers_is_refused(reward: float, tokens: int):
    with pytest.raises(InputError):
        Step("", "", reward, {}, tokens)


def test_rewards_of_turns_sum_to_the_term_of_their_name():
    assert Verdict(0.5, False, terms={"a": 0.5, "b": 1.0}, steps={"a": (0.2, 0.3)}).by_turn == (0.2, 0.3)
    for steps in ({"a": (0.2, 0.2)}, {"c": (0.5,)}):
        with pytest.raises(InputError, match="sum to"):
            Verdict(0.5, False, terms={"a": 0.5}, steps=steps)
