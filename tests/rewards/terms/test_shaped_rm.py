from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.shaped_rm import shaped_rm

Maker = Callable[..., Episode]


def test_a_correct_answer_with_score_two_is_0_7311():
    assert shaped_rm(2.0, True) == pytest.approx(0.7311, abs=1e-4)


def test_score_zero_is_plus_or_minus_a_half():
    assert [shaped_rm(0.0, True), shaped_rm(0.0, False)] == [0.5, -0.5]


@pytest.mark.parametrize("score", [-30.0, -1.0, 0.0, 3.0, 30.0])
def test_right_is_in_zero_to_one_and_wrong_in_minus_one_to_zero(score: float):
    assert 0 < shaped_rm(score, True) < 1
    assert -1 < shaped_rm(score, False) < 0


def test_no_score_makes_a_failure_better_than_a_success(episode: Maker):
    reward = make("shaped-rm")
    worst, best = episode(True, reward_model_score=-1e300), episode(False, reward_model_score=1e300)
    assert reward(best).reward <= reward(worst).reward
    assert not reward(episode(reward_model_score=float("inf"))).valid
