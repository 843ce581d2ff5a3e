from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.grids import door_key_world as dk

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
