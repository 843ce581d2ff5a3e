"""Which intermediate results a program had, and what a reward makes of it."""

from __future__ import annotations

import textwrap
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.code.judging.milestones import count_reached, expected_results, traced_tests
from palaestra.envs.code.program_synthesis import Synthesis
from palaestra.envs.sandbox import Limits
from palaestra.rewards import RewardWrapper, make

from ..sandboxed import HOSTILE

LIMITS = Limits(seconds=20)
SEEDS = range(12)


def drawn(seed: int, domain: str = "numbers") -> Synthesis:
    env: Any = gym.make("palaestra/ProgramSynthesis-v0", steps=4, domain=domain).unwrapped
    env.reset(seed=seed)
    return env.here().data


def written(task: Synthesis, sentences: int) -> str:
    """The program as far as it carries out so many sentences."""
    body = [*task.program.blocks[:sentences], "return 'too early'"]
    return f"def {task.program.signature}:\n" + "\n".join(textwrap.indent(block, "    ") for block in body)


def count(code: str, task: Synthesis) -> list[int]:
    found = count_reached(code, task.program, task.tests, LIMITS, "local")
    assert found is not None
    return found


@pytest.mark.parametrize("domain", ["numbers", "strings", "lists"])
def test_milestones_are_what_the_sentences_lead_to_and_nothing_that_is_there_anyway(domain: str) -> None:
    some = 0
    for seed in SEEDS:
        task = drawn(seed, domain)
        tests = traced_tests(task.tests)
        assert tests
        assert not any(test.public for test in tests)
        for wanted in expected_results(task.program, tests):
            some += 1
            assert wanted
            for place, value in wanted.items():
                assert value not in (*tests[place].arguments, None, 0, 1, "", [])
    assert some > 20


@pytest.mark.parametrize("domain", ["numbers", "strings", "lists"])
def test_a_program_is_credited_for_as_far_as_it_came(domain: str) -> None:
    for seed in SEEDS[:5]:
        task = drawn(seed, domain)
        wanted = expected_results(task.program, traced_tests(task.tests))
        counts = [count(written(task, sentences), task) for sentences in range(len(task.program.blocks))]
        assert counts[0] == [0, len(wanted)]
        assert counts[-1] == [len(wanted), len(wanted)]
        assert sorted(counts) == counts
        assert count(task.program.source, task) == counts[-1]


def test_results_count_in_any_variable_function_and_form() -> None:
    task = drawn(1)
    name = task.program.name
    whole = task.program.source.replace(name, "helper", 1)
    arguments = ", ".join(parameter.name for parameter in task.program.parameters)
    for code in (
        f"{whole}\ndef {name}({arguments}):\n    helper({arguments})\n    return None",
        f"import functools\n{whole}\n@functools.lru_cache\ndef {name}({arguments}):\n"
        f"    helper({arguments})\n    raise ValueError",
    ):
        met, of = count(code, task)
        assert met == of > 0


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_programs_reach_nothing(what: str) -> None:
    task = drawn(2)
    assert count(HOSTILE[what].format(name=task.program.name), task)[0] == 0


def test_claims_are_not_results() -> None:
    task = drawn(3)
    name = task.program.name
    wanted = [
        value for results in expected_results(task.program, traced_tests(task.tests)) for value in results.values()
    ]
    assert all(isinstance(value, int) and abs(value) < 9000 for value in wanted)
    for code in (
        # More values than are read, the right ones perhaps among them.
        f"def {name}(*given):\n    for value in range(-9000, 9000):\n        pass",
        f"def {name}(*given):\n    palaestra_seen.extend(range(-9000, 9000))",
        f"def palaestra_called(*given):\n    return True\ndef {name}(*given):\n    pass",
        f"class Every(int):\n    def __eq__(self, other):\n        return True\n"
        f"    def __repr__(self):\n        return 'x'\ndef {name}(*given):\n    every = Every(7)\n    return [every]",
    ):
        assert count(code, task)[0] == 0


def test_the_environment_supplies_them_to_the_reward() -> None:
    env = RewardWrapper(gym.make("palaestra/ProgramSynthesis-v0", steps=4, milestones=True), make("milestones"))
    inner: Any = env.unwrapped
    env.reset(seed=5)
    task = inner.here().data
    _, failed, _, _, info = env.step(f"```python\n{written(task, 3)}\n```")
    met, of = info["extras"]["milestones"]
    assert 0 < met <= of
    assert failed == pytest.approx(-10 + 0.1 * met)
    env.reset(seed=5)
    _, nothing, _, _, info = env.step("no program")
    assert (nothing, info["extras"]["tests"], info["extras"]["milestones"]) == (-10.0, None, None)
    env.reset(seed=5)
    assert env.step(inner.oracle())[1] == 1.0


def test_without_the_option_nothing_is_traced() -> None:
    env: Any = gym.make("palaestra/ProgramSynthesis-v0", steps=4).unwrapped
    assert "milestones" not in env.supplies
    env.reset(seed=5)
    assert "milestones" not in env.step(env.oracle())[4]["extras"]
