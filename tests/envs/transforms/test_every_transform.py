"""Transforms of questions, each over several inner families."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from typing import Any

import gymnasium as gym
import palaestra.envs
import pytest
from palaestra.envs.splits import split_of
from palaestra.errors import InputError

MANY = ["Arithmetic", "LinearEquation", "WordProblem", "PrimeFactors", "TowerOfHanoi", "Countdown", "ShortestPath"]


INNER = {
    "MultipleChoice": MANY,
    "Rephrased": MANY,
    "Formats": MANY,
    "HintPrefix": ["Arithmetic", "LinearEquation", "LinearSystem", "PrimeFactors", "ShortestPath", "GcdLcm"],
    "Cloze": ["Arithmetic", "WordProblem", "GcdLcm", "DecimalArithmetic", "PrimeFactors"],
    "Reversed": ["Arithmetic", "LinearEquation", "FractionArithmetic"],
}


PAIRS = [(form, inner) for form, inners in INNER.items() for inner in inners]


every_pair = pytest.mark.parametrize(("form", "inner"), PAIRS)


def make(form: str, inner: str | None = None, **kwargs: Any) -> Any:
    of = {"of": f"palaestra/{inner}-v0"} if inner else {}
    return gym.make(f"palaestra/{form}-v0", disable_env_checker=True, **of, **kwargs).unwrapped


def tasks(env: Any, count: int, **options: Any):
    for seed in range(count):
        env.reset(seed=seed, options=options or None)
        yield env.here()


@every_pair
def test_the_oracle_succeeds_and_attacks_earn_what_chance_earns(form: str, inner: str):
    env = make(form, inner)
    earned: Counter[str] = Counter()
    for difficulty in (0.0, 0.5, 1.0):
        for task in tasks(env, 15, difficulty=difficulty):
            assert env.verify(task, env.oracle(task)).success
            assert env.solution_steps(task)[-1] == env.oracle(task)
            last = re.findall(r"-?[0-9]+", task.prompt)
            guesses = {"echo": task.prompt[-4000:], "0": "0", "1": "1", "last": last[-1] if last else "", "": ""}
            for name, guess in {**guesses, "tower": "9**9**9", "deep": "(" * 4000, "long": "7" * 4096}.items():
                earned[name] += env.verify(task, guess).score
    limit = 1 / 3 if form == "MultipleChoice" else 0.15
    assert all(total / 45 <= limit for total in earned.values()), earned


@every_pair
def test_a_task_is_of_the_split_of_the_inner_task(form: str, inner: str):
    for split in ("train", "test"):
        env = make(form, inner, split=split, difficulty=0.5)
        for task in tasks(env, 5):
            assert split_of(env.inner.split_key(task.data) or env.inner.content_of(task.data)) == split


@every_pair
def test_a_snapshot_goes_on_alike(form: str, inner: str):
    env, other = make(form, inner), make(form, inner)
    env.reset(seed=5)
    other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    answer = env.oracle()
    assert other.oracle() == answer
    assert other.step(answer) == env.step(answer)
    assert other.reset() == env.reset()


def test_a_snapshot_of_another_inner_family_is_refused():
    env = make("Rephrased", "Arithmetic")
    env.reset(seed=0)
    with pytest.raises(InputError, match="Arithmetic-v0"):
        make("Rephrased", "LinearEquation").set_state(env.get_state())


@pytest.mark.parametrize("of", ["palaestra/GuessNumber-v0", "palaestra/Nothing-v0", "Acrobot-v1"])
def test_only_questions_are_transformed(of: str):
    with pytest.raises(InputError, match=of):
        gym.make("palaestra/Rephrased-v0", of=of)


def test_arguments_reach_the_one_they_are_for():
    env = make("MultipleChoice", "LinearEquation", of_kwargs={"size": 5}, options=4, sides="both")
    env.reset(seed=0)
    assert env.task_info()["params"]["size"] == 5
    assert env.task_info()["params"]["sides"] == "both"
    assert env.task_info()["params"]["options"] == 4
    with pytest.raises(InputError, match="split"):
        make("Rephrased", "Arithmetic", of_kwargs={"split": "test"})
    with pytest.raises(InputError, match="options"):
        make("MultipleChoice", options=1)


@pytest.mark.parametrize(
    ("form", "inner"),
    [
        ("HintPrefix", "MultipleChoiceQuestions"),
        ("Cloze", "MultipleChoiceQuestions"),
        ("Reversed", "DecimalArithmetic"),
        ("Reversed", "WordProblem"),
    ],
)
def test_a_family_that_does_not_suit_is_refused_at_once(form: str, inner: str):
    with pytest.raises(InputError, match=inner):
        make(form, inner)


def test_transforms_of_transforms():
    env = gym.make(
        "palaestra/Rephrased-v0",
        of="palaestra/MultipleChoice-v0",
        of_kwargs={"of": "palaestra/WordProblem-v0", "options": 4},
    ).unwrapped
    for task in tasks(env, 10):
        assert env.verify(task, env.oracle(task)).success  # type: ignore[attr-defined]


def test_the_transforms_are_registered():
    assert {f"palaestra/{form}-v0" for form in INNER} <= set(palaestra.envs.ids())
