"""palaestra/ProgramRepair-v0: find and mend the bug in a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import CallTest
from .cases import Case, differs, draw_cases
from .dice import Dice
from .fences import fenced
from .mutations import mutant, sites
from .program_question import EXAMPLE, ProgramQuestion, call_tests, examples
from .program_synthesis import TESTS
from .programs import DOMAINS, Program, draw_program, numbered, shown, written


class Repair(NamedTuple):
    """The program meant, its body with the bug, the kind of the bug, and the tests, the public ones first."""

    program: Program
    body: tuple[str, ...]
    kind: str
    tests: tuple[CallTest, ...]


class ProgramRepair(ProgramQuestion):
    """Mend a Python function that has one bug.

    Description:
        The function is one of `ProgramSynthesis`, with a bug of one of 21 kinds (a comparison at its boundary, a wrong
        operator, swapped arguments, a missing statement, a loop left early, ...) in one place. The specification tells
        what it should do. At least one of the examples shows the bug.

    Parameters:
        steps (1 to 5): sentences of the specification.
        domain ("numbers", "strings", "lists"): what the function takes.
        examples (4 to 2, harder downwards): tests that the prompt shows.

    Observation:
        Text: the specification, the function with the bug, and examples of what it should return.

    Actions:
        Text with the whole function mended, in a fenced block of Python or alone; the last block counts. Read whole,
        unless ``answer_format`` says otherwise.

    Reward:
        1 if all six tests pass, 0 otherwise; with ``graded=True`` the share of the tests that pass, which is also
        ``info["progress"]``; then the function as it is given earns what it passes.

    Termination:
        After the first answer.

    Source:
        Program repair from mutants as in mutation testing (DeMillo, Lipton & Sayward, "Hints on test data selection",
        Computer 11(4), 1978), whose mutation operators are the kinds of bugs.
    """

    param_space = ParamSpace(
        [IntAxis("steps", 1, 5), ChoiceAxis("domain", tuple(DOMAINS)), IntAxis("examples", 2, 4, harder="down")]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, public = Dice(rng), params["examples"]
        drawn = None
        while drawn is None:
            drawn = _draw(dice, params["domain"], params["steps"])
        program, cases, body, kind = drawn
        buggy = written(program, body)
        return Task(
            f"This Python function has one bug:\n```python\n{buggy}\n```\nHere {program.described()} The function "
            f"should do this, in order, and return the result:\n{numbered(program)}\n"
            f"It should be so that:\n{examples(program, cases[:public])}\n"
            f"Answer with the whole function, mended, in a block of Python code, such as\n{EXAMPLE}",
            program.source,
            solution=fenced(program.source),
            content=f"{buggy}\n{numbered(program)}",
            split_key="\n".join(program.specification),
            data=Repair(program, body, kind, call_tests(program, cases, public)),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        return self.judged_function(answer, task.data.program.name, task.data.tests)

    def solution_steps(self, task: Task) -> list[str]:
        """An example that shows the bug, and what is wrong."""
        program, body, kind, tests = task.data
        shows = next(test for test in tests if differs(program, body, Case(tuple(test.arguments), test.expected)))
        outcome = program.run(tuple(shows.arguments), body)
        does = f"fails ({outcome.error})" if outcome.error else f"is {outcome.value!r}"
        place = next(i for i, block in enumerate(body) if block != program.blocks[i])
        return [
            f"{shown(program, tuple(shows.arguments))} {does}, but should be {shows.expected!r}.",
            f"Wrong is this part: {program.specification[place]}",
            f"The bug: {kind}.",
            self.oracle(task),
        ]


def _draw(dice: Dice, domain: str, steps: int) -> tuple[Program, list[Case], tuple[str, ...], str] | None:
    """A program, its cases, a body with a bug that the first case shows, and the bug's kind."""
    program = draw_program(dice, domain, steps)
    place = dice.below(len(program.blocks) - 1)
    found = sites(program.blocks[place])
    if not found:
        return None
    # Kinds that fit in many places are not to crowd out the others.
    kind = dice.one(list(dict.fromkeys(site.kind for site in found)))
    code = mutant(program.blocks[place], dice.one([site for site in found if site.kind == kind]))
    if code == program.blocks[place]:
        return None
    body = (*program.blocks[:place], code, *program.blocks[place + 1 :])
    cases = draw_cases(dice, program, TESTS, more=(body,))
    if cases is None:
        return None
    telling = next(i for i, one in enumerate(cases) if differs(program, body, one))
    return program, [cases[telling], *cases[:telling], *cases[telling + 1 :]], body, kind


register("palaestra/ProgramRepair-v0", f"{__name__}:ProgramRepair")
