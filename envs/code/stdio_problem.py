"""palaestra/StdioProblem-v0: write a program that reads its input and prints its result."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import StdioTest
from .judging.program_question import ProgramQuestion
from .programs.cases import draw_cases
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, draw_program, number_sentences
from .programs.steps import INTEGER, LIST, TEXT, WORDS

TESTS = 5
_READERS = {
    INTEGER: ("a line with a whole number", "int(input())"),
    TEXT: ("a line of letters, digits and single spaces, possibly empty", "input()"),
    LIST: ("a line with whole numbers separated by spaces, possibly empty", "[int(v) for v in input().split()]"),
}
_PRINT_FORMS = {
    INTEGER: "",
    TEXT: " without quotation marks",
    LIST: " with its numbers on one line, separated by spaces",
    WORDS: " with its words on one line, separated by spaces",
}
_EXAMPLE = "```python\nn = int(input())\nprint(2 * n)\n```"
_PRINTS = re.compile(r"print|write|stdout")


class StdioSynthesis(NamedTuple):
    """Data of a task: the reference program, as a function, and the tests, public ones first."""

    program: Program
    tests: tuple[StdioTest, ...]


class StdioProblem(ProgramQuestion):
    """Write a Python program that reads standard input and prints its result.

    Description:
        Problems are drawn as in `ProgramSynthesis`; each argument and the value is a line of text. Five tests, among
        them the examples, judge the program; a program that omits a part of the specification fails at least one. White
        space at the ends of lines does not count.

    Parameters:
        steps (1 to 5, on request up to 12): number of sentences of the specification.
        domain ("numbers", "strings", "lists"): the type of the first line.
        examples (3 to 1, harder downwards, on request up to 4): number of tests that the prompt shows.

    Observation:
        Text: the format of the input, the specification, and examples of input and output.

    Actions:
        Text with the program, in a fenced block of Python or alone; the last block counts. The whole reply is read,
        unless ``answer_format`` says otherwise.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded=True`` the share of the tests that pass, which is also
        ``info["progress"]``.

    Termination:
        After the first answer.

    Source:
        The form is that of APPS (Hendrycks et al., arXiv 2105.09938) and of programming contests.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 5, limits=(1, 12)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            IntAxis("examples", 1, 3, harder="down", limits=(1, 4)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, public = Dice(rng), params["examples"]
        program, cases = None, None
        while program is None or cases is None:
            program = draw_program(dice, params["domain"], params["steps"])
            cases = draw_cases(dice, program, TESTS)
        first, *others = program.parameters
        holds = f"{_READERS[program.takes][0]}, called {first.name}"
        holds += "".join(f", and a line with {other.words}, called {other.name}" for other in others)
        tests = tuple(
            StdioTest("".join(map(_write_line, case.arguments)), _write_line(case.value), place < public)
            for place, case in enumerate(cases)
        )
        readers = [_READERS[program.takes][1], "int(input())"]
        lines = [f"{one.name} = {reader}" for one, reader in zip(program.parameters, readers)]
        star = "*" if program.gives in (LIST, WORDS) else ""
        script = "\n".join([program.source, "", *lines, f"print({star}{program.signature})"])
        shown = "\n".join(f"Input:\n{test.stdin}Output:\n{test.expected}".rstrip("\n") for test in tests[:public])
        again = "" if params["steps"] == 1 else ", in this order, each to what the step before left"
        return Task(
            f"Write a Python program. Standard input has {holds}. Do this to {first.name}{again}:\n"
            f"{number_sentences(program)}\nPrint the result{_PRINT_FORMS[program.gives]}. Examples:\n{shown}\n"
            f"Answer with the program in a block of Python code, such as\n{_EXAMPLE}",
            None,
            solution=fenced(script),
            content="\n".join(program.specification),
            data=StdioSynthesis(program, tests),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        code = program_in(answer)
        if _PRINTS.search(code) is None:
            return Verdict(0.0, False, feedback="The program never prints anything.")
        return self.judge_program(code, task.data.tests)

    def criteria(self, task: Task) -> list[str]:
        return [
            "It reads all of its standard input.",
            *(f"It does this: {sentence}" for sentence in task.data.program.specification),
            "It prints what the examples show, and nothing else.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the sentences of the specification, each with its variable, and the program."""
        return [*task.data.program.plan(), self.oracle(task)]


def _write_line(value: Any) -> str:
    return (" ".join(map(str, value)) if isinstance(value, list) else str(value)) + "\n"


register("palaestra/StdioProblem-v0", f"{__name__}:StdioProblem")
