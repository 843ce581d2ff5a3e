"""Players whose policy is a function from the conversation so far to the text of the next action."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.scripted import ScriptedSampler
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits
from palaestra.agents.language.renderer import MarkerRenderer
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.scripts.cli import main

GUESS = "palaestra/GuessNumber-v0"
ARITHMETIC = "palaestra/Arithmetic-v0"
WORDS = "palaestra/WordProblem-v0"
ROOM = TokenLimits(action=64, episode=1000, context=4000)

Says = Callable[[int, str], str]
"""``(session, conversation so far) -> action``."""


class Recorder(ScriptedSampler):
    """Remembers what it was asked, and what each session's conversation held; a closed session's request is dropped."""

    def __init__(self, script: Any, stop_ids: Any):
        super().__init__(script, stop_ids)
        self.requests: list[Request] = []
        self.seen: dict[int, list[int]] = {}
        self.entropy: Callable[[int, int], float] | None = None

    def submit(self, request: Request) -> None:
        self.requests.append(request)
        super().submit(request)

    def step(self) -> list[Completion]:
        completions = super().step()
        for completion in completions:
            self.seen[completion.session] = list(self._contexts[completion.session])
        if self.entropy is None:
            return completions
        return [
            Completion(
                c.session,
                c.ids,
                c.logps,
                c.finish,
                tuple(self.entropy(c.session, i) for i in range(len(c.ids))) if c.entropies else (),
            )
            for c in completions
        ]

    def close(self, session: int) -> None:
        for request in [r for r in self._queue if r.session == session]:
            self._queue.remove(request)
        super().close(session)


@dataclass
class World:
    """A player with what it plays in and with."""

    player: EpisodePlayer
    sampler: Recorder
    renderer: MarkerRenderer
    environments: Environments
    task: RolloutTask
    texts: Callable[[Any], str] = field(default=lambda ids: "")

    def tasks(self, *samples: int) -> list[RolloutTask]:
        """Different tasks with these numbers of samples; the curriculum's numbers are 0, 1, ..."""
        return [RolloutTask(self.task.params, self.task.seed + i, n, i) for i, n in enumerate(samples)]


@pytest.fixture(scope="session")
def renderer() -> MarkerRenderer:
    return MarkerRenderer(character_tokenizer())


@pytest.fixture
def world(renderer):
    """``world(env, says, ...)``; ``says`` may be a constant text."""

    def make(
        env: str,
        says: Says | str,
        limits: TokenLimits = ROOM,
        samples: int = 2,
        seed: int = 0,
        options: Any = None,
        **fields: Any,
    ) -> World:
        def script(session: int, context: Any) -> tuple[int, ...]:
            text = renderer.tokenizer.decode(list(context))
            return renderer.action_ids(says if isinstance(says, str) else says(session, text))

        sampler = Recorder(script, renderer.stop_ids)
        environments = Environments(env, **(options or {}))
        params = environments.param_space.at(0.0)
        if env == ARITHMETIC:
            params |= {"digits": 6}
        if env == WORDS:
            params |= {"steps": 4}
        player = EpisodePlayer(environments, sampler, renderer, limits, 1.0, np.random.default_rng(seed), **fields)
        task = RolloutTask(params, 5, samples, 42)
        return World(player, sampler, renderer, environments, task, lambda ids: renderer.tokenizer.decode(list(ids)))

    return make


@pytest.fixture
def train(monkeypatch, tmp_path):
    """``train(env, *words)`` types ``palaestra train``, for one step; returns the folder. The report is not drawn."""

    def run(*words: str) -> Path:
        monkeypatch.setattr("palaestra.scripts.report.write_report", lambda folder: folder)
        rest = ["--warmup.steps", "0", "--steps", "1", "--samples", "2", "--final-episodes", "1", "--threads", "1"]
        rest += ["--context", "1024", "--keep-trajectories", "8", "--track", "--out", str(tmp_path / "run")]
        assert main(["train", *words, *rest]) == 0
        return tmp_path / "run"

    return run


def read_rows(run: Path, name: str) -> list[dict[str, Any]]:
    """The rows of one of a run's logs."""
    return [json.loads(line) for line in (run / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def answer_of(world: World, task: RolloutTask | None = None) -> str:
    """The oracle's first action."""
    task = task or world.task
    env = world.environments.take()
    env.reset(seed=task.seed, options={"params": dict(task.params)})
    inner: Any = env.unwrapped
    text = inner.oracle()
    world.environments.give_back(env)
    return text


def steps_of(world: World, task: RolloutTask | None = None) -> list[str]:
    """The worked solution, the answer last."""
    task = task or world.task
    env = world.environments.take()
    env.reset(seed=task.seed, options={"params": dict(task.params)})
    inner: Any = env.unwrapped
    steps = inner.solution_steps(inner.here())
    world.environments.give_back(env)
    return steps


def secret_of(world: World) -> str:
    """The number to guess."""
    env = world.environments.take()
    env.reset(seed=world.task.seed, options={"params": dict(world.task.params)})
    inner: Any = env.unwrapped
    world.environments.give_back(env)
    return str(inner.here().secret)


def row_of(trajectory: Any) -> list[int]:
    """The ids of a trajectory's row."""
    return [i for turn in trajectory.turns for i in (*turn.obs_ids, *turn.act_ids)]
