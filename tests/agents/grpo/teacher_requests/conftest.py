"""Runs of a small policy that says a or b with equal chance, under any teacher."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner

from ..arms import ENV, trained_on

Start = Callable[..., Learner]


@pytest.fixture(scope="session")
def two_armed(small, tmp_path_factory) -> str:
    """Folder of the policy."""
    folder = tmp_path_factory.mktemp("model") / "two_armed"
    trained_on(small, "ab", steps=40).save(folder)
    return str(folder)


@pytest.fixture
def start(two_armed, tmp_path) -> Start:
    """``start(teacher, name="run", **options)``: a learner before its first step."""

    def make(teacher: str, name: str = "run", **options: Any) -> Learner:
        fixed = {
            "env": ENV,
            "model": two_armed,
            "teacher": teacher,
            "pool": 6,
            "warmup": WarmUp(steps=0),
            "steps": 2,
            "prompts": 3,
            "samples": 4,
            "max_new_tokens": 4,
            "eval_every": 0,
            "final_episodes": 1,
            "track": (),
            "threads": 1,
        }
        learner = Learner.start(tmp_path / name, TrainConfig(**{**fixed, **options}))
        learner._prepare()
        return learner

    return make


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]
