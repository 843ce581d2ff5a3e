"""Checks of the interface to Gymnasium and learners: seeds, snapshots, pickles, vectors, wrappers, `info`, unreadable
actions."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import DelayObservation, FrameStackObservation, RecordEpisodeStatistics, TimeLimit

from ...errors import InputError
from ..param_space import ChoiceAxis
from ..unicode import Unicode
from .playing import episode, hash_episodes, lacks_sandbox, make, plain, play, solves_all

EVERY_STEP = {"reward_terms", "reward_valid", "action_error", "is_success", "progress", "extras"}


def test_gymnasium_finds_no_fault(env_id: str):
    check_env(gym.make(env_id).unwrapped)


def test_same_seed_gives_same_episode(env_id: str):
    env = make(env_id)
    assert episode(env, 5) == episode(make(env_id), 5)
    first = [episode(env, 6), episode(env, None), episode(env, None)]
    assert [episode(env, 6), episode(env, None), episode(env, None)] == first


def test_same_seed_gives_same_episode_in_another_process_under_another_hash_seed(request: pytest.FixtureRequest):
    ids = [env_id for env_id in request.module.IDS if not lacks_sandbox(env_id)]
    places = [str(gym.spec(env_id).entry_point) for env_id in ids]
    modules = sorted({place.partition(":")[0] for place in places})  # other packages register ids on import
    program = f"import json, {', '.join(modules)}; from {hash_episodes.__module__} import hash_episodes; "
    program += f"print(json.dumps(hash_episodes({ids!r})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == hash_episodes(ids)


def test_snapshot_and_replay_agree(env_id: str):
    env, other = make(env_id), make(env_id)
    for seed in range(3):
        env.reset(seed=seed)
        other.reset(seed=seed + 50)
        if len(play(env)) > 3:
            env.reset(seed=seed)
            play(env, limit=2)
        else:
            env.reset(seed=seed)
        snapshot = pickle.loads(pickle.dumps(env.unwrapped.get_state()))  # type: ignore[attr-defined]
        future = [play(env), episode(env, None)]
        for replay in (env, other):
            replay.unwrapped.set_state(snapshot)  # type: ignore[attr-defined]
            assert [play(replay), episode(replay, None)] == future


def test_a_snapshot_of_another_family_is_refused(env_id: str):
    with pytest.raises(InputError, match="get_state"):
        make(env_id).unwrapped.set_state({"family": "Chess"})  # type: ignore[attr-defined]


HOSTILE: list[Any] = [
    *(None, 3.5, float("nan"), b"42", [], {}, object(), True, -1, 10**30, ["turn left"], np.zeros(3), np.array("x")),
    *("", " ", "\n\n", "\0", "\x1b[2J", "\ud800", "\u0664\u0662", "\uff14\uff12", "\u200b42"),
    *("4" * 5000, "x" * 1_000_000, "\\boxed{" * 500, "}" * 500, "(" * 3000, "-" * 4000 + "1"),
    *("<answer>", "</answer><answer>", "<answer>" * 300 + "</answer>" * 300, "nan", "inf", "{}", "%s%n"),
    *("9**9**9", "__import__('os').getpid()", "1/0", "1e999", "'; DROP TABLE tasks; --"),
]


def test_two_hundred_fuzzed_actions_do_no_harm(env_id: str):
    env = make(env_id, difficulty=0.5)
    env.action_space.seed(1)
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    text = isinstance(env.action_space, Unicode)
    inner: Any = env.unwrapped
    least, most = inner.return_range
    start, earned = inner.get_state(), 0.0
    for i in range(200):
        if i < len(HOSTILE):
            action = HOSTILE[i]
        else:
            action = env.action_space.sample() if i % 2 else "".join(map(chr, rng.integers(0, 0xD7FF, 30).tolist()))
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert reward == sum(info["reward_terms"].values())
        assert info["reward_valid"] is True
        if info["action_error"] is not None:
            assert 0 < len(info["action_error"]) < 400
            assert reward == 0.0
            assert not info["is_success"]
        if text and (not isinstance(action, str) or not action.strip() or len(action) > 100_000):
            assert info["action_error"]
        earned += float(reward)
        assert least <= earned <= most + 1e-9
        if terminated or truncated:
            # Most tasks take longer to make than an action.
            if i % 10:
                inner.set_state(start)
            else:
                env.reset()
                start = inner.get_state()
            earned = 0.0


def test_environments_can_be_pickled_at_any_moment(env_id: str):
    env = gym.make(env_id)
    assert episode(pickle.loads(pickle.dumps(env)), 3) == episode(env, 3)
    env.reset(seed=4)
    copied = pickle.loads(pickle.dumps(env))
    assert play(copied) == play(env)


def test_spec_survives_json_with_its_arguments(env_id: str):
    axis = make(env_id).unwrapped.param_space.axes[0]  # type: ignore[attr-defined]
    narrow = list(axis.choices[:1]) if isinstance(axis, ChoiceAxis) else [axis.low, axis.low]
    env = gym.make(env_id, difficulty=1.0, split="test", axes={axis.name: narrow})
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert episode(env, 2) == episode(again, 2)
    assert again.reset(seed=0)[1]["params"][axis.name] == narrow[0]


def test_synchronous_and_asynchronous_vectors_agree(env_id: str):
    runs = []
    for mode in ("sync", "async"):
        envs = gym.make_vec(env_id, num_envs=2, vectorization_mode=mode)
        envs.action_space.seed(3)
        observations, infos = envs.reset(seed=11)
        run = [plain(observations), infos["task_id"].tolist()]
        for _ in range(3):
            observations, rewards, terminated, _, infos = envs.step(envs.action_space.sample())
            run += [plain(observations), rewards.tolist(), terminated.tolist(), infos["task_id"].tolist()]
        envs.close()
        runs.append(run)
    # A vector environment may return a batch of texts as a tuple or a list; both are the same in JSON.
    assert json.dumps(runs[0]) == json.dumps(runs[1])
    # The two environments draw different tasks, except where the content alone identifies a task: both may draw the
    # same row of a small data set.
    assert runs[0][1][0] != runs[0][1][1] or make(env_id).unwrapped.content_identifies  # type: ignore[attr-defined]


def test_stock_wrappers_work(env_id: str):
    env = RecordEpisodeStatistics(make(env_id))
    steps = episode(env, 1)[2:]
    assert steps[-1][5]["episode"]["r"] == pytest.approx(sum(step[2] for step in steps))
    assert steps[-1][5]["episode"]["l"] == len(steps)
    for wrapped in (FrameStackObservation(make(env_id), 2), DelayObservation(make(env_id), 1)):
        assert wrapped.reset(seed=1)[0] in wrapped.observation_space
        assert wrapped.step("" if isinstance(env.action_space, Unicode) else 0)[0] in wrapped.observation_space
    limited = TimeLimit(make(env_id, difficulty=1.0), max_episode_steps=1)
    limited.reset(seed=1)
    _, _, terminated, truncated, info = limited.step("" if isinstance(limited.action_space, Unicode) else 0)
    assert terminated or truncated
    assert info["is_success"] is False


def test_global_random_generators_are_left_alone(env_id: str):
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    env = make(env_id)
    for seed in (0, None):
        episode(env, seed)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


def test_info_keeps_its_contract(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    _, first, *steps = episode(env, 3)
    assert set(first) >= {"task_id", "params", "difficulty", "extras"}
    assert space.validate(first["params"]) == first["params"]
    assert space.complete(first["params"], np.random.default_rng(0)) == first["params"]  # none is missing
    assert first["difficulty"] == space.difficulty(first["params"])
    least, most = env.unwrapped.return_range  # type: ignore[attr-defined]
    assert least <= sum(step[2] for step in steps) <= most + 1e-9
    for *_, reward, terminated, truncated, info in steps:
        assert set(info) >= EVERY_STEP
        assert {key: info[key] for key in first} == {**first, "extras": info["extras"]}
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        assert isinstance(info["is_success"], bool)
        assert 0.0 <= info["progress"] <= 1.0
        assert info["is_success"] is (terminated and not truncated) or (terminated and not solves_all(env_id))
        assert json.loads(json.dumps(info, default=dict)) == info


def test_stepping_outside_an_episode_needs_a_reset(env_id: str):
    env = make(env_id).unwrapped
    action = "1" if isinstance(env.action_space, Unicode) else 0
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)
    with pytest.raises(gym.error.ResetNeeded):
        env.oracle()  # type: ignore[attr-defined]
    with pytest.raises(gym.error.ResetNeeded):
        env.get_state()  # type: ignore[attr-defined]
    episode(env, 0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)
