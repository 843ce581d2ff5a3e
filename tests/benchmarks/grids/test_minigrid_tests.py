"""The plugin with which MiniGrid's own tests run on our gridworlds."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.grids.minigrid_tests import is_played, make_ours

from ...extras import needs

pytestmark = needs("minigrid")


@pytest.mark.parametrize("name", ["MiniGrid-DoorKey-5x5-v0", "BabyAI-GoToLocal-v0"])
def test_an_id_of_minigrid_makes_our_environment(name: str):
    env = make_ours(name)
    assert type(env).__module__.startswith("palaestra.")
    env.reset(seed=0)
    assert set(env.step(2)[0]) == {"image", "direction", "mission"}


def test_ids_that_are_not_minigrids_are_left_out():
    assert is_played("MiniGrid-Empty-5x5-v0")
    assert not is_played("CartPole-v1")
