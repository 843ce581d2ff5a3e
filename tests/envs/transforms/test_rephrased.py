from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
from palaestra.envs.transforms.rephrased import move_instruction_first

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


def test_nothing_of_the_question_is_lost_and_answers_stay():
    for inner in INNER["Rephrased"]:
        env = make("Rephrased", inner)
        for task in tasks(env, 30):
            for sentence in re.split(r"(?<=[.?]) (?=Answer with )", task.data.prompt):
                assert sentence in task.prompt
            assert task.prompt != task.data.prompt or env.task_info()["params"]["changes"] == 1


def test_the_instruction_moves_only_where_it_stands_alone():
    assert move_instruction_first("Solve x = 3. Answer with an integer.") == "Answer with an integer. Solve x = 3."
    for kept in ("Roots of x - 1? Answer with them in order.", "1 + 1 = ? (integer)", "Answer with an integer."):
        assert move_instruction_first(kept) == kept


def test_each_change_adds_words():
    lengths = [
        sum(len(task.prompt) for task in tasks(make("Rephrased", "LinearEquation", changes=n, size=5), 40))
        for n in range(1, 6)
    ]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 5
