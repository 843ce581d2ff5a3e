from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra.envs  # noqa: F401
import pytest


def make(family: str, source: Any = None, **kwargs: Any) -> Any:
    source = source if source is None or isinstance(source, (int, list)) else str(source)
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, source=source, **kwargs).unwrapped


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def asked(path: Path, family: str, record: dict[str, Any], answer: str, **kwargs: Any) -> tuple[float, dict[str, Any]]:
    """Reward and info for an answer to the only question of a source, through ``step``."""
    env = make(family, write(path / "one.jsonl", [record]), split="all", **kwargs)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(answer)
    return reward, info


@pytest.mark.parametrize(
    ("answer", "reward", "malformed"),
    [
        *((spelling, 1.0, False) for spelling in ("33", "033", "33.0", "$33$", r"\boxed{033}", "33.", "33^\\circ")),
        *((wrong, 0.0, False) for wrong in ("34", "-33", "330", "33.5", "3/3")),
        *((other, 0.0, True) for other in ("thirty-three", "33 apples", "33 or 34", "30+3", "p")),
    ],
)
def test_answers_to_a_contest_problem(answer: str, reward: float, malformed: bool, tmp_path: Path):
    earned, info = asked(tmp_path, "AIME", {"problem": "p", "answer": 33}, answer)
    assert (earned, info["action_error"] is not None) == (reward, malformed)
