from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]

FOUR = ["a", "b", "c", "d"]
QUARTERS = [0.25, 0.5, 0.75, 1.0]


def test_a_clean_run_is_worth_one(episode: Maker):
    assert make("progress-penalties")(episode(text=FOUR, completion=QUARTERS)).reward == 1.0


def test_a_soft_violation_during_the_middle_half_leaves_three_quarters(episode: Maker):
    reward = make("progress-penalties")
    run = episode(text=FOUR, completion=QUARTERS, soft_factors=[1, 0.5, 0.5, 1])
    assert reward.values(run) == [0.25, 0.125, 0.125, 0.25]
    assert reward(run).reward == 0.75


def test_several_violations_at_once_multiply(episode: Maker):
    run = episode(text=["a"], completion=[1.0], soft_factors=[[0.5, 0.5]])
    assert make("progress-penalties")(run).reward == 0.25


def test_ending_at_forty_percent_keeps_those_and_pays_the_terminal_term(episode: Maker):
    stopped = {"text": ["a", "b"], "completion": [0.2, 0.4]}
    assert make("progress-penalties")(episode(**stopped)).reward == pytest.approx(0.4)
    violated = make("progress-penalties").values(episode(**stopped, hard_violation=True))
    assert violated == pytest.approx([0.2, 0.2 - 1.0])


def test_going_back_and_forth_earns_nothing(episode: Maker):
    run = episode(text=FOUR, completion=[0.5, 0.0, 0.5, 0.6])
    assert make("progress-penalties").values(run) == pytest.approx([0.5, 0.0, 0.0, 0.1])


def test_extras_of_another_length_are_refused_and_missing_numbers_invalid(episode: Maker):
    with pytest.raises(InputError, match="each of the 4"):
        make("progress-penalties")(episode(text=FOUR, completion=[1.0]))
    assert not make("progress-penalties")(episode(text=["a"], completion=[None])).valid
    assert not make("progress-penalties")(episode(text=["a"], completion=[1.0], soft_factors=[[None]])).valid
