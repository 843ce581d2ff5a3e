from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401
import pytest
from palaestra.envs.grids.cells import COLOURS, THINGS, UNLOCKED
from palaestra.errors import InputError


def rule_of(structure: int) -> dict[str, str]:
    env: Any = gym.make("palaestra/HiddenKey-v0", structure=structure, boxes=6, disable_env_checker=True).unwrapped
    found: dict[str, str] = {}
    for seed in range(60):
        env.reset(seed=seed)
        door = THINGS[env.here().cells[env.here().task[0]]].colour
        box = next(thing for code in env.here().cells if (thing := THINGS[code]).kind == "box" and thing.inside)
        assert THINGS[box.inside] == THINGS[UNLOCKED[env.here().cells[env.here().task[0]]][0]]
        assert found.setdefault(door, box.colour) == box.colour
    return found


def test_the_colour_of_the_door_decides_the_box_in_every_episode():
    rules = [rule_of(structure) for structure in (0, 1)]
    assert set(rules[0]) == set(COLOURS)
    assert len(set(rules[0].values())) == len(COLOURS)
    assert rules[0] != rules[1]


def test_nothing_that_an_agent_sees_tells_which_box_it_is():
    env: Any = gym.make("palaestra/HiddenKey-v0", boxes=4, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    world = env.here()
    empty = world._replace(cells=bytes(code if not THINGS[code].inside else 0 for code in world.cells))
    assert env.content_of(world) == env.content_of(world._replace(cells=world.cells))
    assert env.content_of(empty) != env.content_of(world)
    kinds = {int(kind) for kind in np.unique(env.gen_obs()["image"][..., 0])}
    assert 5 not in kinds


@pytest.mark.parametrize("wrong", [-1, 0.5, True, "x"])
def test_a_wrong_structure_is_refused(wrong: Any):
    with pytest.raises(InputError, match="structure"):
        gym.make("palaestra/HiddenKey-v0", structure=wrong)
