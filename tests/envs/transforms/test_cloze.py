from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import pytest

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


@pytest.mark.parametrize("inner", INNER["Cloze"])
def test_the_masked_number_is_the_only_one_that_fits(inner: str):
    env = make("Cloze", inner)
    for task in tasks(env, 20):
        number = int(env.oracle(task)) if env.oracle(task).isdigit() else None
        steps = env.inner.solution_steps(task.data)
        assert "#" in task.prompt
        # Put back, the number gives the solution that the inner family tells.
        assert "\n".join(steps) in task.prompt.replace("#", env.oracle(task))
        if number is not None and len(task.reference["lines"]) == 1:
            right = [n for n in range(max(0, number - 200), number + 200) if env.verify(task, str(n)).success]
            assert right == [number]
        assert env.verify(task, f"{env.oracle(task)}/1").success or "." in env.oracle(task)


def test_masked_once_the_number_stands_in_no_other_line_of_the_solution():
    env = make("Cloze", masked="once")
    for task in tasks(env, 80):
        lines = task.prompt.split("same number:\n")[1].split("\nWhich number")[0].split("\n")
        (place,) = [place for place, line in enumerate(lines) if "#" in line]
        rest = "\n".join(lines[:place] + lines[place + 1 :])
        assert not re.search(rf"(?<![\w.]){env.oracle(task)}(?![\w.])", rest)


def test_masked_everywhere_leaves_no_copy_of_the_number():
    env = make("Cloze", masked="everywhere")
    for task in tasks(env, 40):
        solution = task.prompt.split("same number:\n")[1]
        assert not re.search(rf"(?<![\w.]){env.oracle(task)}(?![\w.])", solution)
