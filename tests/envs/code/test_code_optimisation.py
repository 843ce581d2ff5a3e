"""Code optimisation: faster programs of any style are right, and no others."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.code import code_optimisation
from palaestra.envs.code.code_optimisation import Check, CodeOptimisation, Optimisation
from palaestra.envs.code.counting.counted_program import CountedProgram
from palaestra.envs.code.judging.program_question import EXAMPLE
from palaestra.envs.code.programs.slow_programs import TECHNIQUES, Part, SlowProgram
from palaestra.envs.code.programs.slow_programs_with_lists import CONTAINER_KINDS
from palaestra.envs.question import Task
from palaestra.rewards.answers import fenced

from .sandboxed import HOSTILE, NONE, needs_sandbox

FAMILY = CodeOptimisation()
GRADED = CodeOptimisation(graded=True)

# Counts the pairs with the sum 10.
SLOW = """def pairs(numbers):
    found = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == 10:
                found += 1
    return found"""
FAST = """def pairs(numbers):
    seen = {}
    found = 0
    for v in numbers:
        found += seen.get(10 - v, 0)
        seen[v] = seen.get(v, 0) + 1
    return found"""
LARGE = [(7 * place) % 23 - 4 for place in range(30)]


def made() -> Task:
    slow = CountedProgram(SLOW)
    inputs = [[], [5], [5, 5, 5], [1, 9, 9, 2], [3, -3, 13, 7, 0, 10], LARGE]
    tests = [Check([numbers], slow.call("pairs", [numbers], 10**6)[0], 20_000) for numbers in inputs]
    steps = slow.call("pairs", [LARGE], 10**6)[1]
    tests[-1] = tests[-1]._replace(most=steps)
    part = Part(CONTAINER_KINDS[0], "numbers", "", SLOW, FAST, "", "")
    program, fast = SlowProgram("pairs", (part,), SLOW, FAST), steps_of(FAST)
    return Task("", FAST, solution=fenced(FAST), data=Optimisation(program, tuple(tests), steps, fast, 900, 30))


def steps_of(program: str) -> int:
    return CountedProgram(program).call("pairs", [LARGE], 10**6)[1]


TASK = made()


def tasks(count: int, **params: Any) -> list[Task]:
    rng = np.random.default_rng(count)
    chosen = {"parts": 1, "technique": "containers", "size": 16, "gap": 3.0, **params}
    return [FAMILY.generate(rng, chosen) for _ in range(count)]


@needs_sandbox
@pytest.mark.parametrize(
    "program",
    [
        FAST,
        "from collections import Counter\n\ndef pairs(numbers):\n    seen = Counter()\n    found = 0\n"
        "    for v in numbers:\n        found += seen[10 - v]\n        seen[v] += 1\n    return found",
        "from collections import defaultdict\ndef pairs(xs: list[int]) -> int:\n    '''Count pairs.'''\n"
        "    seen = defaultdict(int)\n    return sum(add(seen, v) for v in xs)\n"
        "def add(seen, v):\n    count = seen[10 - v]\n    seen[v] += 1\n    return count",
        "def pairs(numbers):\n    c = {}\n    for v in numbers:\n        c[v] = c.get(v, 0) + 1\n"
        "    return sum(c[v] * c.get(10 - v, 0) for v in c if v < 5) + c.get(5, 0) * (c.get(5, 0) - 1) // 2",
        "pairs = lambda numbers, seen=None: 0 if not numbers else count(numbers, {})\n"
        "def count(numbers, seen):\n    found = 0\n    for v in numbers:\n        if 10 - v in seen:\n"
        "            found += seen[10 - v]\n        seen[v] = seen.get(v, 0) + 1\n    return found\n"
        "if __name__ == '__main__':\n    print(pairs(input()))",
    ],
)
def test_fast_programs_of_any_style_are_right(program: str):
    for answer in (program, fenced(program), f"I count.\n{fenced(program)}\nDone."):
        verdict = FAMILY.verify(TASK, answer)
        assert (verdict.success, verdict.score, verdict.reward, verdict.valid) == (True, 1.0, 1.0, True), (
            verdict.feedback
        )
        assert verdict.feedback == f"It takes {steps_of(program):,} operations; the target is 900."


@needs_sandbox
def test_the_slow_program_gets_no_reward():
    for program in (SLOW, SLOW.replace("found", "x"), SLOW.replace("    found = 0", "    found = 0\n    z = 1")):
        for family in (FAMILY, GRADED):
            verdict = family.verify(TASK, fenced(program))
            assert (verdict.success, verdict.score, verdict.reward, verdict.malformed) == (False, 0.0, 0.0, False)
    assert f"{TASK.data.slow:,}" in verdict.feedback
    assert "no faster" in verdict.feedback


@needs_sandbox
def test_what_is_half_way_earns_its_share_where_it_is_graded():
    program = (
        "def pairs(numbers):\n    found = 0\n    for i, v in enumerate(numbers):\n        wanted = 10 - v\n"
        "        for w in numbers[i + 1:]:\n            if w == wanted:\n                found += 1\n    return found"
    )
    steps = steps_of(program)
    assert 900 < steps < TASK.data.slow
    share = math.log(TASK.data.slow / steps) / math.log(TASK.data.slow / 900)
    verdict, graded = FAMILY.verify(TASK, program), GRADED.verify(TASK, program)
    assert (verdict.success, verdict.reward, graded.success) == (False, 0.0, False)
    # On four times as many numbers it takes more than any program may that is to earn something there.
    assert verdict.score == graded.score == graded.reward == pytest.approx(share / 2)
    assert 0.1 < share < 0.9
    assert verdict.feedback.startswith(f"It takes {steps:,} operations; the target is 900. With arguments 4 times as ")


@needs_sandbox
def test_a_program_that_is_still_quadratic_is_refused_though_it_reaches_the_target():
    program = "def pairs(numbers):\n    return sum(numbers[i:].count(10 - v) for i, v in enumerate(numbers, 1))"
    steps = steps_of(program)
    task = Task("", None, data=TASK.data._replace(target=steps + 20))
    for family in (FAMILY, GRADED):
        verdict = family.verify(task, program)
        assert (verdict.success, verdict.score < 1.0) == (False, True)
        assert (
            f"It takes {steps:,} operations; the target is {steps + 20:,}. With arguments 4 times" in verdict.feedback
        )
        assert family.verify(task, FAST).success
    assert 0.5 <= GRADED.verify(task, program).reward < 0.9


def test_the_larger_arguments_are_the_same_for_everybody_and_leave_room_for_the_fast_program():
    for technique in TECHNIQUES:
        for task in tasks(12, technique=technique, parts=1):
            larger, target = code_optimisation._larger(task.data)
            assert (larger, target) == code_optimisation._larger(task.data)
            value, few = CountedProgram(task.data.program.fast).call(task.data.program.name, larger.arguments, 10**6)
            assert value == larger.value
            assert target == int(1.25 * few * task.data.target / task.data.fast) > few
            for one, other in zip(larger.arguments, task.data.tests[-1].arguments):
                if isinstance(one, list):
                    assert len(one) == 4 * len(other)


@needs_sandbox
def test_the_target_itself_is_enough():
    steps = steps_of(FAST)
    for target, success in ((steps, True), (steps - 1, False)):
        task = Task("", None, data=TASK.data._replace(target=target))
        verdict = FAMILY.verify(task, FAST)
        assert verdict.success is success
        assert (verdict.score == 1.0) is success


@needs_sandbox
@pytest.mark.parametrize(
    ("program", "said"),
    [
        (FAST.replace("found = 0", "found = 1"), "0 of 7 tests passed. pairs([]) returned 1; expected 0."),
        ("def pairs(numbers):\n    return 0", "2 of 7 tests passed. pairs([5, 5, 5]) returned 0; expected 3."),
        (
            "def pairs(numbers):\n    return len(numbers) and 3",
            "3 of 7 tests passed. pairs([5]) returned 3; expected 0.",
        ),
        (
            "def pairs(numbers):\n    return {0: 0, 1: 0, 3: 3}[len(numbers)]",
            "3 of 7 tests passed. A test that is not shown failed.",
        ),
        (FAST + "\nnumbers[0]", "0 of 7 tests passed. pairs([]) failed: NameError: name 'numbers' is not defined;"),
        ("def pairs():\n    return 0", "0 of 7 tests passed. pairs([]) failed: TypeError: "),
        ("def pairs(numbers:\n    return 0", "0 of 7 tests passed. pairs([]) failed: SyntaxError: "),
        ("def pairs(numbers):\n    return pairs", "0 of 7 tests passed. pairs([]) failed: "),
        ("class Pairs: pass\npairs = Pairs()", "cannot be counted: class is not counted here: use functions"),
        ("import sys\ndef pairs(numbers):\n    return 0", "cannot be counted: the module sys is not counted here"),
        ("def pairs(numbers):\n    return eval('0')", "cannot be counted: eval is not counted here"),
        (SLOW.replace("== 10", "== 9"), "tests passed. pairs([5, 5, 5]) returned 0; expected 3."),
    ],
)
def test_feedback_on_a_wrong_program_names_the_failure(program: str, said: str):
    for family in (FAMILY, GRADED):
        verdict = family.verify(TASK, fenced(program))
        assert (verdict.success, verdict.score, verdict.reward, verdict.valid) == (False, 0.0, 0.0, True)
        assert said in verdict.feedback
        assert "13, 7" not in verdict.feedback


@needs_sandbox
def test_a_wrong_program_that_is_fast_on_large_arguments_gets_no_reward():
    # Right for all but the fifth test, and for the large arguments.
    program = FAST.replace(
        "    seen = {}", "    if 13 in numbers and len(numbers) < 9:\n        return 7\n    seen = {}"
    )
    verdict = GRADED.verify(TASK, program)
    assert (verdict.reward, verdict.feedback) == (0.0, "6 of 7 tests passed. A test that is not shown failed.")


@pytest.mark.parametrize("answer", ["42", "", "def pair(numbers): pass", EXAMPLE, "```python\n```", "(" * 4096])
def test_what_defines_no_such_function_is_malformed_without_a_run(answer: str):
    assert CodeOptimisation(backend=NONE).verify(TASK, answer).malformed


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_get_no_reward_and_are_valid(name: str):
    verdict = GRADED.verify(TASK, HOSTILE[name].format(name="pairs"))
    assert (verdict.reward, verdict.score, verdict.success, verdict.valid) == (0.0, 0.0, False, True)
    assert 0 < len(verdict.feedback) < 400


@needs_sandbox
@pytest.mark.parametrize(
    "answer",
    [
        "def pairs(numbers):\n    return " + "-" * 4000 + "1",
        "def pairs(numbers):\n    return " + "[" * 90 + "]" * 90,
        "def pairs(numbers):\n    x = []\n    for _ in range(900):\n        x = [x]\n    return x",
        "def pairs(numbers):\n    return {v * (2**61 - 1) for v in range(400)}",
        "def pairs(numbers):\n    return 'x' * 15000",
        "pairs = 1\n" + "#" * 4000,
    ],
)
def test_no_answer_does_harm(answer: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.reward, verdict.valid) == (0.0, True)


def test_a_sandbox_that_fails_says_nothing_about_the_program(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(code_optimisation, "count_operations", lambda *_, **__: None)
    verdict = FAMILY.verify(TASK, FAST)
    assert (verdict.valid, verdict.success, verdict.reward) == (False, False, 0.0)


def test_a_sandbox_that_does_not_start_makes_the_answer_invalid():
    env = gym.make("palaestra/CodeOptimisation-v0", backend=NONE, disable_env_checker=True)
    env.reset(seed=0)
    info = env.step(env.unwrapped.oracle())[4]  # type: ignore[attr-defined]
    assert (info["reward_valid"], info["feedback"]) == (False, "the sandbox 'none' does not start.")


# What is asked.


def test_the_target_lies_between_the_fast_program_and_the_slow_one():
    for technique in TECHNIQUES:
        for gap in (3.0, 1.2):
            for task in tasks(25, technique=technique, gap=gap, parts=2):
                data = task.data
                assert data.fast <= data.target < data.slow
                assert 2.5 * data.fast <= data.slow
                assert data.target == min(int(gap * data.fast) + 20, math.isqrt(data.slow * data.fast))


def test_the_figures_are_those_of_the_last_test():
    for task in tasks(20, parts=2, technique="sweeps"):
        program, tests = task.data.program, task.data.tests
        for test in tests:
            value, steps = CountedProgram(program.slow).call(program.name, test.arguments, 10**7)
            same, few = CountedProgram(program.fast).call(program.name, test.arguments, 10**7)
            assert value == same == test.value
        assert (steps, few) == (task.data.slow, task.data.fast)
        assert tests[-1].most == steps
        assert len(tests) == 6
        assert f"the function takes {steps:,} operations" in task.prompt
        assert f"at most {task.data.target:,} there" in task.prompt


def test_a_closer_target_and_larger_arguments_ask_for_more():
    def speedup(**params: Any) -> float:
        return sum(task.data.slow / task.data.target for task in tasks(80, **params))

    assert speedup(gap=1.2) > 1.1 * speedup(gap=2.0) > 1.1 * speedup(gap=3.0)
    for technique in TECHNIQUES:
        assert speedup(technique=technique, size=32, gap=1.5) > 1.2 * speedup(technique=technique, size=16, gap=1.5)


def test_the_prompt_shows_the_slow_function_and_no_large_argument():
    for task in tasks(30, parts=3, technique="algorithms", size=32):
        program = task.data.program
        assert f"```python\n{program.slow}\n```\nHere " in task.prompt
        assert program.fast not in task.prompt
        assert repr(task.data.tests[-1].arguments)[1:-1] not in task.prompt
        assert all(part.instead not in task.prompt for part in program.parts)
        assert len(task.prompt) <= 2000
        assert len(FAMILY.oracle(task)) <= 2000


def test_tasks_of_the_same_essence_share_a_split():
    for task in tasks(20):
        assert task.split_key == task.data.program.essence
        assert task.content == task.data.program.slow


def test_there_are_many_contents_of_each_technique():
    for technique in TECHNIQUES:
        assert len({task.split_key for task in tasks(100, technique=technique)}) > 60


def test_arguments_are_not_changed_by_making_the_task():
    for task in tasks(40, technique="containers"):
        program, tests = task.data.program, task.data.tests
        names: dict[str, Any] = {}
        exec(program.slow, names)
        assert [names[program.name](*test.arguments) for test in tests] == [test.value for test in tests]


def test_solution_steps_name_the_slow_part_and_the_remedy():
    for task in tasks(10, parts=2, technique="sweeps"):
        lines = FAMILY.solution_steps(task)
        for line, part in zip(lines, task.data.program.parts):
            assert line == f"{part.parameter}: {part.why}. Instead: {part.instead}."
        assert lines[2].startswith(f"This takes {task.data.fast:,} operations instead of {task.data.slow:,}")
        assert len(lines) == 4


def test_one_prompt_to_the_letter():
    env = gym.make("palaestra/CodeOptimisation-v0", difficulty=0.0, disable_env_checker=True)
    assert env.reset(seed=1)[0] == (
        "This Python function is slow:\n```python\ndef compute(values):\n    result = 0\n"
        "    for v in values:\n        for w in values:\n            if w == v + 4:\n"
        "                result += 1\n                break\n    return result\n```\n"
        "Here values is a list of whole numbers.\n"
        "Operations are counted: each statement, each part of an expression and each turn of a loop when it "
        "is evaluated, and as many more as there are items where sum, sorted, in, a slice, a copy, + and the "
        "like go over a list or text. With hidden arguments, values of length 20, the function takes 2,191 "
        "operations. Write compute so that it takes at most 635 there, and returns the same for all "
        "arguments. With arguments 4 times as large it may take more, in proportion to what a plain fast program "
        "takes there, and a quarter on top. Functions may be used, and the modules math, collections, functools, "
        "itertools, bisect, heapq, operator and string; classes may not.\n"
        "Answer with the whole function in a block of Python code, such as\n```python\ndef twice(n):\n"
        "    return 2 * n\n```"
    )


@needs_sandbox
@pytest.mark.parametrize(
    ("program", "failures"),
    [
        (FAST, {""}),
        (SLOW, {"", "limit"}),
        ("def pairs(numbers): return None", {"wrong"}),
        ("def pairs(numbers): return 1 // len(numbers[:0])", {"error"}),
        ("def pairs(numbers: return 1", {"syntax"}),
        ("class pairs: pass", {"syntax"}),
    ],
)
def test_the_kinds_of_failure_and_a_report_are_extras(program: str, failures: set[str]):
    verdict = FAMILY.verify(TASK, fenced(program))
    assert set(verdict.extras["tests"]) == failures
    assert len(verdict.extras["tests"]) == len(TASK.data.tests) + 1
    assert verdict.extras["test_report"] == verdict.feedback
