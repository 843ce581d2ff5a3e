from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.self_aligned import self_aligned

Maker = Callable[..., Episode]


def of_perplexity(value: float) -> list[float]:
    return [-math.log(value)] * 3


@pytest.mark.parametrize(("blind", "known", "value"), [(10, 4, 0.6), (10, 10, 0.0), (10, 30, -1.0), (10, 15, -0.5)])
def test_the_relative_drop_of_perplexity(blind: float, known: float, value: float):
    assert self_aligned(of_perplexity(known), of_perplexity(blind)) == pytest.approx(value)


def test_without_tokens_there_is_nothing_to_compare():
    assert self_aligned([], [-1.0]) == self_aligned([-1.0], []) == self_aligned([0.0], [0.0], "log") == 0.0


def test_the_variants_by_hand():
    known, blind = of_perplexity(math.e), of_perplexity(math.e**2)
    assert self_aligned(known, blind, "log") == pytest.approx(0.5)
    assert self_aligned(of_perplexity(1.5), of_perplexity(2.0), "difference") == pytest.approx(0.5)


def test_impossible_tokens_do_not_overflow():
    for variant in ("ratio", "log", "difference"):
        assert -1.0 <= self_aligned([-1e5], [-1e4], variant) <= 1.0
    assert self_aligned([-1e5], [-1e4]) == -1.0


def test_the_whole_reward_adds_a_fifth_to_success(episode: Maker):
    reward = make("self-aligned")
    good = episode(True, logps=of_perplexity(4), logps_without_prompt=of_perplexity(10))
    assert reward(good).reward == pytest.approx(1.12)
    bad = episode(False, logps=of_perplexity(30), logps_without_prompt=of_perplexity(10))
    assert reward(bad).reward == pytest.approx(-0.2)


def test_log_probabilities_of_another_length_are_refused(episode: Maker):
    with pytest.raises(InputError, match="one for each"):
        make("self-aligned")(episode(logps=[-1.0], logps_without_prompt=[-1.0, -2.0]))


def test_a_weight_above_a_half_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("self-aligned", weight=0.6)


def test_log_probabilities_that_are_not_finite_give_an_invalid_verdict(episode: Maker):
    nan = float("nan")
    assert not make("self-aligned")(episode(logps=[nan, -1.0], logps_without_prompt=[-1.0, -1.0])).valid
    assert not make("self-aligned")(episode(logps=[-1.0, -1.0], logps_without_prompt=[nan, -1.0])).valid
