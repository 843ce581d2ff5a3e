from __future__ import annotations

from collections.abc import Callable

from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_a_right_answer_is_placed_between_plus_and_minus_a_half(episode: Maker):
    group = [episode(tokens=100), episode(tokens=200), episode(tokens=300)]
    assert [verdict.reward for verdict in make("relative-length").group(group)] == [0.5, 0.0, -0.5]


def test_a_wrong_answer_gains_nothing_by_being_short(episode: Maker):
    group = [episode(False, tokens=100), episode(tokens=200), episode(False, tokens=300)]
    assert [verdict.reward for verdict in make("relative-length").group(group)] == [0.0, 0.0, -0.5]


def test_equal_lengths_are_worth_nothing(episode: Maker):
    assert [verdict.reward for verdict in make("relative-length").group([episode(), episode()])] == [0.0, 0.0]
