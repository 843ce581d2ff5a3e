"""`ProgramQuestion`: the base of questions whose answer is a program, judged by tests in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from ....rewards import Verdict
from ....rewards.answers import MAX_PROGRAM, program_in
from ....rewards.verifiers.registry import rejected
from ...question import Question, Task
from ...sandbox import CallTest, Limits, StdioTest, check_backend, run_tests
from ..programs.cases import ProgramCase
from ..programs.grammar import Program, format_call

# The example of an answer's form in prompts; no task has a function of this name.
EXAMPLE = "```python\ndef twice(n):\n    return 2 * n\n```"


class ProgramQuestion(Question):
    """Base of the families whose answers are programs.

    A family implements ``generate``, and ``verify``, which ends in `judge_program`.

    Args:
        graded: True to reward the share of passed tests; otherwise 1 if all pass, else 0.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        seconds: the time limit of each call of the program, or of each run if tests use standard input.

    Raises:
        MachineryError: this machine cannot provide the sandbox.
        MissingExtra: the package of the backend 'docker' is not installed.
    """

    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    needs_sandbox: ClassVar[bool] = True
    supplies = frozenset({"tests", "test_report"})

    def __init__(self, *, graded: bool = False, backend: str = "local", seconds: float = 2.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.graded, self.backend = graded, backend
        check_backend(backend)
        self.limits = Limits(seconds=seconds)

    def judge_program(self, code: str, tests: Sequence[CallTest | StdioTest]) -> Verdict:
        """Run the tests on a program and return the verdict, whose score is the share of passed tests."""
        return run_tests(code, tests, limits=self.limits, backend=self.backend).verdict(self.graded)

    def judge_function(self, answer: str, name: str, tests: Sequence[CallTest | StdioTest]) -> Verdict:
        """Run the tests on the program in ``answer``, which must contain the name of the function."""
        code = program_in(answer, name)
        if re.search(rf"\b{name}\b", code) is None:
            return rejected(f"The answer must be Python code that defines the function {name}.")
        return self.judge_program(code, tests)

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the reference program, in characters."""
        return float(len(self.oracle(episode)))


def make_call_tests(program: Program, cases: Sequence[ProgramCase], public: int) -> tuple[CallTest, ...]:
    """Make a test for each case. The first ``public`` tests may be shown to the agent."""
    return tuple(
        CallTest(program.name, one.arguments, one.value, public=place < public) for place, one in enumerate(cases)
    )


def format_examples(program: Program, cases: Sequence[ProgramCase]) -> str:
    """Write cases as lines such as ``f([1, 2]) == 3``."""
    return "\n".join(f"{format_call(program, one.arguments)} == {one.value!r}" for one in cases)
