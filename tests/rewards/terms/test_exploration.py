from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_outcome_and_exploration_are_two_terms(episode: Maker):
    verdict = make("exploration", alpha=0.75, cap=1.0, full=100)(episode(True, tokens=50))
    assert verdict.terms == {"outcome": 0.75, "exploration": 0.125}
    assert verdict.reward == 0.875


def test_more_tokens_than_full_earn_no_more(episode: Maker):
    reward = make("exploration", full=100)
    assert reward(episode(tokens=100)).reward == reward(episode(tokens=10_000)).reward


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 0.9, 1.0])
def test_with_the_largest_cap_no_failure_beats_a_success(episode: Maker, alpha: float):
    cap = alpha / (1 - alpha) if alpha < 1 else 1.0
    reward = make("exploration", alpha=alpha, cap=cap)
    assert reward(episode(False, tokens=10**9)).reward <= reward(episode(True, tokens=0)).reward


def test_a_larger_cap_is_refused():
    with pytest.raises(InputError, match="alpha / "):
        make("exploration", alpha=0.25, cap=0.34)


def test_a_judge_of_exploration_may_be_silent(episode: Maker):
    assert make("exploration", alpha=0.5, scorer=lambda _: 0.5)(episode()).reward == 0.75
    assert not make("exploration", scorer=lambda _: None)(episode()).valid
