from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.transforms.multiple_choice import near_misses

MANY = ["Arithmetic", "LinearEquation", "WordProblem", "PrimeFactors", "TowerOfHanoi", "Countdown", "ShortestPath"]


INNER = {
    "MultipleChoice": MANY,
    "Rephrased": MANY,
    "HintPrefix": ["Arithmetic", "LinearEquation", "LinearSystem", "PrimeFactors", "ShortestPath", "GcdLcm"],
    "Cloze": ["Arithmetic", "WordProblem", "GcdLcm", "DecimalArithmetic", "PrimeFactors"],
    "Reversed": ["Arithmetic", "LinearEquation", "FractionArithmetic"],
}


PAIRS = [(form, inner) for form, inners in INNER.items() for inner in inners]


def make(form: str, inner: str | None = None, **kwargs: Any) -> Any:
    of = {"of": f"palaestra/{inner}-v0"} if inner else {}
    return gym.make(f"palaestra/{form}-v0", disable_env_checker=True, **of, **kwargs).unwrapped


def tasks(env: Any, count: int, **options: Any):
    for seed in range(count):
        env.reset(seed=seed, options=options or None)
        yield env.here()


@pytest.mark.parametrize("inner", INNER["MultipleChoice"])
def test_one_option_is_right_and_all_others_are_wrong(inner: str):
    env = make("MultipleChoice", inner)
    for difficulty in (0.0, 1.0):
        for task in tasks(env, 20, difficulty=difficulty):
            options = task.reference["options"]
            assert len(set(options)) == len(options) == env.task_info()["params"]["options"]
            right = [letter for letter, text in zip("ABCDEFGHIJ", options) if env.inner.verify(task.data, text).success]
            assert right == [env.oracle(task)]
            assert all(f"\n{letter}) {text}\n" in task.prompt for letter, text in zip("ABCDEFGHIJ", options))


def test_letters_are_balanced_and_no_option_stands_out():
    env = make("MultipleChoice", "Arithmetic", options=5, terms=2)
    letters: Counter[str] = Counter()
    middle = lonely = 0
    for task in tasks(env, 500):
        letters[task.reference["letter"]] += 1
        values = [int(text) for text in task.reference["options"]]
        right = values["ABCDE".index(task.reference["letter"])]
        middle += right == sorted(values)[2]
        lonely += right == max(values, key=lambda v: min(abs(v - w) for w in values if w != v))
    # Five standard deviations about 100 of 500.
    assert all(abs(letters[letter] - 100) < 45 for letter in "ABCDE")
    assert abs(middle - 100) < 45
    assert abs(lonely - 100) < 45


def test_letter_or_text_of_an_option_is_read():
    env = make("MultipleChoice", "LinearEquation", options=4, difficulty=0.0)
    task = next(tasks(env, 1))
    letter = env.oracle(task)
    text = env.inner.oracle(task.data)
    for answer in (letter, letter.lower(), f"({letter})", f"{letter}) {text}", text):
        assert env.verify(task, answer).success
    for answer in ("E", "AB", "A B C D", "all", ""):
        assert not env.verify(task, answer).success


def test_near_misses_change_one_thing():
    found = set(near_misses("-12", np.random.default_rng(0).random(400).tolist()))
    assert found == {"-11", "-13", "-10", "-14", "-2", "-22", "12"}
    assert set(near_misses("A B", [0.8, 0.0])) == {"B A"}
    assert not list(near_misses("", [0.1, 0.2, 0.9, 0.9]))
