"""`ProblemSet`: the base of families over the records of a data set of programs.

gym.make("palaestra/HumanEval-v0", source="HumanEval.jsonl.gz", split="all", tests=64)
gym.make("palaestra/APPS-v0", source="codeparrot/apps", part="train", difficulty=0.2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ....errors import InputError
from ....rewards import Verdict
from ....rewards.answers import MAX_PROGRAM, fenced, program_in
from ....rewards.verifiers.registry import rejected
from ...axes import Axis, FloatAxis, IntAxis
from ...datasets.collection import Collection
from ...datasets.layouts import Item
from ...datasets.questions import DatasetQuestion
from ...question import Task
from ...sandbox import Limits, check_backend, run_tests
from ..judging.expectations import meets_expectation
from .problem import Problem, Test, select_tests
from .problem_layouts import MOST_TESTS

DATA = Path(__file__).parent.parent / "data"
# Forms of answers, with words for the prompt and an example.
_FUNCTION = "the whole function", "def double(number):\n    return 2 * number"
_CLASS = "the whole class", "class Solution:\n    def double(self, number):\n        return 2 * number"
_PROGRAM = "a program that reads its standard input and prints the output", "print(2 * int(input()))"


class ProblemSet(DatasetQuestion):
    """Base of families whose questions are programs to write, from the records of a data set.

    A subclass sets ``layout``, ``built_in`` and perhaps ``rung_axis``, and may implement `ask`.

    Args:
        tests: maximum number of a record's tests that are run: the public ones, and hidden ones spread over the rest.
        graded: True to reward the share of passed tests; otherwise 1 if all pass, else 0.
        seconds: the time limit of each call of the program, or of each run if tests use standard input.
        memory_mb: the memory that the program may use, MiB.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        preload: modules that are in memory before a program starts, such as ("numpy",); see `sandbox.Job`.
        packages: a folder of further packages that programs may import; see `sandbox.Job`.
        **kwargs: as for `DatasetQuestion`.

    Raises:
        InputError: as `DatasetQuestion`.
        MachineryError: this machine cannot provide the sandbox.
        MissingExtra: the package of the backend 'docker' is not installed.
    """

    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    needs_sandbox: ClassVar[bool] = True
    supplies = frozenset({"tests", "test_report"})

    def __init__(
        self,
        *,
        tests: int = 8,
        graded: bool = False,
        seconds: float = 2.0,
        memory_mb: float = 256.0,
        backend: str = "local",
        preload: Sequence[str] = (),
        packages: str = "",
        **kwargs: Any,
    ):
        if isinstance(tests, bool) or not isinstance(tests, int) or not 1 <= tests <= MOST_TESTS:
            raise InputError(f"tests must be a whole number from 1 to {MOST_TESTS}, not {tests!r}.")
        self.tests, self.graded, self.backend = tests, graded, backend
        check_backend(backend, packages)
        self.limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self.preload, self.packages = tuple(preload), packages
        super().__init__(**kwargs)

    def axes_of(self, collection: Collection) -> list[Axis]:
        length = FloatAxis("length", 0.0, 1.0)
        return [IntAxis(self.rung_axis, *collection.rungs), length] if self.rung_axis else [length]

    def ask(self, problem: Problem) -> str:
        """Return the prompt, without the sentence about the form of the answer."""
        return problem.question

    def tests_of(self, problem: Problem) -> list[Test]:
        """Select the tests that judge an answer."""
        return select_tests(problem.tests, self.tests)

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        problem = _require_problem(item)
        what, example = _PROGRAM
        if problem.function:
            what, example = _CLASS if "class Solution" in problem.question else _FUNCTION
        form = f"Answer with {what} in a block of Python, such as\n{fenced(example)}"
        return Task(f"{self.ask(problem)}\n{form}", problem.function or "standard input", data=problem)

    def verify(self, task: Task, answer: str) -> Verdict:
        problem = _require_problem(task.data)
        program = program_in(answer, problem.function)
        if problem.function:
            # A body alone continues the prompt's code; it must contain return or yield.
            is_body = problem.stub and any(word in program for word in ("return", "yield"))
            if not is_body and not problem.mentions_function(program):
                return rejected(f"The answer must be Python code that defines {problem.function}.")
        elif "print" not in program and "write" not in program:
            return rejected("The answer must be a Python program that prints what is asked for.")
        judgement = run_tests(
            *(problem.assemble(program), self.tests_of(problem), meets_expectation, self.limits),
            backend=self.backend,
            preload=self.preload,
            packages=self.packages,
        )
        verdict = judgement.verdict(self.graded)
        extras = dict(verdict.extras)
        if "test_report" in extras:
            extras["test_report"] = problem.rename_in_feedback(extras["test_report"])
        return replace(verdict, feedback=problem.rename_in_feedback(verdict.feedback), extras=extras)

    def oracle(self, task: Task) -> str:
        if not task.data.answer:
            raise InputError(f"this {self.layout.name} record has no program that solves it; use one that has.")
        return fenced(task.data.answer)

    def criteria(self, task: Task) -> list[str]:
        problem = _require_problem(task.data)
        form = (
            f"It defines {problem.function}."
            if problem.function
            else "It reads its standard input and prints the result."
        )
        return [
            form,
            "It gives what the examples in the question show.",
            f"Every call, or run, takes at most {self.limits.seconds:g} s and {self.limits.memory_mb:g} MiB.",
            "It is right for the smallest and for unusual inputs too.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the lines of the reference program except the last, then the whole program."""
        problem = _require_problem(task.data)
        program = self.oracle(task)
        return [*problem.outline, program]

    def compute_extra(self, subject: Task, name: str) -> Any:
        # Records without a reference program are used as well.
        known = subject.data.answer or name not in ("reference", "solution_steps", "rubric")
        return super().compute_extra(subject, name) if known else None

    def random_action(self, episode: Task, rng: np.random.Generator) -> str | None:
        """Return the reference program of another problem of the source, or None if there is none."""
        try:
            return super().random_action(episode, rng)
        except InputError:
            return None

    def solver_cost(self, episode: Task) -> float:
        """Return `Problem.effort`, by which the problems of a source are ordered."""
        return episode.data.effort


def _require_problem(item: Any) -> Problem:
    assert isinstance(item, Problem)
    return item
