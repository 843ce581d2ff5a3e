"""Problems with standard input and output."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.programs.grammar import Parameter, Program
from palaestra.envs.code.stdio_problem import StdioProblem, StdioSynthesis
from palaestra.envs.question import Task
from palaestra.envs.sandbox import StdioTest
from palaestra.rewards.answers import fenced

from .sandboxed import NONE

from ...patience import with_more_time  # isort: skip

FAMILY = StdioProblem()
PROGRAM = Program(
    *("rise", "list", "list", (Parameter("numbers", "a list"),), ("Sort the list.",)),
    *(("ordered = sorted(numbers)", "return ordered"), ("ordered",), (), ()),
)
TESTS = (
    StdioTest("3 1 2\n", "1 2 3\n", True),
    StdioTest("\n", "\n"),
    StdioTest("5 -4\n", "-4 5\n"),
    StdioTest("7\n", "7\n"),
)
TASK = Task("", None, data=StdioSynthesis(PROGRAM, TESTS))


def tasks(count: int, **params: object) -> list[Task]:
    rng = np.random.default_rng(count)
    domains = ("numbers", "strings", "lists")
    given = [{"steps": 1 + i % 5, "domain": domains[i % 3], "examples": 1 + i % 3, **params} for i in range(count)]
    return [FAMILY.generate(rng, one) for one in given]


@pytest.mark.parametrize(
    "program",
    [
        "print(*sorted(map(int, input().split())))",
        "import sys\nfor v in sorted(int(v) for v in sys.stdin.read().split()):\n    print(v, end=' ')",
        "import sys\nsys.stdout.write(' '.join(map(str, sorted(map(int, sys.stdin.readline().split())))) + '\\n\\n')",
        "def main():\n    print(*sorted(map(int, input().split())))\nif __name__ == '__main__':\n    main()",
    ],
)
def test_right_programs_of_any_style_are_right(program: str):
    for answer in (program, fenced(program)):
        verdict = FAMILY.verify(TASK, answer)
        assert (verdict.success, verdict.reward) == (True, 1.0), verdict.feedback


@pytest.mark.parametrize(
    ("program", "score", "why"),
    [
        ("print(input())", 0.5, "With the input '3 1 2\\n' it printed '3 1 2\\n'; expected '1 2 3\\n'"),
        ("print(sorted(map(int, input().split())))", 0.0, "printed '[1, 2, 3]\\n'"),
        ("print(*sorted(input().split()), sep=', ')", 0.5, "printed '1, 2, 3\\n'"),
        ("print(*sorted(input().split()))\nraise SystemExit(1)", 0.0, "failed"),
        ("print('1 2 3')", 0.25, "A test that is not shown failed"),
        ("while True:\n    pass  # print", 0.0, "took more than"),
        ("import os\nos._exit(0)  # print", 0.25, "printed ''"),
    ],
)
def test_feedback_on_a_wrong_program_names_the_first_example_that_fails(program: str, score: float, why: str):
    def check(seconds: float) -> None:
        verdict = StdioProblem(seconds=seconds).verify(TASK, fenced(program))
        assert (verdict.success, verdict.reward, verdict.score, verdict.valid) == (False, 0.0, score, True)
        assert why in verdict.feedback
        assert "-4" not in verdict.feedback

    with_more_time(check, (0.5, 4.0, 20.0))


def test_graded_reward_is_the_share_of_the_tests():
    assert StdioProblem(graded=True).verify(TASK, "print(input())").reward == 0.5


@pytest.mark.parametrize("answer", ["42", "x = input()", ""])
def test_a_program_that_cannot_print_is_not_run(answer: str):
    verdict = StdioProblem(backend=NONE).verify(TASK, answer)
    assert (verdict.success, verdict.reward, verdict.malformed) == (False, 0.0, False)


def test_tests_are_the_values_as_lines():
    for task in tasks(60):
        program, tests = task.data
        for test in tests:
            lines = test.stdin.split("\n")
            assert lines.pop() == ""
            assert len(lines) == len(program.parameters)
            first = lines[0]
            values = {"int": int, "str": str, "list": lambda text: list(map(int, text.split()))}
            value = program.run((values[program.takes](first), *map(int, lines[1:]))).value
            printed = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            assert test.expected == printed + "\n"


def test_the_prompt_has_the_examples_asked_for_and_no_other_test():
    for examples in (1, 2, 3):
        for task in tasks(30, examples=examples):
            tests = task.data.tests
            assert [test.public for test in tests] == [True] * examples + [False] * (5 - examples)
            shown = task.prompt.partition("Examples:\n")[2]
            assert shown.count("Input:\n") == shown.count("Output:") == examples
            place = 0
            for test in tests[:examples]:
                place = shown.index(f"Input:\n{test.stdin}Output:\n{test.expected}".rstrip("\n"), place) + 1


def test_trivial_programs_are_never_right():
    for task in tasks(10, steps=1):
        for program in ("print(input())", "print()", f"print({task.data.tests[0].expected!r})"):
            assert not FAMILY.verify(task, program).success
