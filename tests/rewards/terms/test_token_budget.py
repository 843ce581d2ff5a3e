from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_nothing_is_charged_within_the_budget_and_never_more_than_the_weight(episode: Maker):
    reward = make("token-budget", budget=100, weight=0.5)
    assert [reward(episode(tokens=n)).reward for n in (0, 100, 150, 200, 999)] == [0, 0, -0.25, -0.5, -0.5]


def test_the_budget_can_be_a_schedule(episode: Maker):
    reward = make("token-budget", budget={"kind": "linear", "start": 200, "end": 100}, weight=1.0)
    assert reward(episode(tokens=150)).reward == 0.0
    reward.advance(10, 10)
    assert reward(episode(tokens=150)).reward == -0.5


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"weight": -1}, {"budget": "x"}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("token-budget", **wrong)
