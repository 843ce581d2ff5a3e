from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.grids import door_key_world as dk
from palaestra.envs.grids.door_key_text import ACTIONS, DoorKeyText

WORLD = dk.World(
    size=5,
    walls=frozenset((x, y) for x in range(5) for y in range(5) if x in (0, 2, 4) or y in (0, 4)) - {(2, 2)},
    door=(2, 2),
    goal=(3, 3),
    lock="locked",
    key=(1, 1),
    agent=(1, 3),
    facing=3,
)


def read(text: str) -> dk.World:
    """The world from an observation alone, by other means than those that wrote it."""
    *lines, sentence = text.splitlines()
    rows = [line for line in lines if line.startswith("#")]
    cells = {(x, y): mark for y, row in enumerate(rows) for x, mark in enumerate(row)}
    where = {mark: cell for cell, mark in cells.items() if mark not in "#."}
    agent, facing = next((where[mark], ">v<^".index(mark)) for mark in ">v<^" if mark in where)
    door = next((where[mark] for mark in "LDO" if mark in where), agent)
    lock: Any = {"L": "locked", "D": "closed", "O": "open"}.get(cells[door], "open")
    key = None if "You carry the key" in sentence else where["K"]
    walls = frozenset(cell for cell, mark in cells.items() if mark == "#")
    return dk.World(len(rows), walls, door, where["G"], lock, key, agent, facing)


def test_random_actions_hardly_ever_reach_the_goal_within_the_turns_the_prompt_tells():
    env, rng, won = DoorKeyText(size=5), np.random.default_rng(0), 0
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        assert "You have 25 turns." in prompt
        turns = 0
        while not env._ended:
            info = env.step(env.random_action(env.here(), rng))[4]
            turns += 1
        assert turns <= 25
        won += info["is_success"]
    assert won <= 2


def test_text_alone_is_enough_to_solve_it():
    names = {number: name for name, number in ACTIONS.items()}
    env = DoorKeyText(axes={"size": [5, 9]})
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        info: dict[str, Any] = {}
        while not env._ended:
            observation, _, _, _, info = env.step(names[dk.find_shortest_plan(read(observation))[0]])
        assert info["is_success"]


def test_first_text_names_every_action_and_later_ones_are_short():
    env = DoorKeyText()
    first, _ = env.reset(seed=0)
    assert all(name in first for name in ACTIONS)
    later = env.step("turn left")[0]
    assert len(later) < len(first) - 150
    assert "Actions" not in later


@pytest.mark.parametrize(
    "spelling", ["Turn Left", "  turn   left ", "I would\nturn left", "<answer>turn left</answer>"]
)
def test_actions_are_read_whatever_their_spelling(spelling: str):
    env = DoorKeyText()
    env.reset(seed=0)
    facing = env.here().world.facing
    env.step(spelling)
    assert env.here().world.facing == (facing - 1) % 4


def test_an_unknown_action_is_told_the_known_ones():
    env = DoorKeyText()
    env.reset(seed=0)
    observation, _, _, _, info = env.step("open sesame")
    assert "turn left" in info["action_error"]
    assert observation.startswith(info["action_error"])


@pytest.mark.parametrize(
    ("said", "action"),
    [
        *(("forward", "go forward"), ("I walk straight ahead.", "go forward"), ("Move forward!", "go forward")),
        *(("left", "turn left"), ("I'll turn to the right", "turn right"), ("rotate left", "turn left")),
        *(
            ("pickup the key", "pick up"),
            ("Grab the key", "pick up"),
            ("open the door", "toggle"),
            ("Unlock", "toggle"),
        ),
    ],
)
def test_actions_may_be_named_in_other_words(said: str, action: str):
    env: Any = gym.make("palaestra/DoorKeyText-v0", disable_env_checker=True).unwrapped
    outcomes = []
    for text in (said, action):
        env.reset(seed=1)
        observation, *_, info = env.step(text)
        assert info["action_error"] is None
        outcomes.append((observation, env.get_state()["state"]))
    assert outcomes[0] == outcomes[1]
