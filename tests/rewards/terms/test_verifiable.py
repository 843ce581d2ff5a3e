from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_a_verified_success_is_ten_and_everything_else_nothing(episode: Maker):
    reward = make("verifiable")
    assert [reward(episode(True)).reward, reward(episode(False, progress=0.9)).reward] == [10.0, 0.0]


def test_without_an_end_it_can_be_minus_ten(episode: Maker):
    reward = make("verifiable", no_eos=-10)
    assert reward(episode(True, truncated=True)).reward == -10.0
    assert reward(episode(True)).reward == 10.0
    assert not reward.ranks_success


@pytest.mark.parametrize("wrong", [{"scale": 0}, {"no_eos": 1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("verifiable", **wrong)
