"""Input prediction: whatever leads to the value is right, and it is seldom met by chance."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.input_prediction import InputPrediction
from palaestra.envs.code.output_prediction import ProgramCall
from palaestra.envs.code.programs.block_runs import CallOutcome
from palaestra.envs.code.programs.cases import draw_arguments
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import Parameter, Program, format_call
from palaestra.envs.question import Task

FAMILY = InputPrediction()
NUMBERS = Parameter("numbers", "a list")
# The sum of the numbers above k.
TASK = Task(
    "",
    9,
    data=ProgramCall(
        Program(
            *("solve", "list", "int", (NUMBERS, Parameter("k", "a number", range(2, 5))), ("Take the sum.",)),
            *(("total = sum((v for v in numbers if 12 // k > 0 and v > k))", "return total"), ("total",), (), ()),
        ),
        ([4, 5, 1], 3),
        CallOutcome(9, ""),
    ),
)


def tasks(count: int, seed: int = 0) -> list[Task]:
    rng = np.random.default_rng(seed)
    domains = ("numbers", "strings", "lists")
    return [FAMILY.generate(rng, {"steps": 1 + i % 5, "domain": domains[i % 3]}) for i in range(count)]


@pytest.mark.parametrize(
    "answer",
    [
        *("solve([4, 5, 1], 3)", "[4, 5, 1], 3", "([4, 5, 1], 3)", "`solve([4, 5, 1], 3)`", "solve([9], 2)", "[9],2"),
        *("solve(numbers=[4, 5], k=3)", "numbers = [4, 5], k = 3", "solve([4, 9, 0], 4)"),
        *("The answer is solve([9], 2).", "$[9], 2$", "**solve([9], 2)**", "solve ([9], 2)"),
    ],
)
def test_any_arguments_that_lead_to_the_value_are_right(answer: str):
    assert FAMILY.verify(TASK, answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("solve([4, 5, 1], 4)", "something else"),
        ("solve([], 4)", "something else"),
        ("solve([9], 0)", "ZeroDivisionError"),
    ],
)
def test_other_arguments_are_wrong(answer: str, why: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.malformed, verdict.reward) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer",
    [
        *("", "9", "[4, 5, 1]", "solve()", "solve([4, 5, 1])", "solve([4, 5, 1], 3, 1)", "solve(3, [4, 5, 1])", "x"),
        *("solve([4] * 2, 3)", "solve(list(range(9)), 3)", "solve([4, 5, 1], 3", "[" * 4096, "," * 4096, "'" * 4096),
        *("(" * 2048 + ")" * 2048, "solve(" * 600, "[1],2" * 800, "solve([" + "1," * 51 + "1], 3)", " " * 4096),
        *("solve([9.0], 2)", "solve('9', 2)", "solve([9], 2); import os", "k=2, numbers=[9]"),
    ],
)
def test_what_is_no_call_is_malformed(answer: str):
    assert FAMILY.verify(TASK, answer).malformed


def test_a_program_that_loops_for_ever_on_an_argument_is_ended():
    program = TASK.data.program._replace(blocks=("while k != 0:\n    k -= 1", "return 9"))
    task = Task("", 9, data=TASK.data._replace(program=program))
    assert FAMILY.verify(task, "solve([], 2)").success
    assert "endless" in FAMILY.verify(task, "solve([], -1)").feedback


def test_the_solution_leads_to_the_value_and_what_comes_to_mind_first_does_not():
    for task in tasks(200):
        program, arguments, outcome = task.data
        assert program.run(arguments).value == outcome.value == task.reference
        assert f"for which it returns {outcome.value!r}." in task.prompt
        assert not program.ends_early(arguments)
        firsts = {"int": [0, 1, 2, 10], "list": [[], [0], [1, 2, 3]], "str": ["", "a", "hello"]}[program.takes]
        for first in [*firsts, outcome.value]:
            assert program.run((first, *arguments[1:])).value != outcome.value
        example = task.prompt.rpartition("such as ")[2]
        assert example.startswith(f"{program.name}(")
        verdict = FAMILY.verify(task, example)
        assert not verdict.malformed
        assert not verdict.success


def test_random_arguments_are_seldom_right():
    dice, right = Dice(np.random.default_rng(9)), 0
    easy = [FAMILY.generate(np.random.default_rng(i), {"steps": 1, "domain": "numbers"}) for i in range(100)]
    for task in easy:
        for _ in range(30):
            right += FAMILY.verify(
                task, format_call(task.data.program, draw_arguments(dice, task.data.program))
            ).success
    assert right <= 0.02 * 3000


def test_the_steps_hold_what_the_variables_hold():
    for task in tasks(30, 2):
        program, arguments, outcome = task.data
        steps = FAMILY.solution_steps(task)
        assert steps[0].startswith(f"Try {program.parameters[0].name} = {arguments[0]!r}")
        assert steps[-2] == f"{program.results[-1]} = {outcome.value!r}"
