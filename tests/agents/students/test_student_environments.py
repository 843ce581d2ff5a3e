"""Runs of students close every environment that they have opened, however they end."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from palaestra.agents.students import GoExploreConfig, NoveltyConfig, PPOConfig, QConfig
from palaestra.agents.students.student_run import StudentRun, load_student
from palaestra.errors import InputError

MAZE: dict[str, Any] = {
    **{"env": "palaestra/BlockMaze-v0", "axes": {"size": 5, "blocks": [0, 3]}, "env_options": {"max_steps": 8}},
    **{"eval_every": 0, "final_episodes": 2, "track": ()},
}
PLAY: dict[str, Any] = {"environments": 2, "rollout": 8, "minibatch": 8, "hidden": 4, "steps": 32}
CONFIGS = {
    "go-explore": GoExploreConfig(**MAZE, **PLAY, checkpoint_every=16),
    "novelty-search": NoveltyConfig(
        **MAZE, population=2, chunk=4, added=1, log_every=16, steps=32, checkpoint_every=16
    ),
    "ppo": PPOConfig(**MAZE, **PLAY, checkpoint_every=16),
    "q": QConfig(**MAZE, environments=2, log_every=16, steps=32, checkpoint_every=16),
}


class Environments:
    """Counts of what `gym.make` has made and of what was closed."""

    def __init__(self) -> None:
        self.made, self.closed = 0, Counter[int]()

    @property
    def open(self) -> int:
        return self.made - len(self.closed)


@pytest.fixture
def environments(monkeypatch) -> Environments:
    count, make = Environments(), gym.make

    def counted(*arguments: Any, **options: Any) -> Any:
        env, number = make(*arguments, **options), count.made
        count.made += 1
        close = env.close
        monkeypatch.setattr(env, "close", lambda: (count.closed.update([number]), close())[1])
        return env

    monkeypatch.setattr(gym, "make", counted)
    return count


def quiet(sentence: str) -> None:
    pass


@pytest.mark.parametrize("name", CONFIGS)
def test_no_environment_stays_open_after_a_run_an_interruption_or_a_resumption(name, environments, tmp_path):
    def interrupt(progress: Any) -> None:
        if progress.phase == "train" and progress.step == 32:
            raise KeyboardInterrupt

    config = CONFIGS[name]
    run = StudentRun.start(tmp_path / "run", config)
    assert environments.open >= config.environments
    with pytest.raises(KeyboardInterrupt):
        run.run(interrupt, quiet)
    assert environments.open == 0
    resumed = StudentRun.resume(tmp_path / "run")
    assert (resumed.step, environments.open >= config.environments) == (16, True)
    assert resumed.run(notify=quiet)
    assert environments.open == 0
    load_student(tmp_path / "run")
    assert environments.open == 0
    assert max(environments.closed.values()) == 1


@pytest.mark.parametrize("name", ["go-explore", "novelty-search"])
def test_the_environment_that_is_explored_is_closed_after_an_error_in_it(name, environments, tmp_path, monkeypatch):
    run = StudentRun.start(tmp_path / "run", CONFIGS[name])

    def fail(action: Any) -> Any:
        raise OSError("lost")

    monkeypatch.setattr(run.student.env, "step", fail)
    with pytest.raises(OSError, match="lost"):
        run.run(notify=quiet)
    assert environments.open == 0


def test_a_run_that_cannot_begin_leaves_none_open(environments, tmp_path, monkeypatch):
    refused = dataclasses.replace(CONFIGS["novelty-search"], es="cma_es", hidden=64)
    with pytest.raises(InputError, match="sep_cma_es"):
        StudentRun.start(tmp_path / "long", refused)
    with pytest.raises(InputError, match="cannot be set to an earlier state"):
        StudentRun.start(tmp_path / "cart", GoExploreConfig(env="CartPole-v1", **PLAY))
    assert (environments.open, environments.made >= 2) == (0, True)
    StudentRun.start(tmp_path / "run", CONFIGS["q"]).run(notify=quiet)
    state = next(Path(tmp_path / "run").rglob("*/state.json"))
    for place in state.parent.parent.glob("*/state.json"):
        place.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError):
        StudentRun.resume(tmp_path / "run")
    monkeypatch.setattr("palaestra.agents.students.student_run.trackers_for", fail_to_track)
    untracked = StudentRun.start(tmp_path / "untracked", CONFIGS["q"])
    with pytest.raises(OSError, match="untracked"):
        untracked.run(notify=quiet)
    assert environments.open == 0


def fail_to_track(*arguments: Any) -> Any:
    raise OSError("untracked")
