from __future__ import annotations

from fractions import Fraction
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


@pytest.mark.parametrize("inner", INNER["Reversed"])
def test_the_hidden_number_leads_back_to_the_question(inner: str):
    env = make("Reversed", inner)
    for task in tasks(env, 20):
        statement = task.reference["line"].split(" = ")[0].replace("#", env.oracle(task))
        assert statement in task.data.prompt
        value = Fraction(env.oracle(task))
        near = [value + n for n in range(-30, 31)]
        assert [v for v in near if env.verify(task, str(v)).success] == [value]
        assert not env.verify(task, env.inner.oracle(task.data) + "0").success
