from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.transforms.hint_prefix import HintPrefix

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


@pytest.mark.parametrize("inner", [*INNER["HintPrefix"], "WordProblem", "Sudoku"])
def test_a_hint_is_a_prefix_that_never_holds_the_answer(inner: str):
    env = make("HintPrefix", inner, hint=1.0)
    shown = 0
    for task in tasks(env, 30):
        steps = env.solution_steps(task)
        count = task.reference["shown"]
        hint = task.prompt[len(task.data.prompt) :]
        assert task.prompt.startswith(task.data.prompt)
        assert hint == "" if not count else "\n" + "\n".join(steps[:count]) + "\n" in hint
        for step in steps[:count]:
            for part in re.split(r"=|:", step):
                assert not env.verify(task, part.strip()).success
        shown += count
    assert shown > 0


def test_a_longer_hint_leaves_less_work():
    def left(hint: float) -> float:
        env = make("HintPrefix", "WordProblem", hint=hint, steps=8)
        return sum(env.solver_cost(task) for task in tasks(env, 20))

    assert left(1.0) < left(0.5) < left(0.0)
    env = make("HintPrefix", "WordProblem", hint=0.0)
    assert all(task.prompt == task.data.prompt for task in tasks(env, 10))


def test_a_step_gives_the_answer_away():
    env: HintPrefix = make("HintPrefix", "Arithmetic", terms=3, digits=2, operations="+")
    task = next(tasks(env, 1)).data
    answer = env.inner.oracle(task)
    assert env._gives_away(task, f"1 + 1 = {answer}")
    assert env._gives_away(task, f"so it is {answer}, no less")
    assert not env._gives_away(task, f"1{answer} + 1 = 1")
