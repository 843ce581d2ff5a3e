"""DistShift: MiniGrid's two levels by their numbers, and the strips of levels that are drawn."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  # registers MiniGrid's ids
import numpy as np
import palaestra  # noqa: F401  # registers ours
import pytest
from minigrid.wrappers import SymbolicObsWrapper
from palaestra.envs.grids.cells import LAVA
from palaestra.envs.grids.minigrid_surface import read_level
from palaestra.errors import InputError


def make(env_id: str = "palaestra/DistShift-v0", **kwargs: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def strips(env: Any) -> dict[int, list[int]]:
    """Columns of the lava in each row that has some."""
    world, found = env.unwrapped.here(), {}
    for index, code in enumerate(world.cells):
        if code == LAVA:
            found.setdefault(index // world.width, []).append(index % world.width)
    return found


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_level_by_its_number_is_minigrids_from_the_first_observation_on(number: int, split: str):
    theirs, ours = make(f"MiniGrid-DistShift{number}-v0"), make(level=number, split=split)
    seen, _ = theirs.reset(seed=1)
    mine, info = ours.reset(seed=1)
    assert np.array_equal(seen["image"], mine["image"])
    assert (seen["direction"], seen["mission"]) == (mine["direction"], mine["mission"])
    assert ours.unwrapped.here() == read_level(theirs)
    assert ours.unwrapped.max_steps == theirs.unwrapped.max_steps
    assert info["params"] == {"width": 9, "row": {1: 2, 2: 5}[number]}
    ours = make()
    assert ours.reset(seed=1, options={"params": {"level": number}})[1]["params"] == info["params"]


def test_symbols_and_the_place_of_the_goal_are_minigrids():
    for env in (make("MiniGrid-DistShift1-v0"), make(level=1)):
        env = SymbolicObsWrapper(env)
        image = env.reset(seed=123)[0]["image"]
        for _ in range(2):
            x, y = env.unwrapped.agent_pos
            assert image[x, y].tolist() == [x, y, 10]
            assert env.unwrapped.goal_pos == (7, 1)
            assert image[7, 1].tolist() == [7, 1, 8]
            image = env.step(2)[0]["image"]
        assert (x, y) == (2, 1)


def test_the_second_strip_lies_in_its_row_and_the_first_between_agent_and_goal():
    drawn = set()
    for row in (2, 4, 5):
        env = make(row=row, width=11)
        for seed in range(12):
            env.reset(seed=seed)
            found = strips(env)
            assert set(found) == {1, row}
            for columns in found.values():
                assert columns == list(range(columns[0], columns[-1] + 1))
                assert 2 <= columns[0] <= columns[-1] <= 8
            drawn.add(str(found))
    assert len(drawn) > 20


def test_a_way_learned_in_one_row_ends_in_the_lava_of_another():
    # South of the first strip, where row 5 leaves room and row 2 does not: down, east, and up to the goal.
    way = [1, 2, 0, *[2] * 6, 0, 2]
    ends = []
    for number in (2, 1):
        env = make(level=number)
        env.reset(seed=0)
        for action in way:
            _, reward, over, _, info = env.step(action)
            if over:
                break
        ends.append((info["is_success"], reward > 0))
    assert ends == [(True, True), (False, False)]


@pytest.mark.parametrize("level", [0, 3, True, "1", 1.0])
def test_a_level_of_another_number_is_refused(level: Any):
    with pytest.raises(InputError, match="level must be 1 or 2, the number of a level of MiniGrid's, not"):
        make(level=level)
    with pytest.raises(InputError, match="level must be 1 or 2"):
        make().reset(options={"params": {"level": level}})
