from __future__ import annotations

import copy
import os
import pickle

import pytest
from gymnasium.vector import AsyncVectorEnv
from palaestra.envs import IntAxis, ParamSpace, Question, Task
from palaestra.envs.extras import Extras


def count_calls() -> tuple[list[tuple[str, str]], Extras]:
    """An `Extras` of two names that are computed and one that is known, and the calls that computed them."""
    calls: list[tuple[str, str]] = []

    def compute(subject: str, name: str) -> str:
        calls.append((subject, name))
        return f"{name} of {subject}"

    return calls, Extras(frozenset({"steps", "answer", "error"}), {"error": None}, compute, "task")


def test_a_value_is_computed_when_it_is_read_and_only_once():
    calls, extras = count_calls()
    assert (len(extras), "steps" in extras, list(extras), extras["error"]) == (
        3,
        True,
        ["answer", "error", "steps"],
        None,
    )
    assert calls == []
    assert extras["steps"] == extras["steps"] == "steps of task"
    assert calls == [("task", "steps")]


def test_a_name_that_is_not_supplied_is_a_key_error():
    with pytest.raises(KeyError, match="score"):
        count_calls()[1]["score"]


def test_names_that_nothing_computes_are_none():
    assert Extras({"a", "b"}, {"b": 2}) == {"a": None, "b": 2}


@pytest.mark.parametrize("copied", [lambda extras: pickle.loads(pickle.dumps(extras)), copy.deepcopy, copy.copy])
def test_a_copy_computes_what_is_missing_when_it_is_read(copied):
    extras = Slow(split="all").reset(seed=0)[1]["extras"]
    twin = copied(copied(extras))
    assert "'solution_steps': ..." in repr(extras)
    assert "'solution_steps': ..." in repr(twin)
    assert twin == extras


def test_a_copy_of_what_cannot_be_pickled_holds_the_values():
    calls, extras = count_calls()
    twin = pickle.loads(pickle.dumps(extras))
    assert len(calls) == 2
    assert twin == {"answer": "answer of task", "steps": "steps of task", "error": None}
    assert len(calls) == 2


class Slow(Question):
    """Says in which process its worked solution was computed."""

    param_space = ParamSpace([IntAxis("number", 1, 9)])
    verifier = "integer"

    def generate(self, rng, params):
        return Task(f"Say {params['number']}.", reference=params["number"])

    def solution_steps(self, task):
        return [str(os.getpid())]


def test_a_vector_environment_in_other_processes_computes_nothing_at_a_reset():
    envs = AsyncVectorEnv([lambda: Slow(split="all")], context="fork")
    try:
        _, infos = envs.reset(seed=0)
        *_, later = envs.step(["10"])
        first, second = (info["extras"][0] for info in (infos, later))
        assert "'solution_steps': ..." in repr(first)
        assert first["solution_steps"] == second["solution_steps"] == [str(os.getpid())]
        assert first["reference"] == second["reference"] != "10"
    finally:
        envs.close()


def test_equal_to_mappings_of_the_same_values_alone():
    assert Extras({"a"}, {"a": 1}) == {"a": 1}
    assert Extras({"a"}, {"a": 1}) != {"a": 2}
    assert Extras({"a"}, {"a": 1}) != {"a": 1, "b": None}


def test_printing_computes_nothing():
    calls, extras = count_calls()
    assert repr(extras) == "Extras({'answer': ..., 'error': None, 'steps': ...})"
    assert calls == []
