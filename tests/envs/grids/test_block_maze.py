from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.grids.block_maze import mutate_level, read_maze
from palaestra.errors import InputError
from palaestra.teachers import TeacherWrapper, choose_space

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
    task = make().unwrapped.level_functions[0](rng)
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
    env = TeacherWrapper(make(max_steps=8, axes={"size": 7, "blocks": [0, 8]}), name, capacity=8)
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


def test_levels_of_a_teacher_keep_to_the_axes_however_often_they_are_edited():
    env = make(axes={"size": [7, 8], "blocks": [2, 3]})
    levels, rng = choose_space("accel", env), np.random.default_rng(1)
    seen = set()
    for _ in range(20):
        level = levels.mutate(levels.generate(rng), 5, rng)
        _, info = env.reset(options={"params": levels.task(level, rng)})
        seen.add(tuple(info["params"].values()))
    assert {size for size, _ in seen} == {7, 8}
    assert {blocks for _, blocks in seen} == {2, 3}


def test_only_teachers_of_levels_are_given_levels():
    env = make()
    assert choose_space("alp-gmm", env) is env.unwrapped.param_space
    assert choose_space("accel", gym.make("palaestra/FourRooms-v0")).names == ("size",)
