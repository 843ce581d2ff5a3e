from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.grpo_lambda import length_aware_groups

Maker = Callable[..., Episode]


def group(make_one: Maker, *right: int, wrong: int = 0) -> list[Episode]:
    return [make_one(True, tokens=n) for n in right] + [make_one(False, tokens=5)] * wrong


def test_ten_groups_have_exactly_two_length_aware_ones():
    assert len(length_aware_groups([0.5] * 10, 0.2)) == 2
    assert len(length_aware_groups([0.5] * 3, 0.2)) == 1
    assert len(length_aware_groups([0.5] * 11, 0.2)) == 3


def test_lengths_100_200_300_have_the_published_values(episode: Maker):
    verdicts = make("grpo-lambda", alpha=0.2).group(group(episode, 100, 200, 300))
    assert [verdict.reward for verdict in verdicts] == pytest.approx([0.9546, 0.9, 0.8454], abs=1e-4)


def test_an_all_wrong_group_is_never_chosen_before_a_solved_one(episode: Maker):
    batch = [group(episode, wrong=3), group(episode, 10, 30)] + [group(episode, wrong=3)] * 8
    values = [[verdict.reward for verdict in verdicts] for verdicts in make("grpo-lambda").batch(batch)]
    assert values[1][0] > values[1][1] > 0.8
    assert all(value == 0.0 for row in (values[0], *values[2:]) for value in row)


def test_other_groups_get_zero_or_one(episode: Maker):
    batch = [group(episode, 10, 30), group(episode, 10, 30, wrong=1)]
    values = [[verdict.reward for verdict in verdicts] for verdicts in make("grpo-lambda").batch(batch)]
    assert values[1] == [1.0, 1.0, 0.0]


def test_equal_lengths_all_lose_half_of_alpha(episode: Maker):
    verdicts = make("grpo-lambda", alpha=0.2).group(group(episode, 7, 7, 7))
    assert [verdict.reward for verdict in verdicts] == [0.9, 0.9, 0.9]


def test_wrong_answers_get_nothing_whatever_their_length(episode: Maker):
    verdicts = make("grpo-lambda").group(group(episode, 100, wrong=2))
    assert [verdict.reward for verdict in verdicts] == [0.9, 0.0, 0.0]


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"fraction": -0.1}, {"alpha": "x"}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("grpo-lambda", **wrong)
