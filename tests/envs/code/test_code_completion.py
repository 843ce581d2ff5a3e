"""Code completion: whatever makes the function right fills the gap."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from palaestra.envs.code.code_completion import GAP, CodeCompletion, Infilling, fill_gap
from palaestra.envs.code.judging.program_question import make_call_tests
from palaestra.envs.code.programs.cases import ProgramCase, fails_case
from palaestra.envs.code.programs.grammar import Parameter, Program, format_call
from palaestra.envs.question import Task
from palaestra.errors import InputError
from palaestra.rewards.answers import fenced

from .sandboxed import HOSTILE, NONE

FAMILY = CodeCompletion()
PROGRAM = Program(
    *("rise", "list", "int", (Parameter("numbers", "a list"),), ("Take twice the sum of the even ones.",)),
    *(("total = 0\nfor v in numbers:\n    if v % 2 == 0:\n        total += 2 * v", "return total"), ("total",), (), ()),
)
TESTS = make_call_tests(
    PROGRAM,
    [ProgramCase(([3, 4, 2],), 12), ProgramCase(([],), 0), ProgramCase(([8, 6],), 28), ProgramCase(([-2, 5],), -4)],
    2,
)


def gap(masked: str, missing: str) -> Task:
    before, _, after = PROGRAM.source.partition(missing)
    return Task("", None, data=Infilling(PROGRAM, before, after, missing, masked, TESTS))


CONDITION = gap("expression", "v % 2 == 0")
FACTOR = gap("expression", "2 * v")
LINE = gap("line", "total += 2 * v")


def tasks(count: int, masked: str, seed: int = 0) -> list[Task]:
    rng = np.random.default_rng(seed)
    domains = ("numbers", "strings", "lists")
    return [
        FAMILY.generate(rng, {"steps": 1 + i % 5, "domain": domains[i % 3], "masked": masked}) for i in range(count)
    ]


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        *(
            (CONDITION, text)
            for text in ("v % 2 == 0", "not v & 1", "`v % 2 == 0`", "v % 2 < 1  # even", fenced("v%2==0"))
        ),
        (CONDITION, fenced(PROGRAM.source)),
        *((FACTOR, text) for text in ("v + v", "v * 2", "(v * 2)", "sum(\n    [v, v]\n)")),
        *(
            (LINE, text)
            for text in ("total += 2 * v", "total = total + v\ntotal += v", "    total += v\n    total += v")
        ),
        (LINE, fenced("        for _ in range(2):\n            total += v")),
        (LINE, fenced(PROGRAM.source.replace("2 * v", "v + v"))),
    ],
)
def test_what_makes_the_function_right_is_right(task: Task, answer: str):
    verdict = FAMILY.verify(task, answer)
    assert (verdict.success, verdict.reward) == (True, 1.0), verdict.feedback


@pytest.mark.parametrize(
    ("task", "answer", "why"),
    [
        (CONDITION, "v % 2 == 1", "rise([3, 4, 2]) returned 6; expected 12"),
        (CONDITION, "v % 2 ==", "failed: "),
        (FACTOR, "v", "rise([3, 4, 2]) returned 6; expected 12"),
        (LINE, "pass", "rise([3, 4, 2]) returned 0; expected 12"),
    ],
)
def test_feedback_on_a_wrong_completion_names_the_first_example_that_fails(task: Task, answer: str, why: str):
    verdict = FAMILY.verify(task, answer)
    assert (verdict.success, verdict.reward, verdict.malformed, verdict.valid) == (False, 0.0, False, True)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer",
    [
        "",
        GAP,
        "```python\n```",
        "def rise(numbers):\n    return 2 * sum(v for v in numbers if v % 2 == 0)",
        f"x + {GAP}",
    ],
)
def test_what_is_no_completion_is_malformed_without_a_run(answer: str):
    assert CodeCompletion(backend=NONE).verify(CONDITION, answer).malformed


@pytest.mark.parametrize("answer", ["v", "42", "unknown"])
def test_a_wrong_word_is_refused_without_a_run_with_the_same_verdict(answer: str):
    without = CodeCompletion(backend=NONE).verify(FACTOR, answer)
    assert (without.success, without.reward, without.malformed, without.valid) == (False, 0.0, False, True)
    assert len(without.extras["tests"]) == len(FACTOR.data.tests)
    with pytest.raises(InputError, match="none"):
        CodeCompletion(backend=NONE).verify(FACTOR, f"{answer} + 0")


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"does not parse"}))
def test_hostile_completions_get_no_reward_and_are_valid(name: str):
    verdict = CodeCompletion(seconds=0.3).verify(LINE, "pass\n" + HOSTILE[name].format(name="rise2") + "\nrise2()")
    assert (verdict.reward, verdict.success, verdict.valid) == (0.0, False, True)


@pytest.mark.parametrize("masked", ["expression", "line", "step"])
def test_what_is_missing_completes_the_program_and_is_not_in_the_prompt(masked: str):
    for task in tasks(60, masked):
        found = task.data
        assert (
            found.before + found.missing.replace("\n", "\n" + indent(found.before)) + found.after
            == found.program.source
        )
        assert f"```python\n{found.before}{GAP}{found.after}\n```" in task.prompt
        assert task.prompt.count(GAP) == 2
        for test in found.tests[2:]:
            assert f"{format_call(found.program, tuple(test.arguments))} ==" not in task.prompt
        if masked == "step":
            assert found.missing in found.program.blocks


def indent(before: str) -> str:
    last = before[before.rfind("\n") + 1 :]
    return last[: len(last) - len(last.lstrip())]


def test_statements_are_indented_as_the_gap_is():
    assert fill_gap("if a:\n    ", "x = 1\nfor v in x:\n    y = 2", "\nz = 3", "line") == (
        "if a:\n    x = 1\n    for v in x:\n        y = 2\nz = 3"
    )
    assert fill_gap("x = ", "1  # one", " + 2", "expression") == "x = (1  # one\n) + 2"


@pytest.mark.parametrize("masked", ["expression", "line"])
def test_constants_and_variables_never_fill_a_gap(masked: str):
    for task in tasks(120, masked, 3):
        found, name = task.data, task.data.program.name
        guesses = ["0", "1", "10", "[]", "v", found.program.parameters[0].name] if masked == "expression" else ["pass"]
        for guess in guesses:
            tree = ast.parse(fill_gap(found.before, guess, found.after, masked))
            body = tuple(map(ast.unparse, tree.body[0].body))  # type: ignore[attr-defined]
            wrong = [
                fails_case(found.program, body, ProgramCase(tuple(test.arguments), test.expected))
                for test in found.tests
            ]
            assert any(wrong), (name, guess, task.prompt)
            errors = {found.program.run(tuple(test.arguments), body).error for test in found.tests}
            assert "endless" not in errors, (name, guess, task.prompt)


@pytest.mark.parametrize("masked", ["expression", "line", "step"])
def test_the_steps_of_a_solution_name_the_sentence_whose_code_is_missing(masked: str):
    for task in tasks(10, masked):
        program = task.data.program
        *plan, last, answer = CodeCompletion().solution_steps(task)
        assert (plan, answer) == (program.plan(), task.solution)
        number = int(last.removeprefix("The gap is in the code of step ").rstrip("."))
        assert any(line.strip() in program.blocks[number - 1] for line in task.data.missing.split("\n"))
