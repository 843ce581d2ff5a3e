"""Runs of one step on a small model, for what is measured in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import palaestra
import pytest
from palaestra.agents.grpo.config import StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.envs import IntAxis, ParamSpace, Question, Task
from palaestra.rewards import Verdict

from ..conftest import trajectory  # isort: skip

ENV = "tests/Measured-v0"


class Measured(Question):
    """A question to which all answers of odd length are right."""

    param_space = ParamSpace([IntAxis("high", 10, 1000)])

    def generate(self, rng, params):
        return Task(f"a or b? {int(rng.integers(params['high']))}", reference="b")

    def verify(self, task, answer):
        return Verdict(float(len(answer) % 2), bool(len(answer) % 2))


palaestra.envs.register(ENV, Measured)


@pytest.fixture(scope="session")
def config(small, tmp_path_factory) -> TrainConfig:
    folder = tmp_path_factory.mktemp("model") / "small"
    small.save(folder)
    return TrainConfig(
        env=ENV,
        model=str(folder),
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=3,
        samples=4,
        max_new_tokens=6,
        lr=1e-2,
        eval_every=0,
        final_episodes=1,
        keep_trajectories=100,
        track=(),
        threads=1,
    )


class Step:
    """A run of a few steps, and what it left."""

    def __init__(self, learner: Learner):
        self.learner = learner
        self.metrics = self._rows("metrics")
        self.trajectories = self._rows("trajectories")

    def _rows(self, log: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.learner.folder.path / f"{log}.jsonl").read_text().splitlines()]

    @property
    def actions(self) -> list[str]:
        return [row["turns"][-1]["action"] for row in self.trajectories]

    def weights_differ(self, other: Step) -> bool:
        """Whether two runs from the same weights ended at other ones."""
        pairs = zip(self.learner.language.model.parameters(), other.learner.language.model.parameters(), strict=True)
        return any(not mine.equal(theirs) for mine, theirs in pairs)


@pytest.fixture(scope="session")
def train(config, tmp_path_factory) -> Callable[..., Step]:
    """Train with stages as the command line has them; ``changes`` are further fields of the configuration."""

    def run(changes: dict[str, Any] | None = None, **stages: str) -> Step:
        changed = replace(config, stages=StageOverrides(**stages), **(changes or {}))
        learner = Learner.start(tmp_path_factory.mktemp("runs") / "run", changed)
        assert learner.run()
        return Step(learner)

    return run


@pytest.fixture(scope="session")
def plain(train) -> Step:
    """The step of the recipe as it is."""
    return train()


@pytest.fixture(scope="session")
def instruments(plain) -> Any:
    """What producers measure with, of the plain run."""
    return plain.learner.parts.collector._make_tools(1)


@pytest.fixture(scope="session")
def two_turns(instruments) -> Any:
    """An episode of two turns in the small model's tokens."""
    renderer = instruments.language.renderer
    turns = [
        (list(renderer.observation("1 + 1 = ?", first=True)), list(renderer.action_ids("2"))),
        (list(renderer.observation("sure?", first=False)), list(renderer.action_ids("yes"))),
    ]
    return trajectory(1.0, turns, texts=["2", "yes"])
