"""OpenEnv's own package: its client plays on our server, and our client on its server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from palaestra.integrations.openenv import OpenEnvClient, connect

GAME = "palaestra/GuessNumber-v0"


@pytest.fixture(scope="module")
def peer(serve_all, peer_home: Callable[[str], Path]) -> Iterator[tuple[dict[str, Any], str]]:
    """What OpenEnv's client saw on our server, and the address of OpenEnv's server; see `openenv_trial.py`."""
    python = peer_home(".venv-peers") / "bin" / "python"
    trial = Path(__file__).with_name("openenv_trial.py")
    with serve_all(GAME) as server:
        command = [str(python), str(trial), server.address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                seen = json.loads(process.stdout.readline())
                yield seen, f"http://127.0.0.1:{process.stdout.readline().strip()}"
            finally:
                process.stdin.close()
                assert process.wait(60) == 0


def test_its_client_plays_on_our_server(peer):
    seen, _ = peer
    env = gym.make(GAME, disable_env_checker=True)
    text, info = env.reset(seed=5, options={"params": {"bits": 6, "slack": 2}})
    assert seen["first"] == text
    assert seen["rewards"] == [1.0, 1.0]
    told = {"task_id": info["task_id"], "is_success": True, "reward_valid": True, "return": 1.0, "terminated": True}
    assert told.items() <= seen["state"].items()
    assert [error.rpartition("(code: ")[2] for error in seen["errors"]] == ["VALIDATION_ERROR)"] * 2


def test_its_clients_are_apart(peer):
    tasks = [gym.make(GAME, disable_env_checker=True).reset(seed=seed)[1]["task_id"] for seed in range(8)]
    assert peer[0]["concurrent"] == tasks
    assert len(set(tasks)) == 8


def test_our_client_plays_on_its_server(peer):
    env = connect(peer[1])
    assert isinstance(env, OpenEnvClient)
    seen, info = env.reset(seed=3, options={"difficulty": 0.5})
    assert (seen, info["difficulty"]) == ("seed 3", 0.5)
    assert env.step("hello")[:4] == ("hello", 0.5, False, False)
    seen, reward, terminated, truncated, info = env.step("stop")
    assert (seen, reward, terminated, truncated) == ("stop", 0.4, True, False)
    assert "is_success" not in info  # nobody said
    assert info["reward_valid"]
    env.close()


def test_what_breaks_its_server_is_no_reward(peer):
    env = connect(peer[1])
    assert env.reset(seed=4)[1]["difficulty"] is None
    _, _, terminated, truncated, info = env.step("break")
    assert (terminated, truncated, info["reward_valid"]) == (False, True, False)
    assert "a wing is broken" in info["action_error"]
    assert env.reset(seed=5)[0] == "seed 5"
    env.close()
