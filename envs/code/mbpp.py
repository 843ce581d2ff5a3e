"""palaestra/MBPP-v0: short functions to write from one sentence, from any source in the layout of MBPP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import InputError
from ..registration import register
from .problems.problem import Problem, Test, select_tests
from .problems.problem_layouts import MBPP as LAYOUT
from .problems.problem_layouts import MOST_TESTS
from .problems.problem_set import DATA, ProblemSet


class MBPP(ProblemSet):
    """Write a short Python function of a data set in the layout of MBPP.

    Description:
        Problems come from ``source``; without one, from a small set written for this package. A record has a ``text``
        (or ``prompt``), the ``code`` of a solution, and a ``test_list`` of assertions, which are read as calls with
        expected values, so that the program never sees the expected values. Records with tests of another form are left
        out, with one warning that counts them.

    Parameters:
        length (0.0 to 1.0): draws from one half of the problems, 0 from the half with the least effort, 1 with the
            most. Effort: characters of the question, plus 10 for each statement or expression of the reference program.

    Observation:
        The task, the head of the function, one of the assertions as an example, and the form of the answer.

    Actions:
        Text with the whole function in a block of Python, of which the last counts; or bare code.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded`` the share that passes.

    Termination:
        After the first answer.

    Source:
        The layout: Austin et al., Program Synthesis with Large Language Models (arXiv 2108.07732), on the hub
        google-research-datasets/mbpp. The problems that come with the package are its own.

    Args:
        shown: the number of assertions that the prompt shows. The paper shows 3; where a record has no more, a program
            that only looks up their values passes.
        **kwargs: as for `ProblemSet`.
    """

    layout = LAYOUT
    built_in = str(DATA / "mbpp.jsonl")

    def __init__(self, *, shown: int = 1, **kwargs: Any):
        if isinstance(shown, bool) or not isinstance(shown, int) or not 0 <= shown <= MOST_TESTS:
            raise InputError(f"shown must be a whole number from 0 to {MOST_TESTS}, not {shown!r}.")
        self.shown = shown
        super().__init__(**kwargs)

    def ask(self, problem: Problem) -> str:
        lines = problem.examples[: self.shown]
        if not lines:
            return problem.question
        return "\n".join([f"{problem.question} For example:", "```python", *lines, "```"])

    def tests_of(self, problem: Problem) -> list[Test]:
        return select_tests(
            [replace(test, public=place < self.shown) for place, test in enumerate(problem.tests)], self.tests
        )


register("palaestra/MBPP-v0", f"{__name__}:MBPP")
