from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra.envs  # noqa: F401
import pytest
from palaestra.envs.measured import find_measured


def make(family: str, source: Any = None, **kwargs: Any) -> Any:
    source = source if source is None or isinstance(source, (int, list)) else str(source)
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, source=source, **kwargs).unwrapped


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def question(
    right: int = 0, options: tuple[str, ...] = ("Oxygen", "Iron", "Neon", "Gold"), text: str = "Which?"
) -> Any:
    return {"question": text, "choices": list(options), "answer": right}


def listed(prompt: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE))


@pytest.mark.parametrize("shown", [2, 3, 4])
def test_options_and_letters_are_spread_evenly(shown: int, tmp_path: Path):
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", [question(2)]), split="all", options=shown)
    letters, others = Counter(), Counter()
    for k in range(600):
        options = listed(env.reset(seed=None if k else 0)[0])
        assert list(options) == list("ABCD"[:shown])
        assert set(options.values()) <= {"Oxygen", "Iron", "Neon", "Gold"}
        letters[next(letter for letter, text in options.items() if text == "Neon")] += 1
        others.update(options.values())
    assert len(letters) == shown
    assert max(letters.values()) < 1.35 * 600 / shown
    wrong = [others[text] for text in ("Oxygen", "Iron", "Gold")]
    assert max(wrong) < 1.25 * sum(wrong) / 3


def test_the_letter_and_the_text_of_the_option_are_right_and_no_other(tmp_path: Path):
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", [question(1)]), split="all", options=4)
    for seed in range(5):
        options = listed(env.reset(seed=seed)[0])
        snapshot = env.get_state()
        right = next(letter for letter, text in options.items() if text == "Iron")
        answers = {right: 1, f"({right.lower()})": 1, "iron": 1, f"{right}) Iron": 1, f"Answer: {right}": 1}
        answers |= {letter: 0 for letter in "ABCD" if letter != right}
        for answer, reward in {**answers, "Gold": 0, "E": 0, "A or B": 0, "": 0}.items():
            env.set_state(snapshot)
            assert env.step(answer)[1] == reward, answer


@pytest.mark.parametrize(
    "last",
    [
        *(
            "All of the above",
            "None of these",
            "Both A and B",
            "A and C only",
            "(A) and (B)",
            "A, B",
            "Neither of these",
        ),
        *("both of the above", "Any of the above.", "All the above", "None of the other answers", "A or B"),
    ],
)
def test_options_that_speak_of_others_keep_their_places(last: str, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(3, ("Oxygen", "Iron", "Neon", last))])
    env = make("MultipleChoiceQuestions", path, split="all", options=2)
    for seed in range(10):
        assert list(listed(env.reset(seed=seed)[0]).values()) == ["Oxygen", "Iron", "Neon", last]
        assert env.step("D")[1] == 1.0


@pytest.mark.parametrize("plain", ["A cat and a dog", "All mammals", "Vitamin A", "I and II only", "None", "Plan B"])
def test_other_options_are_shuffled(plain: str, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(3, ("Oxygen", "Iron", "Neon", plain))])
    env = make("MultipleChoiceQuestions", path, split="all", options=4)
    assert len({env.reset(seed=seed)[0] for seed in range(20)}) > 5


def test_options_reach_as_far_as_the_source(tmp_path: Path):
    ten = tuple(f"Option {n}" for n in range(10))
    records = [question(9, ten, text="Which of ten?"), question(1, ("Yes", "No"), text="Which of two?")]
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", records), split="all", difficulty=1.0)
    assert env.param_space["options"].high == 10
    assert {len(listed(env.reset(seed=seed, options={"params": {"length": 0.0}})[0])) for seed in range(9)} == {2}
    assert {len(listed(env.reset(seed=seed, options={"params": {"length": 1.0}})[0])) for seed in range(9)} == {10}


def test_one_letter_is_right_as_often_as_chance_has_it():
    env = make("MultipleChoiceQuestions", difficulty=0.0)
    earned = 0.0
    for k in range(600):
        env.reset(seed=None if k else 0)
        earned += env.step("A")[1] / 600
    assert abs(earned - find_measured(env.spec.id, type(env)).chance) < 0.08


@pytest.mark.parametrize("field", ["rationale", "explanation", "solution", "exp"])
def test_the_rationale_of_a_record_is_its_worked_solution(field: str, tmp_path: Path):
    reason = "It is a gas. It burns well."
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", [{**question(), field: reason}]), split="all")
    _, info = env.reset(seed=0)
    assert info["extras"]["solution_steps"] == ["It is a gas.", "It burns well.", env.oracle()]


def test_a_rationale_does_not_change_which_questions_are_hard(tmp_path: Path):
    records = [{**question(text=f"Which?{'?' * i}"), "rationale": "Because. " * (9 - i)} for i in range(4)]
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", records), split="all", length=1.0)
    drawn = {env.reset(seed=seed)[0].partition("\n")[0] for seed in range(20)}
    assert drawn == {"Which???", "Which????"}
