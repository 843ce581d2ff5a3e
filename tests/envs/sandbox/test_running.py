"""An environment that runs programs says when it is made that it cannot; a sandbox lost later is no exception."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra.envs
import pytest
from palaestra.envs.sandbox import check_backend, pool, running
from palaestra.errors import InputError, MachineryError

from .backends import missing

needs_local = pytest.mark.skipif(bool(missing("local")), reason=missing("local"))


@pytest.fixture(scope="module")
def envs() -> Iterator[dict[str, Any]]:
    """Every environment of this package that runs programs."""
    every = {
        env_id: gym.make(env_id, disable_env_checker=True) for env_id in palaestra.envs.ids() if "palaestra/" in env_id
    }
    yield {env_id: env for env_id, env in every.items() if getattr(env.unwrapped, "needs_sandbox", False)}
    for env in every.values():
        env.close()


@pytest.fixture
def no_bwrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@needs_local
def test_every_environment_that_runs_programs_says_at_construction_what_is_missing(
    envs: dict[str, Any], no_bwrap: None
):
    assert len(envs) > 10
    assert {"palaestra/ToolUse-v0", "palaestra/HumanEval-v0", "palaestra/CodeOptimisation-v0"} <= envs.keys()
    for env_id in envs:
        with pytest.raises(MachineryError, match=r"^the sandbox 'local' needs .*bwrap.*bubblewrap.*'docker'\.$"):
            gym.make(env_id)


@needs_local
def test_a_sandbox_that_is_lost_later_makes_the_reward_invalid(
    envs: dict[str, Any], no_bwrap: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(running, "_POOLS", {})
    for env_id, env in envs.items():
        env.reset(seed=3, options={"difficulty": 0.5})
        action = "```python\nprint(1)\n```" if "Tool" in env_id else env.unwrapped.oracle()
        _, reward, _, _, info = env.step(action)
        assert (reward, info["reward_valid"], info["is_success"]) == (0.0, False, False), env_id
    pool().close()


# docker's client leaves the socket to the collector when nobody listens.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_chosen_backend_is_asked(no_bwrap: None, monkeypatch: pytest.MonkeyPatch):
    gym.make("palaestra/ProgramSynthesis-v0", backend="unsafe-subprocess").close()
    python = {"python": {"backend": "unsafe-subprocess"}}
    gym.make("palaestra/ToolUse-v0", tool_kwargs=python).close()
    gym.make("palaestra/ToolUse-v0", tools=["sql"]).close()
    with pytest.raises(InputError, match="unknown sandbox backend 'lokal'; did you mean 'local'"):
        gym.make("palaestra/MBPP-v0", backend="lokal")
    with pytest.raises(InputError, match="there is none at '/nowhere'"):
        check_backend("unsafe-subprocess", "/nowhere")
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(MachineryError, match=r"no container engine answers at DOCKER_HOST=unix:///nowhere\.sock"):
        gym.make("palaestra/MBPP-v0", backend="docker")
    gc.collect()


@needs_local
def test_a_machine_that_refuses_namespaces_is_noticed_at_construction(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineryError, match=r"cannot be contained on this machine \(bwrap: No permissions"):
        gym.make("palaestra/ToolUse-v0")
