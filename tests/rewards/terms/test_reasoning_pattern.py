from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.reasoning_pattern import PHRASES, calibrated, reasoning_pattern
from palaestra.rewards.terms.repetition import repeated_share

Maker = Callable[..., Episode]


TEN = " and ".join(PHRASES[20:30]) + " " + " ".join(f"word{i}" for i in range(400))


def test_there_are_forty_phrases_and_none_twice():
    assert len(PHRASES) == len(set(PHRASES)) == 40


def test_an_empty_text_has_nothing():
    assert reasoning_pattern("") == 0.0


def test_ten_phrases_of_twenty_are_a_half():
    present = sum(phrase in TEN for phrase in PHRASES)
    assert reasoning_pattern(TEN) == present / 20 > 0.4


def test_duplicating_the_text_makes_nearly_everything_a_repetition():
    assert repeated_share(TEN, 20) == 0.0
    assert repeated_share(f"{TEN} {TEN}", 20) > 0.95
    assert reasoning_pattern(f"{TEN} {TEN}") == 0.0


def test_a_turn_written_for_the_user_costs_everything():
    assert reasoning_pattern(TEN + " User: thanks") == 0.0


def test_the_term_has_the_papers_numbers_by_default(episode: Maker):
    assert make("reasoning-pattern")(episode(text=TEN)).reward == reasoning_pattern(TEN)
    assert make("reasoning-pattern", full=1000, n=1)(episode(text="thus " + "then, " * 3)).reward == 0.0


def test_the_pay_is_never_above_one(episode: Maker):
    everything = ". ".join(PHRASES)
    assert make("reasoning-pattern")(episode(text=everything)).reward == 1.0


def test_calibration_lifts_rejections_only():
    assert calibrated(0.2, 0.5, 0.5, 0.4) == pytest.approx(0.4)
    assert calibrated(0.5, 0.5, 0.5, 0.4) == 0.5


def test_the_calibrated_reward_is_invalid_when_the_model_is_silent(episode: Maker):
    reward = make("rpr-calibration", alpha=0.4)
    assert reward(episode(text=TEN, reward_model_score=0.9)).reward == 0.9
    assert reward(episode(text=TEN, reward_model_score=0.1)).reward > 0.25
    assert not reward(episode(text=TEN, reward_model_score=None)).valid
    assert not reward(episode(text=TEN, reward_model_score=float("nan"))).valid


def test_a_score_that_is_no_number_is_refused(episode: Maker):
    with pytest.raises(InputError, match="reward_model_score"):
        make("rpr-calibration")(episode(reward_model_score="good"))
