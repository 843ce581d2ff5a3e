"""`ProgramQuestion`: questions whose answer is a program, which tests judge in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from ....rewards import Verdict
from ....rewards.answers import MAX_PROGRAM, program_in
from ....rewards.verifiers.registry import rejected
from ...question import Question, Task
from ...sandbox import CallTest, Limits, StdioTest, run_tests
from ..programs.cases import Case
from ..programs.grammar import Program, shown

# What is shown of an answer's form; no task has a function of this name.
EXAMPLE = "```python\ndef twice(n):\n    return 2 * n\n```"


class ProgramQuestion(Question):
    """Base of the families whose answers are programs.

    A family implements ``generate`` and ``verify``, which ends in `judged`. The sandbox starts with the first answer.

    Args:
        graded: pay the share of the tests that pass; otherwise the reward is 1 for all of them and else 0.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        seconds: that a call, or a run, of the program may take.

    Raises:
        InputError: at the first answer, where this machine cannot provide the sandbox.
    """

    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    needs_sandbox: ClassVar[bool] = True
    supplies = frozenset({"tests"})

    def __init__(self, *, graded: bool = False, backend: str = "local", seconds: float = 2.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.graded, self.backend = graded, backend
        self.limits = Limits(seconds=seconds)

    def judged(self, code: str, tests: Sequence[CallTest | StdioTest]) -> Verdict:
        """The verdict of the tests on a program. Its score is the share that passes."""
        return run_tests(code, tests, limits=self.limits, backend=self.backend).verdict(self.graded)

    def judged_function(self, answer: str, name: str, tests: Sequence[CallTest | StdioTest]) -> Verdict:
        """The verdict on the program in ``answer``, which must have a function ``name``."""
        code = program_in(answer, name)
        if re.search(rf"\b{name}\b", code) is None:
            return rejected(f"The answer must be Python code that defines the function {name}.")
        return self.judged(code, tests)

    def solver_cost(self, episode: Task) -> float:
        """The length of the program meant."""
        return float(len(self.oracle(episode)))


def call_tests(program: Program, cases: Sequence[Case], public: int) -> tuple[CallTest, ...]:
    """A test for each case, the first ``public`` of which may be told."""
    return tuple(
        CallTest(program.name, one.arguments, one.value, public=place < public) for place, one in enumerate(cases)
    )


def examples(program: Program, cases: Sequence[Case]) -> str:
    """Cases as lines such as ``f([1, 2]) == 3``."""
    return "\n".join(f"{shown(program, one.arguments)} == {one.value!r}" for one in cases)
