from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
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


def test_map_is_drawn_with_one_character_per_cell():
    assert dk.render_map(WORLD) == "#####\n#K#.#\n#.L.#\n#^#G#\n#####"


def test_shortest_plan_by_hand():
    # North to (1, 2), key ahead: take it. Right turn: door ahead, open, through, on to (3, 2), right turn, goal.
    expected = [dk.FORWARD, dk.PICK_UP, dk.RIGHT, dk.TOGGLE, dk.FORWARD, dk.FORWARD, dk.RIGHT, dk.FORWARD]
    assert dk.find_shortest_plan(WORLD) == expected


def test_a_locked_door_needs_the_key():
    at_door = dk.World(5, WORLD.walls, (2, 2), (3, 3), "locked", (1, 1), (1, 2), 0)
    assert dk.apply_action(at_door, dk.TOGGLE) is at_door
    assert (
        dk.apply_action(dk.World(5, WORLD.walls, (2, 2), (3, 3), "locked", None, (1, 2), 0), dk.TOGGLE).lock == "open"
    )


def test_there_is_no_plan_where_the_key_is_out_of_reach():
    beyond = dk.World(5, WORLD.walls, (2, 2), (3, 3), "locked", (3, 1), (1, 3), 3)
    assert dk.find_shortest_plan(beyond) == []


@pytest.mark.parametrize("size", [5, 6, 9, 16])
@pytest.mark.parametrize("obstacles", [0, 8])
def test_generated_worlds_are_laid_out_as_promised(size: int, obstacles: int):
    for seed in range(15):
        world = dk.generate_world(np.random.default_rng(seed), size, obstacles)
        split = world.door[0]
        assert 2 <= split <= size - 3
        assert world.agent[0] < split
        assert world.key is not None
        assert world.key[0] < split
        assert world.goal == (size - 2, size - 2)
        assert len({world.agent, world.key, world.goal, world.door} | world.walls) == len(world.walls) + 4
        extra = sum(0 < x < size - 1 and 0 < y < size - 1 and x != split for x, y in world.walls)
        assert extra <= obstacles
        # At nine and more cells there is always room for all eight.
        assert extra == obstacles or size < 9
        at = world
        for action in dk.find_shortest_plan(world):
            at = dk.apply_action(at, action)
        assert at.solved


@pytest.mark.parametrize("difficulty", [0.0, 0.3, 1.0])
def test_own_dynamics_are_those_of_minigrid(difficulty: float):
    env = gym.make("palaestra/DoorKey-v0", difficulty=difficulty).unwrapped
    rng = np.random.default_rng(5)
    changes = set()
    for seed in range(8):
        env.reset(seed=seed)
        world = env.here()  # type: ignore[attr-defined]
        for _ in range(250):
            # Actions towards the goal among random ones, so that doors are opened and keys dropped behind them.
            action = int(rng.integers(7)) if rng.random() < 0.7 else dk.greedy_action(world)
            after = dk.apply_action(world, action)
            changes.add((action, world.lock, after.lock, world.key is None, after.key is None))
            _, _, terminated, truncated, info = env.step(action)
            assert env.here() == after  # type: ignore[attr-defined]
            assert terminated == after.solved
            assert info["progress"] == after.progress
            world = after
            if terminated or truncated:
                break
    assert {(dk.TOGGLE, "locked", "open", True, True), (dk.TOGGLE, "open", "closed", True, True)} <= changes
    assert (dk.DROP, True, False) in {(action, *carried) for action, _, _, *carried in changes}


def test_grid_and_text_play_the_same_worlds():
    grid, text = gym.make("palaestra/DoorKey-v0").unwrapped, gym.make("palaestra/DoorKeyText-v0").unwrapped
    for seed in range(5):
        grid.reset(seed=seed)
        text.reset(seed=seed)
        assert grid.here() == text.here().world  # type: ignore[attr-defined]


@pytest.mark.parametrize("difficulty", [0.0, 0.3])
def test_the_twin_without_observations_plays_as_the_grid_does(difficulty: float):
    grid: Any = gym.make("palaestra/DoorKey-v0", difficulty=difficulty, disable_env_checker=True).unwrapped
    twin = grid.blind_twin(difficulty=difficulty)
    rng = np.random.default_rng(0)
    for seed in range(3):
        grid.reset(seed=seed)
        twin.reset(seed=seed)
        ended = False
        while not ended:
            action = int(rng.integers(7)) if rng.random() < 0.9 else int(grid.oracle())
            _, _, terminated, truncated, info = grid.step(action)
            _, _, *ends, other = twin.step(action)
            assert grid.here() == twin.here()
            assert ends == [terminated, truncated]
            assert other["is_success"] is info["is_success"]
            ended = terminated or truncated
    twin.reset(seed=0)
    twin.set_state({**twin.get_state(), "steps": dk.step_limit(twin.here().size) - 1})
    assert twin.step(dk.DONE)[2:4] == (False, True)


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


def test_grid_pays_what_minigrid_pays():
    env = gym.make("palaestra/DoorKey-v0", size=6, obstacles=0).unwrapped
    env.reset(seed=0)
    env.step("nonsense")
    steps, reward = 1, 0.0
    while not reward:
        reward = float(env.step(env.oracle())[1])  # type: ignore[attr-defined]
        steps += 1
    # The nonsense counts as a step; the limit is 10 * 6 * 6.
    assert reward == pytest.approx(1 - 0.9 * steps / 360)


def test_grid_is_truncated_at_minigrids_limit():
    env = gym.make("palaestra/DoorKey-v0", size=5).unwrapped
    env.reset(seed=0)
    ends = [env.step(dk.DONE)[2:4] for _ in range(250)]
    assert ends == [(False, False)] * 249 + [(False, True)]


def test_plan_survives_a_door_left_closed_and_a_key_dropped():
    env = gym.make("palaestra/DoorKey-v0", size=8).unwrapped
    env.reset(seed=2)
    while env.here().lock == "locked":  # type: ignore[attr-defined]
        env.step(env.oracle())  # type: ignore[attr-defined]
    env.step(dk.TOGGLE)
    env.step(dk.LEFT)
    env.step(dk.DROP)
    info: dict[str, Any] = {}
    for _ in range(60):
        _, _, terminated, _, info = env.step(env.oracle())  # type: ignore[attr-defined]
        if terminated:
            break
    assert info["is_success"]


def test_without_minigrid_the_grid_names_its_extra_and_the_text_still_works():
    program = """
import sys
sys.modules["minigrid"] = None
import gymnasium as gym, palaestra
gym.make("palaestra/DoorKeyText-v0").reset(seed=0)
try:
    gym.make("palaestra/DoorKey-v0")
except palaestra.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'palaestra[grid]'" in done.stdout


def test_importing_palaestra_loads_nothing_heavy():
    program = "import sys, palaestra; print([m for m in ('minigrid', 'torch', 'sympy', 'pygame') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "palaestra/DoorKey-v0" in palaestra.envs.ids()


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
