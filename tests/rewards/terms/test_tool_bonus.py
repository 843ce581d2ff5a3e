from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_the_weight_goes_from_one_over_a_half_to_nothing(episode: Maker):
    reward = make("tool-bonus")
    five = episode(text=["<tool_call>", "<tool_call><tool_call>", "<tool_call><tool_call> done"])
    values = []
    for step in (0, 100, 200, 999):
        reward.advance(step, 1000)
        values.append(reward(five).reward)
    assert values == pytest.approx([0.5, 0.25, 0.0, 0.0])


def test_ten_calls_earn_all_there_is(episode: Maker):
    reward = make("tool-bonus", weight=0.5)
    assert reward(episode(text="<tool_call>" * 10)).reward == reward(episode(text="<tool_call>" * 99)).reward == 0.5


def test_calls_can_be_counted_otherwise(episode: Maker):
    assert make("tool-bonus", count=lambda _: 3)(episode()).reward == pytest.approx(0.3)


def test_an_empty_marker_is_refused():
    with pytest.raises(InputError, match="marker"):
        make("tool-bonus", marker="")
