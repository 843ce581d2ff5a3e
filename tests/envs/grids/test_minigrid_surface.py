"""The claims of MiniGrid's own tests of its environments and wrappers, on our ids."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # registers the ids
import pytest
from minigrid import wrappers
from minigrid.core.actions import Actions
from minigrid.core.grid import Grid
from palaestra.envs.grids.minigrid_surface import read_level
from palaestra.envs.grids.tiles import make_object

IDS = ["palaestra/DoorKey-v0", "palaestra/ObstructedMaze-v0"]


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, disable_env_checker=True, difficulty=0.0, **kwargs)


def match(env: Any, seed: int = 0) -> Any:
    """A MiniGrid environment in the same state."""
    theirs: Any = gym.make("MiniGrid-DoorKey-5x5-v0", disable_env_checker=True).unwrapped
    theirs.reset(seed=seed)
    theirs.width, theirs.height, theirs.grid = env.width, env.height, env.grid
    theirs.agent_pos, theirs.agent_dir, theirs.carrying = env.agent_pos, env.agent_dir, env.carrying
    theirs.mission = env.mission
    return theirs


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "wrap",
    [
        wrappers.ImgObsWrapper,
        wrappers.OneHotPartialObsWrapper,
        wrappers.FullyObsWrapper,
        wrappers.SymbolicObsWrapper,
        lambda env: wrappers.ViewSizeWrapper(env, agent_view_size=5),
        lambda env: wrappers.RGBImgPartialObsWrapper(env, tile_size=4),
        lambda env: wrappers.RGBImgObsWrapper(env, tile_size=4),
    ],
)
def test_minigrids_wrappers_show_what_they_show_of_minigrid(env_id: str, wrap: Any):
    env = wrap(make(env_id))
    env.reset(seed=3)
    for action in (0, 2, 1, 3):
        seen = env.step(action)[0]
        theirs = wrap(match(env.unwrapped))
        wanted = theirs.observation(theirs.unwrapped.gen_obs())
        images = (seen, wanted) if isinstance(seen, np.ndarray) else (seen["image"], wanted["image"])
        assert np.array_equal(*images)


@pytest.mark.parametrize("env_id", IDS)
def test_pictures_and_texts_of_the_grid_are_minigrids(env_id: str):
    env: Any = make(env_id).unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        theirs = match(env)
        assert np.array_equal(env.get_frame(tile_size=8), theirs.get_frame(tile_size=8))
        assert np.array_equal(env.get_frame(tile_size=8, agent_pov=True), theirs.get_frame(tile_size=8, agent_pov=True))
        assert env.pprint_grid() == theirs.pprint_grid()
        assert env.hash() == theirs.hash()


def test_a_level_survives_the_way_to_minigrid_and_back():
    env: Any = make("palaestra/ObstructedMaze-v0", keys="boxed").unwrapped
    for seed in range(5):
        env.reset(seed=seed)
        world = env.here()
        assert read_level(match(env), world.task, world.memo) == world
    assert make_object(0) is None


def test_the_agent_sees_the_goal_when_its_view_holds_it():
    env: Any = make("palaestra/DoorKey-v0").unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    goal = (env.width - 2, env.height - 2)
    visible = set()
    for _ in range(200):
        action = int(rng.integers(7)) if rng.random() < 0.5 else env.oracle()
        observation, _, terminated, truncated, _ = env.step(action)
        grid, mask = Grid.decode(observation["image"])
        assert np.array_equal(grid.encode(mask), observation["image"])
        assert env.agent_sees(*goal) == (("green", "goal") in grid)
        visible.add(env.agent_sees(*goal))
        if terminated or truncated:
            env.reset()
    assert visible == {True, False}


@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_has_as_many_steps_as_asked_for(env_id: str):
    env = make(env_id, max_steps=7)
    env.reset(seed=0)
    assert [env.step(Actions.done)[3] for _ in range(7)] == [False] * 6 + [True]
    with pytest.raises(palaestra.errors.InputError, match="max_steps"):
        make(env_id, max_steps=0)


def test_bonuses_for_rare_places_and_actions_count_visits():
    env = wrappers.PositionBonus(make("palaestra/BlockMaze-v0"))
    env.reset(seed=1)
    assert [env.step(0)[1] for _ in range(3)] == pytest.approx([1.0, 2**-0.5, 3**-0.5])
    env = wrappers.ActionBonus(make("palaestra/BlockMaze-v0"))
    env.reset(seed=1)
    assert [env.step(6)[1] for _ in range(3)] == pytest.approx([1.0, 2**-0.5, 3**-0.5])
