"""Program synthesis: any right program is right, and nothing else earns anything."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.code.judging import program_question
from palaestra.envs.code.judging.program_question import EXAMPLE, make_call_tests
from palaestra.envs.code.program_synthesis import ProgramSynthesis, Synthesis
from palaestra.envs.code.programs.cases import ProgramCase
from palaestra.envs.code.programs.grammar import Parameter, Program
from palaestra.envs.question import Task
from palaestra.envs.sandbox import ProgramJudgement
from palaestra.errors import InputError
from palaestra.rewards.answers import fenced

from .sandboxed import HOSTILE, NONE

FAMILY = ProgramSynthesis()
PROGRAM = Program(
    *("rise", "list", "list", (Parameter("numbers", "a list of whole numbers"),), ("Keep the even ones.", "Sort.")),
    *(("kept = [v for v in numbers if v % 2 == 0]", "ordered = sorted(kept)", "return ordered"), ("kept", "ordered")),
    *((), ()),
)
CASES = [
    ProgramCase(([3, 4, 2],), [2, 4]),
    ProgramCase(([],), []),
    ProgramCase(([8, 6],), [6, 8]),
    ProgramCase(([-2, 5, -4],), [-4, -2]),
]
TASK = Task("", None, data=Synthesis(PROGRAM, make_call_tests(PROGRAM, CASES, 2)))


def tasks(count: int, **params: object) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, {"steps": 3, "domain": "lists", "examples": 2, **params}) for _ in range(count)]


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM.source,
        "def rise(numbers):\n    return sorted(filter(lambda v: v % 2 == 0, numbers))",
        "rise = lambda numbers: sorted(v for v in numbers if not v & 1)",
        "import heapq\n\ndef rise(xs: list[int]) -> list[int]:\n    heap = [x for x in xs if x % 2 == 0]\n"
        "    heapq.heapify(heap)\n    return [heapq.heappop(heap) for _ in range(len(heap))]",
        "class Riser:\n    def __call__(self, xs):\n        return sorted(x for x in xs if x % 2 == 0)\nrise = Riser()",
        "def rise(numbers):\n    print('working')\n    numbers.sort()\n    return [v for v in numbers if v % 2 == 0]\n"
        "if __name__ == '__main__':\n    assert rise([2]) == [2]",
    ],
)
def test_right_programs_of_any_style_are_right(program: str):
    for answer in (program, fenced(program), f"I sort them.\n{fenced(program)}\nDone."):
        verdict = FAMILY.verify(TASK, answer)
        assert (verdict.success, verdict.reward, verdict.valid) == (True, 1.0, True), verdict.feedback


@pytest.mark.parametrize(
    ("program", "score", "why"),
    [
        ("def rise(numbers):\n    return numbers", 0.25, "rise([3, 4, 2]) returned [3, 4, 2]; expected [2, 4]"),
        ("def rise(numbers):\n    return []", 0.25, "rise([3, 4, 2]) returned []; expected [2, 4]"),
        ("def rise(numbers):\n    return {(3, 4, 2): [2, 4]}.get(tuple(numbers), [])", 0.5, "A test that is not shown"),
        ("def rise(numbers):\n    return numbers[9]", 0.0, "failed: "),
        ("def rise():\n    return []", 0.0, "failed: "),
    ],
)
def test_feedback_on_a_wrong_program_names_the_first_example_that_fails(program: str, score: float, why: str):
    verdict = FAMILY.verify(TASK, fenced(program))
    assert (verdict.success, verdict.reward, verdict.malformed, verdict.valid) == (False, 0.0, False, True)
    assert verdict.score == score
    assert why in verdict.feedback
    assert "[8, 6]" not in verdict.feedback


def test_graded_reward_is_the_share_of_the_tests():
    half = "def rise(numbers):\n    return {(3, 4, 2): [2, 4]}.get(tuple(numbers), [])"
    verdict = ProgramSynthesis(graded=True).verify(TASK, half)
    assert (verdict.reward, verdict.success) == (0.5, False)


@pytest.mark.parametrize("answer", ["42", "", "def rises(numbers): pass", EXAMPLE, "```python\n```", "(" * 4096])
def test_what_defines_no_such_function_is_malformed_without_a_run(answer: str):
    family = ProgramSynthesis(backend=NONE)
    assert family.verify(TASK, answer).malformed


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_get_no_reward_and_are_valid(name: str):
    family = ProgramSynthesis(seconds=0.3, graded=True)
    verdict = family.verify(TASK, HOSTILE[name].format(name="rise"))
    assert (verdict.reward, verdict.score, verdict.success, verdict.valid) == (0.0, 0.0, False, True)


def test_calls_have_the_seconds_asked_for():
    verdict = ProgramSynthesis(seconds=0.4).verify(TASK, HOSTILE["runs for ever"].format(name="rise"))
    assert "0.4 s" in verdict.feedback


def test_a_sandbox_that_fails_says_nothing_about_the_program(monkeypatch: pytest.MonkeyPatch):
    lost = ProgramJudgement((True,) * 4, "All 4 tests passed.", valid=False)
    monkeypatch.setattr(program_question, "run_tests", lambda *_, **__: lost)
    verdict = FAMILY.verify(TASK, PROGRAM.source)
    assert (verdict.valid, verdict.success, verdict.reward) == (False, False, 0.0)


def test_a_sandbox_that_does_not_start_makes_the_answer_invalid():
    env = gym.make("palaestra/ProgramSynthesis-v0", backend=NONE, disable_env_checker=True)
    env.reset(seed=0)
    info = env.step(env.unwrapped.oracle())[4]  # type: ignore[attr-defined]
    assert (info["reward_valid"], info["feedback"]) == (False, "the sandbox 'none' does not start.")
    with pytest.raises(InputError, match="seconds"):
        ProgramSynthesis(seconds=0)


def test_the_prompt_has_the_examples_asked_for_and_no_other_test():
    for examples in (2, 3, 4):
        for task in tasks(30, examples=examples):
            calls = re.findall(r"^\w+\((.*)\) == (.*)$", task.prompt, re.MULTILINE)
            tests = task.data.tests
            assert [test.public for test in tests] == [True] * examples + [False] * (6 - examples)
            assert calls == [
                (", ".join(map(repr, test.arguments)), repr(test.expected)) for test in tests if test.public
            ]


def test_the_prompt_has_the_specification_and_not_the_program():
    for task in tasks(30, steps=4):
        program = task.data.program
        for place, sentence in enumerate(program.specification, 1):
            assert f"\n{place}. {sentence}\n" in task.prompt
        assert f"function {program.signature}." in task.prompt
        assert not any(block in task.prompt for block in program.blocks)


def test_trivial_programs_are_never_right():
    for task in tasks(10, steps=1, domain="numbers"):
        name = task.data.program.name
        for body in ("args[0]", "0", "args[0] + 1", "[]", repr(task.data.tests[0].expected)):
            assert not FAMILY.verify(task, f"def {name}(*args):\n    return {body}").success


def test_the_example_of_the_prompt_is_never_the_answer():
    assert all("twice" not in task.data.program.name for task in tasks(50))
    assert all(EXAMPLE in task.prompt for task in tasks(5))


def test_solution_steps_name_each_variable():
    task = tasks(1)[0]
    lines = FAMILY.solution_steps(task)
    for line, name, sentence in zip(lines, task.data.program.results, task.data.program.specification):
        assert line == (f"{name}: {sentence}" if name else sentence)


def test_one_prompt_to_the_letter():
    env = gym.make("palaestra/ProgramSynthesis-v0", difficulty=0.0, disable_env_checker=True)
    assert env.reset(seed=1)[0] == (
        "Write a Python function convert(n). Here n is a whole number. It does this to n, and returns the result:\n"
        "1. List the decimal digits of the number from left to right, without its sign.\n"
        "Examples:\nconvert(0) == [0]\nconvert(-44) == [4, 4]\nconvert(152) == [1, 5, 2]\nconvert(171) == [1, 7, 1]\n"
        "Answer with the whole function in a block of Python code, such as\n"
        "```python\ndef twice(n):\n    return 2 * n\n```"
    )
