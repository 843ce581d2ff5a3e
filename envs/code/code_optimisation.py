"""palaestra/CodeOptimisation-v0: write a faster function with the same results."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import shorten
from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.registry import rejected
from ..param_space import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox.judge import Failure
from .judging.operation_counts import UNCOUNTED, WORK, CountedCall, count_operations
from .judging.program_question import EXAMPLE, ProgramQuestion
from .programs.dice import Dice
from .programs.slow_program_kinds import NUMBER, NUMBERS, TEXT
from .programs.slow_programs import (
    TECHNIQUES,
    Part,
    SlowProgram,
    argument_size,
    draw_slow_program,
    large_arguments,
    small_arguments,
)

SMALL_TESTS, PUBLIC = 5, 3
# Minimum ratio of the operations of the slow and the fast program; below it, both are redrawn.
_LEAST_SPEEDUP = 2.5
# Operations added to every target, so that the style of a program is not decisive.
_ALLOWANCE = 20
# Limit of operations in a test with small arguments: a multiple of the slow program's operations, plus a constant.
_SMALL_TIMES, _SMALL_EXTRA = 20, 20_000
# Operations that no program of the tables reaches.
_UNREACHED = 1_000_000
# The last test judges the order of growth: the factor on the size of its arguments, and the factor on the operations
# allowed there, so that an extra logarithm in the growth is not punished.
_LARGER, _SLACK = 4, 1.25
# Characters of a call, value or error in the feedback.
_brief = partial(shorten, most=120)
_TAKES = {
    NUMBERS: "a list of whole numbers",
    TEXT: "a text of small letters",
    NUMBER: "a whole number, 0 or more",
}


class Check(NamedTuple):
    """A test: arguments, the expected value, and the maximum number of operations."""

    arguments: list[Any]
    value: Any
    most: int


class Optimisation(NamedTuple):
    """Data of a task.

    Attributes:
        program: the slow program, with its fast counterpart.
        tests: the tests, the last with the large arguments.
        slow, fast: operations of the slow and of the fast program on the large arguments.
        target: maximum operations there for full reward.
        size: the axis ``size``.
    """

    program: SlowProgram
    tests: tuple[Check, ...]
    slow: int
    fast: int
    target: int
    size: int


class CodeOptimisation(ProgramQuestion):
    """Write a function with the same results as a slow one, in fewer operations.

    Description:
        The function has up to three slow parts, of 48 kinds with constants, conditions and names of their own: loops
        over all pairs, work repeated in a loop, searches in a list, sums computed anew, naive recursion, trial
        division, ... Operations are counted rather than timed, to be the same on every machine: the answer runs in the
        sandbox, and may use the common part of Python. Each statement, each node of an expression and each
        turn of a loop is an operation; an operation over a whole sequence costs its length.

    Parameters:
        parts (1 to 3): slow parts of the function.
        technique ("containers", "sweeps", "algorithms"): the way to make them fast: sets, dicts and work done once;
            running sums, windows, two pointers and sorting; or another algorithm.
        size (16 to 32, on request up to 64): the size of the large arguments: lists of about this length, and numbers
            and texts that take as much work. The larger it is, the less likely a half-optimised program reaches the
            target.
        gap (3.0 to 1.2, harder downwards, on request 1.0): the target is ``gap`` times the operations of a plain fast
            program, plus 20, and at most the geometric mean of the slow and the fast program's operations. In a last
            test the arguments are four times as large and a quarter more is allowed, so that the order of growth must
            be lower.

    Observation:
        Text: the slow function, the types of its arguments, its operations on large hidden arguments, and the target.

    Actions:
        Text with the whole function, in a fenced block of Python or alone; the last block counts. The whole reply is
        read, unless ``answer_format`` says otherwise. Functions, generators, and eight modules may be used; classes may
        not.

    Reward:
        1 if the function has the same results in seven tests, one of them with the large arguments and one with still
        larger ones, and stays within the targets in these two; 0 otherwise. With ``graded=True`` the mean over both
        targets of log(slow / operations) / log(slow / target), from 0 to 1; 0 if a test fails. This mean is also
        ``info["progress"]``. The slow function is not run on the fourfold arguments; its operations there are assumed
        to be the same multiple of the target as on the large ones.

    Termination:
        After the first answer.

    Source:
        The task is that of PIE (Shypula et al., arXiv 2302.07867): programs and their faster edits, measured by a
        deterministic simulator; as a reward for reinforcement learning in Duan et al., arXiv 2312.05657.
    """

    param_space = ParamSpace(
        [
            IntAxis("parts", 1, 3),
            ChoiceAxis("technique", tuple(TECHNIQUES)),
            IntAxis("size", 16, 32, limits=(16, 64)),
            FloatAxis("gap", 1.2, 3.0, harder="down", limits=(1.0, 3.0)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, drawn = Dice(rng), None
        while drawn is None:
            drawn = _draw(dice, params)
        program = drawn.program
        sizes = ", ".join([_describe_size(part, params["size"]) for part in program.parts])
        takes = "; ".join([f"{part.parameter} is {_TAKES[part.kind.takes]}" for part in program.parts])
        return Task(
            f"This Python function is slow:\n```python\n{program.slow}\n```\nHere {takes}.\nOperations are counted: "
            "each statement, each part of an expression and each turn of a loop when it is evaluated, and as many more "
            "as there are items where sum, sorted, in, a slice, a copy, + and the like go over a list or text. With "
            f"hidden arguments, {sizes}, the function takes {drawn.slow:,} operations. Write {program.name} so that it "
            f"takes at most {drawn.target:,} there, and returns the same for all arguments. With arguments {_LARGER} "
            "times as large it may take more, in proportion to what a plain fast program takes there, and a quarter on "
            "top. Functions may be used, and the modules math, collections, functools, itertools, bisect, heapq, "
            "operator and string; classes may not.\n"
            f"Answer with the whole function in a block of Python code, such as\n{EXAMPLE}",
            program.fast,
            solution=fenced(program.fast),
            content=program.slow,
            split_key=program.essence,
            data=drawn,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        data = task.data
        name = data.program.name
        code = program_in(answer, name)
        if re.search(rf"\b{name}\b", code) is None:
            return rejected(f"The answer must be Python code that defines the function {name}.")
        larger, target = _larger(data)
        cases = [(test.arguments, test.most) for test in (*data.tests, larger)]
        outcomes = count_operations(code, name, cases, self.limits, self.backend)
        if outcomes is None:
            return Verdict(0.0, False, valid=False, feedback="The sandbox failed; this says nothing about the program.")
        score, feedback = _score(data, larger, target, outcomes)
        success = score == 1.0
        terms = {"speed": score if self.graded else float(success)}
        failures = [_classify(test, one) for test, one in zip((*data.tests, larger), outcomes)]
        extras = {"tests": failures, "test_report": feedback}
        return Verdict(score, success, terms=terms, feedback=feedback, extras=extras)

    def solver_cost(self, episode: Task) -> float:
        """Return the required speed-up, times the length of the reference program in characters."""
        return len(self.oracle(episode)) * episode.data.slow / episode.data.target

    def criteria(self, task: Task) -> list[str]:
        data = task.data
        return [
            "It returns the same values as the given function.",
            *(f"The work on {part.parameter} grows more slowly with its size." for part in data.program.parts),
            f"It takes at most {data.target:,} operations on the large arguments.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """Explain for each part the cause of slowness and the remedy; then give the operations and the fast program."""
        data = task.data
        return [
            *[f"{part.parameter}: {part.why}. Instead: {part.instead}." for part in data.program.parts],
            f"This takes {data.fast:,} operations instead of {data.slow:,}; {data.target:,} are allowed.",
            self.oracle(task),
        ]


def _draw(dice: Dice, params: dict[str, Any]) -> Optimisation | None:
    """Draw a task. Return None if the fast program saves too few operations on the arguments drawn."""
    # Counting is loaded when it is first needed.
    from .counting.counted_program import CountedProgram

    program = draw_slow_program(dice, params["technique"], params["parts"])
    small = [small_arguments(dice, program, edge if edge < 2 else -1) for edge in range(SMALL_TESTS)]
    large = large_arguments(dice, program, params["size"])
    slow, fast = CountedProgram(program.slow), CountedProgram(program.fast)
    tests = []
    for arguments in (*small, large):
        value, steps = slow.call(program.name, arguments, _UNREACHED)
        tests.append(Check(arguments, value, _SMALL_TIMES * steps + _SMALL_EXTRA))
    _, few = fast.call(program.name, large, _UNREACHED)
    if steps < _LEAST_SPEEDUP * few:
        return None
    tests[-1] = tests[-1]._replace(most=steps)
    target = min(int(params["gap"] * few) + _ALLOWANCE, math.isqrt(steps * few))
    return Optimisation(program, tuple(tests), steps, few, target, params["size"])


def _larger(data: Optimisation) -> tuple[Check, int]:
    """Make the test with arguments four times as large, and the target of operations for it.

    Called when an answer is judged, to keep resets fast; the same task gives the same test.
    """
    from .counting.counted_program import CountedProgram

    digest = hashlib.blake2b(data.program.slow.encode(), digest_size=8).digest()
    dice = Dice(np.random.default_rng(int.from_bytes(digest, "big")))
    arguments = large_arguments(dice, data.program, data.size, _LARGER)
    value, few = CountedProgram(data.program.fast).call(data.program.name, arguments, _UNREACHED)
    target = int(_SLACK * few * data.target / data.fast)
    return Check(arguments, value, int(target * data.slow / data.target)), target


def _describe_size(part: Part, size: int) -> str:
    size = argument_size(part.kind, size)
    return f"{part.parameter} about {size:,}" if part.kind.takes == NUMBER else f"{part.parameter} of length {size:,}"


def _score(data: Optimisation, larger: Check, target: int, outcomes: Sequence[CountedCall]) -> tuple[float, str]:
    """Return the score, which is the mean `_share` of both targets or 0 if a test fails, and the feedback."""
    for outcome in outcomes:
        if outcome.error == UNCOUNTED:
            return 0.0, f"The program cannot be counted: {outcome.message}."
    *_, large, largest = outcomes
    tests = (*data.tests, larger)
    passed = [not one.error and _is_equal(test.value, one.value) for test, one in zip(tests, outcomes)]
    if large.error == WORK and all(passed[:-2]):
        return 0.0, f"It is no faster than the function given, which takes {data.slow:,} operations."
    if not all(passed[:-1]) or not (passed[-1] or largest.error == WORK):
        return 0.0, f"{sum(passed)} of {len(passed)} tests passed. {_describe_failure(data, outcomes, passed)}"
    feedback = f"It takes {large.steps:,} operations; the target is {data.target:,}."
    shares = [_share(data.slow, large.steps, data.target), 0.0]
    if not largest.error:
        shares[1] = _share(larger.most, largest.steps, target)
    if shares[1] < 1.0:
        many = f"{largest.steps:,}" if not largest.error else f"more than {larger.most:,}"
        feedback += f" With arguments {_LARGER} times as large it takes {many}; the target there is {target:,}."
    return (1.0 if shares == [1.0, 1.0] else sum(shares) / 2), feedback


def _classify(test: Check, outcome: CountedCall) -> Failure:
    """Return the kind of failure of a call; "" if it returned the right value within its operations."""
    if outcome.error in (UNCOUNTED, "SyntaxError"):
        return "syntax"
    if outcome.error:
        return "limit" if outcome.error == WORK else "error"
    return "" if _is_equal(test.value, outcome.value) else "wrong"


def _share(slow: int, steps: int, target: int) -> float:
    """Compute log(slow / steps) / log(slow / target): 1 at the target or below, less than 1 above it."""
    return 1.0 if steps <= target else min(math.log(slow / steps) / math.log(slow / target), math.nextafter(1.0, 0.0))


def _describe_failure(data: Optimisation, outcomes: Sequence[CountedCall], passed: Sequence[bool]) -> str:
    """Describe the first public test that failed."""
    for test, outcome, good in list(zip(data.tests, outcomes, passed))[:PUBLIC]:
        if not good:
            call = f"{data.program.name}({', '.join(map(repr, test.arguments))})"
            error = _brief(f"{outcome.error}: {outcome.message}")
            got = f"failed: {error}" if outcome.error else f"returned {_brief(repr(outcome.value))}"
            return f"{_brief(call)} {got}; expected {_brief(repr(test.value))}."
    return "A test that is not shown failed."


def _is_equal(expected: Any, received: Any) -> bool:
    try:
        return bool(expected == received)
    except RecursionError:
        return False


register("palaestra/CodeOptimisation-v0", f"{__name__}:CodeOptimisation")
