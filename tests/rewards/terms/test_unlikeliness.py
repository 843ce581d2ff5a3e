from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def of(make_one: Maker, *logps: float, success: bool = True) -> list[Episode]:
    return [make_one(success, logps=(logp, logp)) for logp in logps]


def test_four_right_answers_are_ranked_by_how_unlikely_they_are(episode: Maker):
    verdicts = make("unlikeliness").group(of(episode, -4.0, -3.0, -2.0, -1.0))
    values = [verdict.reward for verdict in verdicts]
    assert values == [1.0, 0.9375, 0.875, 0.8125]
    advantages = (np.array(values) - np.mean(values)) / np.std(values, ddof=1)
    assert advantages.tolist() == pytest.approx([1.1619, 0.3873, -0.3873, -1.1619], abs=1e-4)


def test_wrong_answers_stay_at_zero_but_count_for_the_ranks(episode: Maker):
    group = of(episode, -9.0, success=False) + of(episode, -1.0)
    assert [verdict.reward for verdict in make("unlikeliness").group(group)] == [0.0, 0.875]


def test_beta_zero_is_plain_success(episode: Maker):
    group = of(episode, -9.0, -1.0) + of(episode, -5.0, success=False)
    assert [verdict.reward for verdict in make("unlikeliness", beta=0).group(group)] == [1.0, 1.0, 0.0]


def test_equally_likely_answers_are_worth_the_same_in_any_order(episode: Maker):
    values = [verdict.reward for verdict in make("unlikeliness").group(of(episode, -1.0, -2.0, -1.0))]
    assert values[0] == values[2] < values[1]


def test_likelihood_is_per_token(episode: Maker):
    long, short = episode(logps=(-1.0,) * 10), episode(logps=(-2.0,))
    assert [verdict.reward for verdict in make("unlikeliness").group([long, short])] == [0.875, 1.0]


def test_it_says_what_it_needs(episode: Maker):
    assert make("unlikeliness").needs == {"logps"}
    with pytest.raises(InputError, match="logps"):
        make("unlikeliness")(episode())


def test_an_episode_without_finite_log_probabilities_is_neither_judged_nor_ranked(episode: Maker):
    verdicts = make("unlikeliness").group(of(episode, float("nan"), -2.0, -1.0))
    assert [verdict.valid for verdict in verdicts] == [False, True, True]
    assert [verdict.reward for verdict in verdicts[1:]] == [1.0, 0.875]


def test_an_episode_without_tokens_counts_as_certain(episode: Maker):
    assert [verdict.reward for verdict in make("unlikeliness").group([episode(logps=()), episode(logps=(-1.0,))])] == [
        0.875,
        1.0,
    ]
