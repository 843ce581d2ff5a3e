from __future__ import annotations

from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  # registers MiniGrid's ids
import numpy as np
import palaestra  # noqa: F401  # registers ours
import pytest
from palaestra.envs.grids.minigrid_levels import read_minigrid
from palaestra.envs.grids.minigrid_surface import read_level
from palaestra.envs.grids.moving_obstacles import BALL, MovingObstaclesRules
from palaestra.envs.grids.unlock import UnlockRules

SHARED = [
    ("DoorKey", "MiniGrid-DoorKey-5x5-v0"),
    ("DoorKey", "MiniGrid-DoorKey-8x8-v0"),
    ("FourRooms", "MiniGrid-FourRooms-v0"),
    *(("LavaGap", f"MiniGrid-{name}-v0") for name in ("LavaGapS5", "LavaGapS7", "LavaCrossingS9N3")),
    *(("LavaGap", f"MiniGrid-{name}-v0") for name in ("SimpleCrossingS9N2", "LavaCrossingS11N5")),
    *(("DistShift", f"MiniGrid-DistShift{number}-v0") for number in (1, 2)),
    *(("MultiRoom", f"MiniGrid-MultiRoom-{name}") for name in ("N2-S4-v0", "N4-S5-v1", "N6-v0")),
    *(("Unlock", f"MiniGrid-{name}-v0") for name in ("Unlock", "UnlockPickup", "BlockedUnlockPickup")),
    *(("KeyCorridor", f"MiniGrid-KeyCorridor{name}-v0") for name in ("S3R1", "S3R3", "S5R3")),
    *(("HallwayMemory", f"MiniGrid-Memory{name}-v0") for name in ("S7", "S13Random")),
    *(("ObstructedMaze", f"MiniGrid-ObstructedMaze-{name}") for name in ("1Dl-v0", "1Dlhb-v0", "2Dlhb-v1", "1Q-v1")),
    *(("BabyAI", f"BabyAI-{name}-v0") for name in ("GoToLocalS5N2", "PickupDist", "OpenTwoDoors")),
    *(("BabyAI", f"BabyAI-{name}-v0") for name in ("PutNextLocalS5N3", "GoToSeqS5R2", "OpenRedDoor")),
]


def test_an_observation_is_its_readers_to_change():
    env: Any = gym.make("palaestra/DoorKey-v0", disable_env_checker=True)
    seen, _ = env.reset(seed=0)
    kept = seen["image"].copy()
    seen["image"][:] = 77
    assert np.array_equal(env.unwrapped.gen_obs()["image"], kept)


@pytest.mark.parametrize(("name", "minigrid_id"), SHARED, ids=[row[1] for row in SHARED])
def test_minigrids_levels_play_as_they_do_in_minigrid(name: str, minigrid_id: str):
    theirs: Any = gym.make(minigrid_id, disable_env_checker=True).unwrapped
    ours: Any = gym.make(f"palaestra/{name}-v0", disable_env_checker=True).unwrapped
    rng = np.random.default_rng(0)
    ends = set()
    for seed in range(4):
        seen, _ = theirs.reset(seed=seed)
        ours.reset(seed=seed)
        ours.place_world(read_minigrid(theirs, ours.rules), limit=theirs.max_steps)
        mine, wrong = ours.gen_obs(), 0.15 if seed % 2 else 1.0
        while True:
            assert np.array_equal(mine["image"], seen["image"])
            assert mine["image"].dtype == seen["image"].dtype
            assert (mine["direction"], mine["mission"]) == (seen["direction"], seen["mission"])
            action = int(rng.integers(7)) if rng.random() < wrong else ours.oracle()
            seen, reward, terminated, truncated, _ = theirs.step(action)
            mine, own_reward, own_terminated, own_truncated, _ = ours.step(action)
            assert (own_reward, own_terminated) == (reward, terminated)
            assert own_truncated == (truncated and not terminated)
            if terminated or truncated or theirs.step_count > 250:
                break
        ends.add((terminated, reward > 0))
    assert (True, True) in ends


def test_moving_obstacles_play_as_in_minigrid_where_the_balls_move_alike():
    theirs: Any = gym.make("MiniGrid-Dynamic-Obstacles-8x8-v0", disable_env_checker=True).unwrapped
    ours: Any = gym.make("palaestra/MovingObstacles-v0", disable_env_checker=True).unwrapped
    rng, outcomes = np.random.default_rng(0), set()
    for seed in range(12):
        seen, _ = theirs.reset(seed=seed)
        ours.reset(seed=seed)
        world = read_level(theirs)
        balls = tuple(int(y) * 8 + int(x) for x, y in (ball.cur_pos for ball in theirs.obstacles))
        assert all(world.cells[ball] == BALL for ball in balls)
        ours.place_world(world._replace(memo=(0, balls), task=b""), limit=theirs.max_steps)
        terminated = False
        while not terminated and theirs.step_count < theirs.max_steps:
            assert np.array_equal(ours.gen_obs()["image"], seen["image"])
            action = int(rng.integers(3))
            seen, reward, terminated, _, _ = theirs.step(action)
            places = [int(y) * 8 + int(x) for x, y in (ball.cur_pos for ball in theirs.obstacles)]
            choices = [lambda free, place=place: place for place in places]
            ours.rules.advance = lambda world, action, choices=choices: MovingObstaclesRules().roll(
                world, action, choices
            )
            _, own_reward, own_terminated, _, _ = ours.step(action)
            assert (own_reward, own_terminated) == (reward, terminated)
        outcomes.add(reward)
    assert -1 in outcomes


def test_seeds_actions_and_limits_of_native_grids_are_checked_at_the_door():
    env: Any = gym.make("palaestra/Unlock-v0", task="open", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    info = env.step(9)[4]
    assert "from 0 to 6" in info["action_error"]
    assert env.step_count == 1
    env.max_steps = 3
    assert env.step(0)[2:4] == (False, False)
    assert env.step(np.array(6))[2:4] == (False, True)


def test_a_restored_snapshot_keeps_the_limit_and_the_past():
    env: Any = gym.make("palaestra/KeyCorridor-v0", difficulty=0.0, disable_env_checker=True).unwrapped
    env.reset(seed=1)
    for _ in range(3):
        env.step(env.oracle())
    snapshot = env.get_state()
    wanted = env.step(env.oracle())
    env.reset(seed=2)
    env.set_state(snapshot)
    again = env.step(env.oracle())
    assert again[1:] == wanted[1:]
    assert len(again[4]["extras"]["positions"]) == 5


def test_the_reward_of_a_solution_is_minigrids():
    env: Any = gym.make("palaestra/Unlock-v0", task="open", room_size=6, disable_env_checker=True).unwrapped
    assert isinstance(env.rules, UnlockRules)
    env.reset(seed=0)
    env.step("nonsense")
    steps, reward = 1, 0.0
    while not reward:
        reward = env.step(env.oracle())[1]
        steps += 1
    # The nonsense counts as a step; the limit is 8 * 6 * 6.
    assert reward == pytest.approx(1 - 0.9 * steps / 288)


def test_an_extra_read_at_every_step_judges_each_state_once(monkeypatch):
    env = gym.make("palaestra/DoorKey-v0", size=8, disable_env_checker=True).unwrapped
    _, info = env.reset(seed=1)
    flags, judged = env.rules.flags, []
    monkeypatch.setattr(env.rules, "flags", lambda world: judged.append(1) or flags(world))
    for step in range(200):
        info = env.step(step % 3)[-1]
        assert len(info["extras"]["achieved"]) == step + 1
    assert len(judged) <= 3 * 200  # once for the step itself, and as what comes before and after
