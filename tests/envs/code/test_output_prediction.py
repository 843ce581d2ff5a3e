"""Output prediction: the value asked for is the one that the program returns, in any spelling."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.output_prediction import FORMS, OutputPrediction, ProgramCall
from palaestra.envs.code.programs.block_runs import CallOutcome
from palaestra.envs.code.programs.grammar import Parameter, Program, format_call
from palaestra.envs.question import Task

FAMILY = OutputPrediction()


def task_of(value: object, gives: str) -> Task:
    program = Program(
        *("solve", "int", gives, (Parameter("n", "a number"),), ("Return it.",), (f"y = {value!r}", "return y")),
        *(("y",), (), ()),
    )
    return Task("", value, data=ProgramCall(program, (5,), CallOutcome(value, "")))


def tasks(count: int, **params: object) -> list[Task]:
    rng = np.random.default_rng(count)
    domains = ("numbers", "strings", "lists")
    return [FAMILY.generate(rng, {"steps": 1 + i % 6, "domain": domains[i % 3], **params}) for i in range(count)]


def test_the_value_is_what_the_program_shown_returns():
    for task in tasks(200):
        program, arguments, _ = task.data
        found: dict[str, object] = {}
        # The program is the project's own text.
        exec(program.source, found)
        value = found[program.name](*arguments)  # type: ignore[operator]
        assert value == task.reference
        assert f"```python\n{program.source}\n```\nWhat does {format_call(program, arguments)} return?" in task.prompt
        assert task.solution == repr(value)


def test_values_that_could_be_guessed_are_not_asked_for():
    for task in tasks(300):
        value = task.reference
        assert value not in task.data.arguments
        assert not task.data.program.ends_early(task.data.arguments)
        if isinstance(value, int):
            assert abs(value) > 20
            assert abs(value) not in (32, 64, 128, 256, 512)
        else:
            assert len(value) > 2


@pytest.mark.parametrize(
    ("value", "gives", "answer"),
    [
        *((-42, "int", text) for text in ("-42", " -42.", "`-42`", "$-42$", "\u221242", "solve(5) == -42", "**-42**")),
        *((-42, "int", text) for text in ("The answer is -42.", "Output: -42")),
        *(([1, -2, 3], "list", text) for text in ("[1, -2, 3]", "[1,-2,3]", "1, -2, 3", "(1, -2, 3)", "`[1, -2, 3]`")),
        *(([1, -2, 3], "list", text) for text in ("[1, -2, 3,]", "1 -2 3", "solve(5) = [1, -2, 3]", "$[1, -2, 3]$")),
        *(("a-*B", "str", text) for text in ("'a-*B'", '"a-*B"', "a-*B", "`a-*B`", "`'a-*B'`", "solve(5) == 'a-*B'")),
        *((" ab  ", "str", text) for text in ("' ab  '", '" ab  "', "`' ab  '`")),
        *(("*abc*", "str", text) for text in ("'*abc*'", "*abc*")),
        *((["a1", "B", "*c"], "words", text) for text in ("['a1', 'B', '*c']", '["a1","B","*c"]', "[a1, B, *c]")),
    ],
)
def test_a_value_is_right_in_any_spelling(value: object, gives: str, answer: str):
    assert FAMILY.verify(task_of(value, gives), answer).success


@pytest.mark.parametrize(
    ("value", "gives", "answer"),
    [
        *((-42, "int", text) for text in ("42", "-43", "0")),
        *(([1, -2, 3], "list", text) for text in ("[1, 2, 3]", "[1, -2]", "[3, -2, 1]", "[]", "1")),
        *((" ab  ", "str", text) for text in ("'ab'", "ab", "' ab'")),
        *((["a1", "B"], "words", text) for text in ("['a1', 'b']", "['a1B']", "[]")),
    ],
)
def test_other_values_are_wrong(value: object, gives: str, answer: str):
    verdict = FAMILY.verify(task_of(value, gives), answer)
    assert (verdict.success, verdict.malformed, verdict.reward) == (False, False, 0.0)
    assert "does not return" in verdict.feedback


@pytest.mark.parametrize(
    ("value", "gives", "answer"),
    [
        *((-42, "int", text) for text in ("", "x", "4 2", "-42 or 42", "1e3", "0x2a", "[-42]", "9" * 4000)),
        *(
            ([1, 2, 3], "list", text)
            for text in ("", "x", "[1, 2, 3", "[1, [2], 3]", "[1, 'a']", "[" * 4096, "1," * 2048)
        ),
        *(("abc", "str", text) for text in ("", "'ab", "['abc']", "a\nb", "\u00e9", "a" * 4000)),
        *((["a"], "words", text) for text in ("", "['a'", "['a' 'b']", "['a', ,]", "'" * 4096, "a," * 2048, "['\\n']")),
    ],
)
def test_what_is_no_value_of_the_type_is_malformed(value: object, gives: str, answer: str):
    verdict = FAMILY.verify(task_of(value, gives), answer)
    assert verdict.malformed
    assert FORMS[gives][1] in verdict.feedback


def test_the_steps_hold_what_the_variables_hold():
    for task in tasks(30):
        program, _, outcome = task.data
        steps = FAMILY.solution_steps(task)
        assert steps[-2] == f"{program.results[-1]} = {outcome.value!r}"
        assert len(steps) == 1 + sum(map(bool, program.results))


def test_the_example_of_the_prompt_is_never_the_value():
    for task in tasks(300):
        example = FORMS[task.data.program.gives][1]
        assert task.prompt.endswith(example)
        assert not FAMILY.verify(task, example).success


@pytest.mark.parametrize("domain", ["numbers", "strings", "lists"])
def test_no_one_value_is_right_often(domain: str):
    found = [repr(task.reference) for task in tasks(1200, domain=domain, steps=1)]
    assert max(map(found.count, set(found))) <= 0.025 * len(found)
