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


def word_problem(number: int, steps: int = 2, answer: int | str = 72) -> dict[str, Any]:
    return {"question": f"Question {number}: how many clips?", "answer": "A step.\n" * steps + f"#### {answer}"}


def asked(path: Path, family: str, record: dict[str, Any], answer: str, **kwargs: Any) -> tuple[float, dict[str, Any]]:
    """Reward and info for an answer to the only question of a source, through ``step``."""
    env = make(family, write(path / "one.jsonl", [record]), split="all", **kwargs)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(answer)
    return reward, info


@pytest.mark.parametrize(
    "answer",
    ["72", "#### 72.", "72.0", "$72", "####72", "#### 72", "**72**", "72 dollars", "72 clips", "Steps.\n#### 72"],
)
def test_spellings_of_the_answer_to_a_word_problem(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["is_success"], info["action_error"]) == (1.0, True, None)


@pytest.mark.parametrize("answer", ["71", "-72", "72.5", "7200", "720", "1/72"])
def test_another_number_is_wrong_and_not_malformed(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["action_error"], info["feedback"]) == (0.0, None, "The answer is not correct.")


@pytest.mark.parametrize("answer", ["It is 72 or 73", "70 + 2", "72 thousand", "clips", "72\nOr 73."])
def test_what_is_not_a_number_alone_is_malformed(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["action_error"]) == (0.0, "The answer must be one number alone, such as 125 or 7.5.")


@pytest.mark.parametrize("text", ["1,200", "-3", "7.5", "125", "0"])
def test_the_oracle_knows_every_kind_of_number(text: str, tmp_path: Path):
    env = make("GSM8K", write(tmp_path / "a.jsonl", [word_problem(1, answer=text)]), split="all")
    env.reset(seed=0)
    assert env.step(env.oracle())[1] == 1.0


def test_golden_word_problem():
    env = make("GSM8K", steps=2)
    assert env.reset(seed=3)[0] == (
        "A hall has 14 rows of 22 seats. At a concert 39 seats stay empty. How many people sit in the hall?\n"
        "Answer with the number alone."
    )
    assert env.solution_steps(env.here()) == [
        "There are 14*22=308 seats.",
        "So 308-39=269 people sit in the hall.",
        "269",
    ]
