from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_max_mode_pays_delta_at_the_target_and_nothing_to_failures(episode: Maker):
    reward = make("target-length", target=1000, alpha=0.001)
    assert [reward(episode(tokens=n)).reward for n in (1000, 1200, 1500, 9000)] == pytest.approx([0.5, 0.3, 0.0, 0.0])
    assert reward(episode(tokens=400)).reward == 1.0  # 0.5 + 0.6, clipped
    assert reward(episode(False, tokens=400)).reward == 0.0


def test_exact_mode_charges_both_sides(episode: Maker):
    reward = make("target-length", mode="exact", target=1000, alpha=0.0005)
    assert [reward(episode(tokens=n)).reward for n in (800, 1000, 1200)] == pytest.approx([0.9, 1.0, 0.9])
    assert not reward.ranks_success


def test_the_target_may_come_with_the_episode(episode: Maker):
    reward = make("target-length")
    assert reward.needs == {"target_tokens"}
    assert reward(episode(tokens=50, target_tokens=50)).reward == 0.5


@pytest.mark.parametrize("wrong", [{"mode": "min"}, {"alpha": -1}, {"delta": 2}, {"target": 1.5}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("target-length", **wrong)


def test_an_episode_whose_target_is_unknown_is_invalid(episode: Maker):
    assert not make("target-length")(episode(target_tokens=None)).valid
