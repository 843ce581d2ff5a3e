"""palaestra/ProgramRepair-v0: find and fix the bug in a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import CallTest
from .judging.program_question import EXAMPLE, ProgramQuestion, format_examples, make_call_tests
from .program_synthesis import TESTS
from .programs.bugs import draw_buggy
from .programs.cases import ProgramCase, fails_case
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, format_call, number_sentences, write_source


class Repair(NamedTuple):
    """Data of a task: the correct program, its body with the bug, the bug's kind, and the tests, public ones first."""

    program: Program
    body: tuple[str, ...]
    kind: str
    tests: tuple[CallTest, ...]


class ProgramRepair(ProgramQuestion):
    """Mend a Python function that has one bug.

    Description:
        The function is drawn as in `ProgramSynthesis`, with a bug of one of 21 kinds (a comparison at its boundary, a
        wrong operator, swapped arguments, a missing statement, a loop left early, ...) in one place. The specification
        says what the function should do. The function fails at least one of the examples.

    Parameters:
        steps (1 to 5, on request up to 12): number of sentences of the specification.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        examples (4 to 2, harder downwards, on request 1 to 5): number of tests that the prompt shows.

    Observation:
        Text: the specification, the function with the bug, and examples of what it should return.

    Actions:
        Text with the whole function mended, in a fenced block of Python or alone; the last block counts. The whole
        reply is read, unless ``answer_format`` says otherwise.

    Reward:
        1 if all six tests pass, 0 otherwise; with ``graded=True`` the share of the tests that pass, which is also
        ``info["progress"]``. With ``graded=True``, the unchanged function earns the share of the tests that it passes.

    Termination:
        After the first answer.

    Source:
        Program repair from mutants as in mutation testing (DeMillo, Lipton & Sayward, "Hints on test data selection",
        Computer 11(4), 1978), whose mutation operators are the kinds of bugs.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 5, limits=(1, 12)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            IntAxis("examples", 2, 4, harder="down", limits=(1, 5)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        public = params["examples"]
        drawn = draw_buggy(Dice(rng), params["domain"], params["steps"], TESTS)
        program, cases, body = drawn.program, drawn.cases, drawn.body
        buggy = write_source(program, body)
        return Task(
            f"This Python function has one bug:\n```python\n{buggy}\n```\nHere {program.describe_arguments()} "
            f"The function should do this, in order, and return the result:\n{number_sentences(program)}\n"
            f"It should be so that:\n{format_examples(program, cases[:public])}\n"
            f"Answer with the whole function, mended, in a block of Python code, such as\n{EXAMPLE}",
            program.source,
            solution=fenced(program.source),
            content=f"{buggy}\n{number_sentences(program)}",
            split_key="\n".join(program.specification),
            data=Repair(program, body, drawn.bugs[0].kind, make_call_tests(program, cases, public)),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        return self.judge_function(answer, task.data.program.name, task.data.tests)

    def criteria(self, task: Task) -> list[str]:
        program = task.data.program
        return [
            f"It defines the function {program.signature}.",
            *(f"It does this: {sentence}" for sentence in program.specification),
            "It returns what the examples show.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """Return an example that shows the bug, the violated sentence, the kind of the bug, and the program."""
        program, body, kind, tests = task.data
        shows = next(
            test for test in tests if fails_case(program, body, ProgramCase(tuple(test.arguments), test.expected))
        )
        outcome = program.run(tuple(shows.arguments), body)
        does = f"fails ({outcome.error})" if outcome.error else f"is {outcome.value!r}"
        place = next(i for i, block in enumerate(body) if block != program.blocks[i])
        return [
            f"{format_call(program, tuple(shows.arguments))} {does}, but should be {shows.expected!r}.",
            f"Wrong is this part: {program.specification[place]}",
            f"The bug: {kind}.",
            self.oracle(task),
        ]


register("palaestra/ProgramRepair-v0", f"{__name__}:ProgramRepair")
