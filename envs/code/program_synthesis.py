"""palaestra/ProgramSynthesis-v0: write a function from its specification and some examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import CallTest
from .judging.milestones import count_reached
from .judging.program_question import EXAMPLE, ProgramQuestion, format_examples, make_call_tests
from .programs.cases import draw_cases
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, draw_program, number_sentences

TESTS = 6


class Synthesis(NamedTuple):
    """Data of a task: the reference program, and the tests, public ones first."""

    program: Program
    tests: tuple[CallTest, ...]


class ProgramSynthesis(ProgramQuestion):
    """Write a Python function from a specification in English and examples.

    Description:
        The function is a chain of steps (129 kinds, most with constants; some depend on a condition, some end the
        function early) on a number, a text or a list. Six tests, among them the examples, judge the function; a
        function that omits a part of the specification fails at least one.

    Parameters:
        steps (1 to 5, on request up to 12): number of steps, each a sentence of the specification.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        examples (4 to 2, harder downwards, on request 1 to 5): number of tests that the prompt shows.

    Observation:
        Text: the function's name and parameters, the specification, and examples such as ``f([1, 2]) == 3``.

    Actions:
        Text with the whole function, in a fenced block of Python or alone; the last block counts. The whole reply is
        read, unless ``answer_format`` says otherwise.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded=True`` the share of the tests that pass, which is also
        ``info["progress"]``. No value is right in more than a third of the tests.

    Termination:
        After the first answer.

    Source:
        The form is that of HumanEval (Chen et al., arXiv 2107.03374); the programs are drawn from a grammar, so that
        their number is unlimited and no training set contains them.

    Args:
        milestones: True to run each answer once more under a tracer that counts, for the reward "milestones", the
            intermediate results of the specification that the answer computes.
        **kwargs: as for `ProgramQuestion`.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 5, limits=(1, 12)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            IntAxis("examples", 2, 4, harder="down", limits=(1, 5)),
        ]
    )

    def __init__(self, *, milestones: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        if milestones:
            self.supplies = self.supplies | {"milestones"}

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, public = Dice(rng), params["examples"]
        program, cases = None, None
        while program is None or cases is None:
            program = draw_program(dice, params["domain"], params["steps"])
            cases = draw_cases(dice, program, TESTS)
        again = "" if params["steps"] == 1 else ", in this order, each to what the step before left"
        return Task(
            f"Write a Python function {program.signature}. Here {program.describe_arguments()} "
            f"It does this to {program.parameters[0].name}{again}, and returns the result:\n"
            f"{number_sentences(program)}\nExamples:\n{format_examples(program, cases[:public])}\n"
            f"Answer with the whole function in a block of Python code, such as\n{EXAMPLE}",
            program.source,
            solution=fenced(program.source),
            content="\n".join(program.specification),
            data=Synthesis(program, make_call_tests(program, cases, public)),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        program, tests = task.data
        verdict = self.judge_function(answer, program.name, tests)
        if "milestones" not in self.supplies or not verdict.valid or verdict.malformed:
            return verdict
        found = count_reached(program_in(answer, program.name), program, tests, self.limits, self.backend)
        if found is None:
            return replace(verdict, success=False, valid=False)
        return replace(verdict, extras={**verdict.extras, "milestones": found})

    def criteria(self, task: Task) -> list[str]:
        program = task.data.program
        return [
            f"It defines the function {program.signature}.",
            *(f"It does this: {sentence}" for sentence in program.specification),
            "It returns what the examples show.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the sentences of the specification, each with its variable, and the program."""
        return [*task.data.program.plan(), self.oracle(task)]


register("palaestra/ProgramSynthesis-v0", f"{__name__}:ProgramSynthesis")
