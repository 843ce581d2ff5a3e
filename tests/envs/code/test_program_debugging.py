"""Program debugging: what a turn tells, and what the tasks are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from palaestra.envs.code.program_debugging import Debugging, ProgramDebugging
from palaestra.envs.code.programs.bugs import BuggyProgram, draw_buggy, insert_bugs
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import Parameter, write_source
from palaestra.envs.sandbox import CallTest
from palaestra.rewards.answers import fenced

from ...patience import with_more_time  # isort: skip
from .debugged import BUGGY, PROGRAM, STATE, at, made, passing, play
from .sandboxed import needs_sandbox


@needs_sandbox
def test_an_episode_to_the_letter():
    env, prompt = made(3, steps=2, domain="numbers", bugs=2, turns=4, examples=2)
    given = (
        "def convert(n):\n    part = n // 7\n    product = 1\n    rest = abs(part)\n    while rest > 0:\n"
        "        if rest % 10 != 0:\n            product += rest % 10\n        rest //= 10\n    product += 27\n"
        "    return product"
    )
    assert prompt == (
        f"This Python function has 2 bugs:\n```python\n{given}\n```\n"
        "Here n is a whole number. The function should do this, in order, and return the result:\n"
        "1. Divide the number by 6, rounding down.\n"
        "2. Take the product of the decimal digits of the number that are not 0, without its sign (1 if there are "
        "none), plus 27.\nIt should be so that:\nconvert(197) == 33\nconvert(17) == 29\n"
        "You have 4 turns left. In each, write either the whole function, mended, in a block of Python code, such as\n"
        "```python\ndef twice(n):\n    return 2 * n\n```\n"
        "to hear how many of 8 tests pass and which example fails first (when all pass, you are done); or only a call, "
        "such as convert(197), to see what your last program (at first the one above) returns for it, and prints."
    )
    half = given.replace("// 7", "// 6")
    for action, told in (
        ("convert(-3)", "convert(-3) returned 29.\nYou have 3 turns left."),
        (fenced(half), "2 of 8 tests passed. convert(17) returned 30; expected 29.\nYou have 2 turns left."),
        ("convert(197)", "convert(197) returned 33.\nYou have one turn left."),
    ):
        observation, reward, terminated, truncated, _ = env.step(action)
        assert (observation, reward, terminated, truncated) == (told, 0.0, False, False)
    observation, reward, terminated, truncated, _ = env.step(fenced(half.replace("+= rest", "*= rest")))
    assert (observation, reward, terminated, truncated) == ("All 8 tests passed.", 1.0, True, False)


@needs_sandbox
def test_a_submission_receives_the_count_and_the_first_example_that_fails():
    env = at(STATE)
    for numbers, told in (
        ((3, 4), "2 of 8 tests passed. tens(0) returned 'no'; expected 0."),
        ((0, 5, 6), "3 of 8 tests passed. tens(1) returned 'no'; expected 10."),
        ((0, 1, 2), "3 of 8 tests passed. A test that is not shown failed."),
    ):
        observation, _, terminated, truncated, info = env.step(passing(*numbers))
        assert observation.partition("\n")[0] == told
        assert (terminated, truncated, info["is_success"], info["action_error"]) == (False, False, False, None)
        assert [not failure for failure in info["extras"]["tests"]] == [i in numbers for i in range(8)]
        assert info["extras"]["test_report"].startswith(told.partition(".")[0])
        assert info["feedback"] == told
    observation, _, terminated, truncated, info = env.step(env.oracle())
    assert (observation, terminated, truncated, info["is_success"]) == ("All 8 tests passed.", True, False, True)


@needs_sandbox
@pytest.mark.parametrize(
    "submission",
    [
        PROGRAM.source,
        fenced(PROGRAM.source),
        f"The operator was wrong.\n{fenced(PROGRAM.source)}\nNow tens(3) is right.\ntens(3)",
        f"{fenced(BUGGY)}\nNo, rather\n{fenced(PROGRAM.source)}",
        fenced("tens = lambda n: 10 * n"),
        fenced("class tens(int):\n    def __new__(cls, n):\n        return 10 * n"),
        fenced("def times(n, k):\n    return n * k\n\ndef tens(n: int) -> int:\n    return times(n, 10)\n\ntens(3)"),
        fenced("from functools import partial\nimport operator\ntens = partial(operator.mul, 10)\nprint(tens(1))"),
    ],
)
def test_whole_programs_are_submissions_however_they_are_written(submission: str):
    assert at(STATE).step(submission)[4]["is_success"]


@needs_sandbox
@pytest.mark.parametrize("program", ["from math import ceil as tens", "def tens(n", "tens = 5", "def  tens(): pass"])
def test_programs_without_the_function_are_submissions_too(program: str):
    for submission in (program, fenced(program)):
        assert " of 8 tests passed. tens(" in at(STATE).step(submission)[0]


@needs_sandbox
@pytest.mark.parametrize(
    "call", ["tens(5)", " tens( 5 ) ", "`tens(5)`", "tens(n=5)", fenced("tens(5)"), "What of 5?\ntens(5)", "tens (+5)"]
)
def test_a_call_shows_what_the_given_program_returns(call: str):
    observation, reward, terminated, truncated, info = at(STATE).step(call)
    assert observation == "tens(5) returned 15.\nYou have 3 turns left."
    assert info["feedback"] == info["extras"]["feedback"] == "tens(5) returned 15."
    assert (reward, terminated, truncated, info["is_success"], info["progress"]) == (0.0, False, False, False, 0.0)
    assert (info["action_error"], info["reward_valid"], info["extras"]["tests"]) == (None, True, None)


@needs_sandbox
def test_a_call_runs_the_program_submitted_last():
    env = at(STATE)
    env.step(fenced("def tens(n):\n    print('n is', n)\n    return 7 * n"))
    assert env.step("tens(6)")[0] == (
        "tens(6) returned 42. The output:\n```output\nn is 6\n```\nYou have 2 turns left."
    )
    env.step(fenced("def tens(n):\n    return 1 // n"))
    assert env.step("tens(0)")[0].startswith("tens(0) failed: ZeroDivisionError: ")


@needs_sandbox
def test_calls_have_as_many_arguments_as_the_function():
    two = PROGRAM._replace(takes="list", parameters=(Parameter("numbers", ""), Parameter("k", "", range(5))))
    code = "def tens(numbers, k):\n    return numbers * k"
    state = replace(STATE, program=two, code=code, tests=(CallTest("tens", ([1], 2), [1, 1], True),) * 8)
    assert at(state).step("tens([1, -2], 3)")[0].startswith("tens([1, -2], 3) returned [1, -2, 1, -2, 1, -2].\n")
    assert at(state).step("tens([1, -2])")[4]["action_error"].endswith("such as tens([1], 2).")


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def tens(n):\n    while True:\n        pass", "TimeoutError"),
        ("def tens(n:", "SyntaxError"),
        ("x = y\ndef tens(n):\n    pass", "NameError: name 'y' is not defined"),
        ("while True:\n    pass\ndef tens(n):\n    pass", "(stopped: it took more than {} s)"),
        ("def tens(n):\n    return tens", "no plain data"),
        ("import os\ndef tens(n):\n    print('here', flush=True)\n    os._exit(3)", "here"),
    ],
)
def test_calls_that_fail_say_why(code: str, told: str):
    def check(seconds: float) -> None:
        observation, *_, info = at(replace(STATE, code=code), seconds=seconds).step("tens(1)")
        assert observation.startswith("tens(1) failed: ")
        assert told.replace("{}", f"{seconds:g}") in observation
        assert info["reward_valid"]

    with_more_time(check)


LOUD = [
    "def tens(n):\n    print('x' * 9000)\n    return 1",
    "def tens(n):\n    return 'y' * 90000",
    "def tens(n):\n    return [list(range(500))] * 50",
    "def tens(n):\n    raise ValueError('z' * 9000)",
    "raise ValueError('z' * 90000)\ndef tens(n): pass",
    "import sys\ndef tens(n):\n    print('a' * 9000)\n    print('b' * 9000, file=sys.stderr)\n    raise IOError",
    "def tens(n):\n    while True:\n        print('```')",
    "def tens(n):\n    value = []\n    for _ in range(400):\n        value = [value]\n    return value",
    "def tens(n):\n    return 10 ** 6000",
]


@needs_sandbox
@pytest.mark.parametrize("code", LOUD)
def test_observations_are_bounded_whatever_is_printed(code: str):
    env = at(STATE, seconds=0.5)
    for action in (fenced(code), "tens(1)", "neither"):
        observation, *_, info = env.step(action)
        assert len(observation) <= 3_500
        assert info["reward_valid"]
    assert observation.endswith("\nYou have one turn left.")


@needs_sandbox
def test_long_text_lacks_its_middle():
    env = at(replace(STATE, code="def tens(n):\n    print('a' * 800 + 'b' * 800)\n    return 'c' * 1500"))
    observation, *_ = env.step("tens(1)")
    assert re.fullmatch(
        r"tens\(1\) returned 'c{457}\n\.\.\. \(\d+ characters left out\)\nc{474}'\. The output:\n```output\na{475}\n"
        r"\.\.\. \(650 characters left out\)\nb{475}\n```\nYou have 3 turns left\.",
        observation,
    )


# The tasks.


def drawn(count: int, seed: int = 0) -> list[tuple[dict[str, Any], Debugging]]:
    rng, family = np.random.default_rng(seed), ProgramDebugging()
    every = [family.param_space.sample(rng) for _ in range(count)]
    return [(params, family.start(rng, params)) for params in every]


def test_the_prompt_has_the_buggy_function_the_specification_and_the_examples_only():
    for params, state in drawn(60):
        prompt = ProgramDebugging().observe(state)
        assert state.bugs == min(params["bugs"], params["steps"])
        assert f"has {'one bug' if state.bugs == 1 else f'{state.bugs} bugs'}:\n```python\n{state.code}\n```" in prompt
        assert state.program.source not in prompt
        for place, sentence in enumerate(state.program.specification, 1):
            assert f"\n{place}. {sentence}\n" in prompt
        assert [test.public for test in state.tests] == [i < params["examples"] for i in range(8)]
        assert re.findall(r"^\w+\((.*)\) == (.*)$", prompt, re.MULTILINE) == [
            (", ".join(map(repr, test.arguments)), repr(test.expected)) for test in state.tests if test.public
        ]
        assert f"You have {params['turns']} turns left." in prompt
        assert state.turns == params["turns"]


@needs_sandbox
def test_the_program_with_the_bugs_passes_the_counted_tests_in_python():
    for _, state in drawn(40, 1):

        def check(seconds: float, state: Debugging = state) -> None:
            done = ProgramDebugging(graded=True, seconds=seconds).act(state, fenced(state.code))
            assert (done.success, done.progress, done.terms) == (False, 0.0, {"tests": 0.0})
            assert "A test that is not shown" not in done.state.feedback
            assert done.state.feedback.startswith(f"{state.given} of 8 tests passed.")

        with_more_time(check)


def mended(buggy: BuggyProgram, bugs: int) -> str:
    """The program with its first bugs alone."""
    return fenced(write_source(buggy.program, insert_bugs(buggy.program, buggy.bugs[:bugs])))


@needs_sandbox
@pytest.mark.parametrize("domain", ["numbers", "strings", "lists"])
def test_bugs_can_be_mended_one_a_turn_and_only_the_last_one_succeeds(domain: str):
    params = {"steps": 4, "domain": domain, "bugs": 3, "turns": 3, "examples": 3}
    for seed in range(3):
        buggy = draw_buggy(Dice(np.random.default_rng(seed)), domain, 4, 8, 3)
        state = ProgramDebugging().start(np.random.default_rng(seed), params)
        assert state.code == write_source(buggy.program, buggy.body)

        def check(seconds: float, state: Debugging = state, buggy: BuggyProgram = buggy) -> None:
            env = at(state, graded=True, seconds=seconds)
            rewards, progress, info = play(env, mended(buggy, 2), mended(buggy, 1))
            assert not info["is_success"]
            assert progress[1] >= progress[0]
            _, reward, terminated, truncated, info = env.step(mended(buggy, 0))
            assert (terminated, truncated, info["is_success"], info["progress"]) == (True, False, True, 1.0)
            assert sum(rewards) + reward == 1.0

        with_more_time(check)


def test_prompts_are_short_though_programs_may_be_long():
    family = ProgramDebugging()
    hardest = {"steps": 5, "domain": "strings", "bugs": 3, "turns": 6, "examples": 4}
    lengths = [len(family.observe(family.start(np.random.default_rng(seed), hardest))) for seed in range(60)]
    assert 1_800 < max(lengths) <= 2_000


def test_functions_of_one_specification_lie_in_one_split():
    for _, state in drawn(20, 2):
        assert ProgramDebugging().split_key(state) == "\n".join(state.program.specification)
