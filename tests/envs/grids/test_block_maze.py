from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs.grids.block_maze import generate_level, mutate_level, read_maze
from palaestra.errors import InputError
from palaestra.teachers import TeacherWrapper
from palaestra.teachers.levels.space import Levels

LEVEL = "#####\n#>.##\n#.#.#\n#..G#\n#####"


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/BlockMaze-v0", disable_env_checker=True, **kwargs)


@pytest.mark.parametrize("name", ["BlockMaze", "BlockMazeText"])
def test_a_level_is_played_as_it_is_given(name: str):
    env: Any = gym.make(f"palaestra/{name}-v0", disable_env_checker=True).unwrapped
    _, info = env.reset(seed=0, options={"params": {"level": LEVEL}})
    assert info["params"] == {"size": 5, "blocks": 2}
    # Turn right, two steps south, turn left, two steps east.
    assert info["extras"]["goal_distance"] == [6.0]
    while not env._ended:
        info = env.step(env.oracle())[4]
    assert info["is_success"]
    assert env.reset(seed=0)[1]["params"]["size"] >= 7
    fixed = gym.make(f"palaestra/{name}-v0", level=LEVEL, disable_env_checker=True)
    assert fixed.reset(seed=3)[1]["task_id"] == env.reset(options={"params": {"level": LEVEL}})[1]["task_id"]
    assert gym.make(gym.envs.registration.EnvSpec.from_json(fixed.spec.to_json())).reset()[1]["params"]["size"] == 5  # type: ignore[union-attr]


def test_a_level_without_a_way_is_played_too():
    env = make().unwrapped
    _, info = env.reset(options={"params": {"level": "#####\n#>###\n##..#\n#..G#\n#####"}})
    assert info["extras"]["goal_distance"] == [250.0]
    assert env.step(env.oracle())[2] is False


@pytest.mark.parametrize("wrong", [3, "", LEVEL.replace(">", "."), LEVEL + "#", LEVEL.replace("#>", ".>"), "x" * 9])
def test_anything_else_is_refused_with_the_form(wrong: Any):
    with pytest.raises(InputError, match="level must be text"):
        make().reset(options={"params": {"level": wrong}})


def test_an_edit_changes_one_thing_and_leaves_the_given_level_as_it_is():
    rng = np.random.default_rng(0)
    task = generate_level(rng)
    kinds = set()
    for _ in range(60):
        before = dict(task)
        after = mutate_level(task, rng)
        assert task == before
        old, new = read_maze(task["level"]), read_maze(after["level"])
        changed = [i for i, (a, b) in enumerate(zip(old.cells, new.cells)) if a != b]
        kinds.add((len(changed), old.agent == new.agent))
        assert len(changed) <= 2
        task = after
    assert (1, True) in kinds
    assert (2, True) in kinds


@pytest.mark.parametrize("name", ["accel", "plr"])
def test_level_teachers_generate_edit_and_replay_mazes(name: str):
    levels = Levels("mazes", lambda rng: generate_level(rng, size=7, blocks=8), mutate_level)
    teacher = palaestra.teachers.make(name, levels, seed=0, capacity=8)
    env = TeacherWrapper(make(max_steps=8), teacher)
    seen, origins = [], set()
    for _ in range(60):
        _, info = env.reset()
        seen.append(info["task_id"])
        origins.add(info["proposal"].origin)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.unwrapped.oracle())  # type: ignore[attr-defined]
            done = terminated or truncated
    assert len(set(seen)) < len(seen)
    assert any("replay" in origin for origin in origins)
    assert name == "plr" or any("edit" in origin or "mut" in origin for origin in origins), origins
