"""StumpTracks beyond the suite over all ids: Gymnasium's reward, its threshold, replays, and the solver's walk."""

from __future__ import annotations

import json
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.agents.students import PPOConfig
from palaestra.agents.students.student_run import StudentRun
from palaestra.envs.testing.interface import EVERY_STEP, HOSTILE
from palaestra.envs.walkers.track_walker import END, build_walker
from palaestra.errors import InputError

STUMPS = "palaestra/StumpTracks-v0"


def make(**kwargs: Any) -> Any:
    return gym.make(STUMPS, disable_env_checker=True, **kwargs)


def play(env: Any, steps: int, seed: int = 0) -> list[Any]:
    """Random actions, and what they lead to as plain data."""
    rng, record = np.random.default_rng(seed), []
    for _ in range(steps):
        seen, reward, terminated, truncated, info = env.step(rng.uniform(-1, 1, 4).astype(np.float32))
        info = {name: value for name, value in info.items() if name != "extras"}
        record.append([seen.tolist(), reward, terminated, truncated, info])
        if terminated or truncated:
            break
    return record


def carry(env: Any, place: float) -> None:
    """Put the walker down at another place of the track."""
    walker = env.unwrapped._walker
    way = place - walker.hull.position.x
    for body in (walker.hull, *walker.legs):
        body.position = (body.position[0] + way, body.position[1] + 1.5)


def walk(env: Any, steps: int = 2_000) -> dict[str, Any]:
    """Go on by the solver; the last ``info``."""
    for _ in range(steps):
        *_, terminated, truncated, info = env.step(env.unwrapped.oracle())
        if terminated or truncated:
            break
    return info


def test_the_solver_walks_over_low_stumps_and_over_a_comb_of_them():
    assert STUMPS in palaestra.envs.ids()
    env = make(split="test")
    for height, spacing in ((0.5, 3.0), (0.0, 0.0)):
        env.reset(seed=1, options={"params": {"stump_height": height, "spacing": spacing}})
        info = walk(env)
        assert info["is_success"]
        assert info["progress"] == 1.0


def test_the_solver_takes_over_wherever_another_player_has_led():
    env, other = make(difficulty=0.0), make(difficulty=0.0)
    env.reset(seed=2)
    walk(env, 150)
    for _ in range(8):
        env.step(env.unwrapped.oracle() * np.float32(0.7))
    assert env.unwrapped.oracle().tolist() == env.unwrapped.oracle().tolist()  # asking changes nothing
    other.reset(seed=3)
    other.unwrapped.set_state(env.unwrapped.get_state())
    for _ in range(30):
        steps = [one.step(one.unwrapped.oracle()) for one in (env, other)]
        assert steps[0][0].tolist() == steps[1][0].tolist()
        assert steps[0][1] == steps[1][1]
    assert steps[0][4]["progress"] > 0.05


def test_the_oracle_agent_follows_it():
    report = palaestra.evaluate("oracle", STUMPS, episodes=1, axes={"stump_height": 0.0, "spacing": 6.0})
    assert report.success.mean == 1.0


def test_the_reward_is_gymnasiums():
    env = make(difficulty=0.3)
    env.reset(seed=1)
    walker, _ = build_walker(env.unwrapped.here().track)
    total, rng = 0.0, np.random.default_rng(0)  # the draws of `play`
    for seen, reward, terminated, _, info in play(env, 400):
        wanted, paid, over, _, _ = walker.step(rng.uniform(-1, 1, 4).astype(np.float32))
        assert seen == pytest.approx(np.clip(wanted, env.observation_space.low, env.observation_space.high), abs=1e-6)
        assert (reward, terminated) == (pytest.approx(paid, abs=1e-4), over)
        assert set(info) | {"extras"} >= EVERY_STEP
        assert sum(info["reward_terms"].values()) == reward
        total += reward
    assert env.unwrapped._return == pytest.approx(total)
    assert info["reward_terms"]["fall"] == reward == -100.0
    assert not info["is_success"]
    assert env.unwrapped.return_range[0] < total < env.unwrapped.return_range[1]


def test_snapshots_and_pickles_go_on_as_the_episode_did():
    env, other = make(), make()
    env.reset(seed=5)
    other.reset(seed=6)
    play(env, 25, seed=1)
    kept, pickled = pickle.loads(pickle.dumps(env.unwrapped.get_state())), pickle.loads(pickle.dumps(env))
    wanted = [play(env, 40, seed=2), env.reset()[1]["task_id"]]
    other.unwrapped.set_state(kept)
    for again in (other, pickled):
        assert [play(again, 40, seed=2), again.reset()[1]["task_id"]] == wanted


def test_an_unreadable_action_uses_up_a_step_in_which_nothing_moves():
    env = make(difficulty=0.0, max_steps=60)
    env.reset(seed=1)
    seen = env.step(np.zeros(4))[0].tolist()
    for action in (*HOSTILE, np.full(4, np.nan), np.zeros((4, 1)), [0.1, 0.2, "x", 0.0]):
        again, reward, terminated, truncated, info = env.step(action)
        assert (again.tolist(), reward, terminated) == (seen, 0.0, False)
        assert "4 numbers from -1 to 1" in info["action_error"]
    state = env.unwrapped.get_state()
    assert env.step([9.0, -9.0, 0.0, 0.5])[4]["reward_terms"]["effort"] == pytest.approx(-0.028 * 2.5)
    moved = env.step(np.zeros(4))[0].tolist()
    assert moved != seen
    env.unwrapped.set_state(state)
    env.step([9.0, -9.0, 0.0, 0.5])
    assert env.step(np.zeros(4))[0].tolist() == moved
    while not truncated:
        truncated = env.step("?")[3]
    assert env.unwrapped.here().steps == 60


def test_the_end_of_the_track_is_a_success_only_with_the_return_of_the_paper():
    for earned, success in ((231.0, True), (100.0, False)):
        env = make(difficulty=0.0)
        env.reset(seed=1)
        carry(env, END - 0.1)
        env.unwrapped._return = earned
        over = False
        while not over:
            env.unwrapped._walker.hull.linearVelocity = (5.0, 0.0)
            _, _, over, truncated, info = env.step(np.zeros(4))
            assert not truncated
        assert (info["is_success"], info["progress"]) == (success, 1.0)
        with pytest.raises(gym.error.ResetNeeded):
            env.step(np.zeros(4))


def test_limits_seeds_and_splits_are_as_everywhere():
    env = make(max_steps=5)
    env.reset(seed=0)
    assert [row[3] for row in play(env, 9)] == [False] * 4 + [True]
    ids = [{make(split=split).reset(seed=seed)[1]["task_id"] for seed in range(20)} for split in ("train", "test")]
    assert not ids[0] & ids[1]
    assert env.reset(options={"difficulty": 1.0})[1]["params"] == {"stump_height": 3.0, "spacing": 0.0}
    hard, easy = (
        env.unwrapped.solver_cost(env.unwrapped.generate_episode(np.random.default_rng(0), params))
        for params in ({"stump_height": 3.0, "spacing": 0.0}, {"stump_height": 0.0, "spacing": 6.0})
    )
    assert hard > easy
    with pytest.raises(InputError, match="stump_height must be a number from 0"):
        make(stump_height=4.0)
    assert make(render_mode="rgb_array").reset(seed=0)[0].shape == (24,)


def test_pictures_show_the_track():
    env = make(difficulty=0.2, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (400, 600, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5


def test_a_run_of_ppo_on_what_alp_gmm_proposes_resumes_to_the_same_bytes(tmp_path):
    config = PPOConfig(
        env=STUMPS, env_options={"max_steps": 30}, teacher="alp-gmm", steps=512, rollout=32, environments=4,
        eval_every=0, final_episodes=1, checkpoint_every=128, track=(),
    )  # fmt: skip
    whole = StudentRun.start(tmp_path / "whole", config)
    whole.run(notify=lambda sentence: None)
    halved = StudentRun.start(tmp_path / "halved", config)
    halved.run(lambda progress: halved.stop() if progress.step >= 256 else None, lambda sentence: None)
    StudentRun.resume(tmp_path / "halved").run(notify=lambda sentence: None)
    for name in ("metrics.jsonl", "proposals.jsonl"):
        assert (tmp_path / "halved" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows = [json.loads(line) for line in (tmp_path / "whole" / "proposals.jsonl").read_text().splitlines()]
    assert {row["origin"] for row in rows} == {"warmup"}
    assert len({row["params"]["stump_height"] for row in rows}) == len(rows) >= 10
    assert all(row["reward"] < 0 for row in rows)
