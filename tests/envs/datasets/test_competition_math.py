from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra.envs  # noqa: F401
import pytest
from palaestra.errors import InputError, MissingExtra


def make(family: str, source: Any = None, **kwargs: Any) -> Any:
    source = source if source is None or isinstance(source, (int, list)) else str(source)
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, source=source, **kwargs).unwrapped


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def problem(number: int, level: int, answer: str = "x") -> dict[str, Any]:
    text = f"Problem {number}."
    return {"problem": text, "level": f"Level {level}", "solution": f"It is $\\boxed{{{answer}}}$."}


def asked(path: Path, family: str, record: dict[str, Any], answer: str, **kwargs: Any) -> tuple[float, dict[str, Any]]:
    """Reward and info for an answer to the only question of a source, through ``step``."""
    env = make(family, write(path / "one.jsonl", [record]), split="all", **kwargs)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(answer)
    return reward, info


@pytest.mark.parametrize(
    ("reference", "number"), [("3s^2", False), ("1+2m", False), ("3 \\text{ cm}^2", True), ("3\\mbox{ m}", True)]
)
def test_a_unit_may_be_left_out_of_a_MATH_answer_and_a_variable_may_not(reference: str, number: bool, tmp_path: Path):
    env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, reference)]), split="all")
    for answer, right in ((reference, True), ("3", number)):
        env.reset(seed=1)
        assert env.step(answer)[4]["is_success"] == right


@pytest.mark.parametrize(
    ("question", "reference", "answer", "reward"),
    [
        ("p", r"\frac{3}{2}", "1.5", 1.0),
        ("p", r"\frac{3}{2}", r"Thus it is\n\boxed{\dfrac{6}{4}}", 1.0),
        ("p", "x^2 - 1", "(x+1)(x-1)", 1.0),
        ("p", "x^2 - 1", "x^2 + 1", 0.0),
        ("Find both.", "-2, 1", "1, -2", 1.0),
        ("Find both in increasing order.", "-2, 1", "1, -2", 0.0),
        ("Find both in increasing order.", "-2, 1", "-2, 1", 1.0),
        ("Find the point.", "(-2, 1)", "(1, -2)", 0.0),
        ("How long is it?", r"10\text{ cm}", "10", 1.0),
        ("How long is it?", r"10\text{ cm}", "10 cm", 1.0),
        ("How long is it?", r"10\text{ cm}", "0.1 m", 1.0),
        ("How long is it?", r"10\text{ cm}", "10 m", 0.0),
        ("How long is it?", r"10\text{ cm}", "11", 0.0),
        ("How long is it in cm?", r"10\text{ cm}", "10 m", 0.0),
        ("How large is the angle?", r"60^\circ", "60", 1.0),
        ("How many minutes does it take?", r"\frac{15}{2}", "7.5 minutes", 1.0),
        ("How many minutes does it take?", r"\frac{15}{2}", "7.5 hours", 0.0),
        ("What percent is it?", "28", r"28\%", 1.0),
        ("What percent is it?", r"28\%", "28", 1.0),
        ("Which?", r"\text{even}", "even", 1.0),
    ],
)
def test_answers_in_closed_form(question: str, reference: str, answer: str, reward: float, tmp_path: Path):
    record = {"problem": question, "level": 3, "answer": reference}
    assert asked(tmp_path, "MATH", record, answer.replace("\\n", "\n"))[0] == reward


@pytest.mark.parametrize(
    ("reference", "answer", "wrong"),
    [
        (r"28\%", "28", "2.8"),
        ("9 (apples)", "9", "8"),
        ("2x+1", "f(x)=2x+1", "f(x)=2x"),
        (r"\{1,2\}", "(1, 2)", "(1, 3)"),
        ("11", "x=5+6=11", "x=5+6=12"),
    ],
)
def test_the_policy_of_a_family_is_that_of_data_sets_unless_it_is_strict(
    reference: str, answer: str, wrong: str, tmp_path: Path
):
    record = {"problem": "p", "level": 3, "answer": reference}
    assert asked(tmp_path, "MATH", record, answer)[0] == 1.0
    assert asked(tmp_path, "MATH", record, wrong)[0] == 0.0
    strict = {"policy": "strict", "split": "all"}
    if reference == "9 (apples)":
        with pytest.raises(InputError, match=r"holds no MATH question .*9 .apples"):
            make("MATH", write(tmp_path / "one.jsonl", [record]), **strict)
        return
    env = make("MATH", write(tmp_path / "one.jsonl", [record]), **strict)
    env.reset(seed=0)
    assert env.step(answer)[1] == 0.0


def test_an_unknown_policy_is_refused():
    with pytest.raises(InputError, match="did you mean 'dataset'"):
        make("MATH", policy="datasets")


def test_an_answer_that_is_no_mathematics_is_malformed(tmp_path: Path):
    for answer in ("I do not know", "((", "\\frac{1}{"):
        reward, info = asked(tmp_path, "MATH", problem(1, 1, "5"), answer)
        assert reward == 0.0
        assert info["action_error"]


def test_the_examples_of_the_prompt_are_not_the_answer(tmp_path: Path):
    for answer in (r"\frac{7}{9}", "7/9"):
        env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, answer)]), split="all")
        assert env.reset(seed=0)[0].endswith(r"such as \sqrt{23} or sqrt(23).")


def test_hostile_answers_are_judged_in_time(tmp_path: Path):
    env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, r"10\text{ cm}")]), split="all")
    for answer in ("9^" * 2048, "(" * 4096, "x^2+" * 1023 + "1", "\\sqrt{" * 680, "10" + "0" * 4000 + " cm"):
        env.reset(seed=0)
        start = time.perf_counter()
        assert env.step(answer[:4096])[1] == 0.0
        assert time.perf_counter() - start < 50


def test_without_sympy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "sympy" else find(name, *a))
    with pytest.raises(MissingExtra, match=r"palaestra/MATH-v0 .*\[math\]"):
        make("MATH")


def question(
    right: int = 0, options: tuple[str, ...] = ("Oxygen", "Iron", "Neon", "Gold"), text: str = "Which?"
) -> Any:
    return {"question": text, "choices": list(options), "answer": right}
