from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.trusted_thinking import trusted_thinking

Maker = Callable[..., Episode]


def test_a_judge_that_prefers_wrong_answers_loses_weight():
    # mean 0.4 over the right one and 0.6 over the wrong one: 0.3 * exp(-0.2) = 0.2456
    values = trusted_thinking([1.0, 0.0], [0.4, 0.6], 0.3)
    assert values == pytest.approx([1 + 0.2456 * 0.4, 0.2456 * 0.6], abs=1e-4)
    assert math.exp(-0.2) == pytest.approx(0.8187, abs=1e-4)


def test_a_judge_that_prefers_right_answers_has_all_of_it():
    assert trusted_thinking([1.0, 0.0], [0.6, 0.4], 0.3) == pytest.approx([1.18, 0.12])


@pytest.mark.parametrize("answers", [[1.0, 0.9], [0.0, 0.1]])
def test_a_homogeneous_group_has_its_answers_alone(answers: list[float]):
    assert trusted_thinking(answers, [0.7, 0.2], 0.3) == answers


def test_as_released_bad_answers_have_no_thinking_reward():
    assert trusted_thinking([1.0, 0.0], [0.4, 0.6], 0.3, query_above=0.2) == pytest.approx([1.12, 0.0])


def test_an_answer_is_right_from_a_half_on_and_asked_about_from_the_threshold_on():
    # The one of 0.5 is right: 0.4 against 0.6 and 0.6 makes exp(-0.2).
    assert trusted_thinking([0.5, 0.2, 0.0], [0.4, 0.6, 0.6], 0.3)[0] == pytest.approx(0.5 + 0.2456 * 0.4, abs=1e-4)
    assert trusted_thinking([1.0, 0.2], [0.6, 0.4], 0.5, query_above=0.2) == pytest.approx([1.3, 0.4])


def test_as_released_the_reasoning_of_bad_answers_is_not_even_asked_for(episode: Maker):
    group = [episode(True, thinking_score=0.4), episode(False, thinking_score=None)]
    values = make("trusted-thinking", weight=0.3, query_above=0.2).group(group)
    assert [verdict.valid for verdict in values] == [True, True]
    assert [verdict.reward for verdict in values] == pytest.approx([1.12, 0.0])


def test_thinking_fades_with_training(episode: Maker):
    reward = make("trusted-thinking")
    group = [episode(True, thinking_score=1.0), episode(False, thinking_score=0.5)]
    assert [verdict.reward for verdict in reward.group(group)] == pytest.approx([1.3, 0.15])
    reward.advance(500, 1000)
    assert reward.group(group)[0].reward == pytest.approx(1 + 0.3 / math.e)
    reward.advance(1_000_000, 1_000_000)
    assert [verdict.reward for verdict in reward.group(group)] == [1.0, 0.0]


def test_only_the_episode_that_was_not_judged_is_invalid(episode: Maker):
    group = [episode(True, thinking_score=None), episode(True, thinking_score=0.5), episode(False, thinking_score=0.5)]
    verdicts = make("trusted-thinking").group(group)
    assert [verdict.valid for verdict in verdicts] == [False, True, True]
    assert verdicts[1].reward == 1.15


def test_a_weight_that_lets_thinking_outrank_success_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("trusted-thinking", weight=1.5)


def test_partial_credit_takes_the_promise_away():
    assert not make("trusted-thinking", answer=lambda _: 0.5).ranks_success
