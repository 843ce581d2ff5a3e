"""Programs judged by tests: calls of their functions, or runs with standard input.

What is expected never leaves this process: a program is given the arguments or the input, and what comes back is
compared here, as plain data. So nothing that a program prints, patches or forges makes a wrong answer right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import InputError
from ...rewards import Verdict
from .protocol import Call, Limits, Result
from .running import submit

# Of the expected and the received output, for a test of either kind.
Compare = Callable[[Any, Any], bool]
_SHOWN = 200
_LIMITS, _SYNTAX = ("TimeoutError: no answer", "MemoryError"), ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True, slots=True)
class CallTest:
    """``function(*arguments)`` must return ``expected``; all is plain data. The feedback tells of ``public`` tests
    only."""

    function: str
    arguments: Sequence[Any]
    expected: Any
    public: bool = False


@dataclass(frozen=True, slots=True)
class StdioTest:
    """A run with ``stdin`` must print ``expected``."""

    stdin: str
    expected: str
    public: bool = False


Test = CallTest | StdioTest
# How a test failed: the program is no Python, an exception or a signal or an exit code ended it, it reached a limit, or
# what it returned or printed is not what was expected; "" where the test passed.
Failure = Literal["", "syntax", "error", "limit", "wrong"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the tests say of a program.

    Args:
        failures: one for each test.
        feedback: one paragraph that names the first public test that failed.
        valid: False where the sandbox failed, which says nothing about the program.
    """

    failures: tuple[Failure, ...]
    feedback: str
    valid: bool = True

    @property
    def passed(self) -> tuple[bool, ...]:
        """One for each test."""
        return tuple(not failure for failure in self.failures)

    @property
    def fraction(self) -> float:
        """The share of the tests that passed."""
        return sum(self.passed) / len(self.passed)

    @property
    def success(self) -> bool:
        """Whether all tests passed."""
        return self.valid and all(self.passed)

    def verdict(self, graded: bool = False) -> Verdict:
        """The same for a learner: the score is the share of the tests that passed, and the term "tests" is that share
        with ``graded`` and else 1 for a success. The extra "tests" holds the ``failures``."""
        if not self.valid:
            return Verdict(0.0, False, valid=False, feedback="The sandbox failed; this says nothing about the program.")
        terms = {"tests": self.fraction if graded else float(self.success)}
        return Verdict(
            self.fraction, self.success, terms=terms, feedback=self.feedback, extras={"tests": list(self.failures)}
        )


def run_tests(
    program: str,
    tests: Sequence[Test],
    compare: str | Compare = "exact",
    limits: Limits | None = None,
    *,
    backend: str = "local",
) -> Judgement:
    """Run a program against tests.

    Args:
        program: its text.
        tests: at least one; the calls are made in one run of the program, each in a process of its own, and each test
            with input has a run of its own.
        compare: "exact": equal values, or equal lines but for white space at their ends; "tolerance": numbers may
            differ by one part in a million; or a checker ``(expected, received) -> bool``, which is trusted code.
        limits: of each call and each run.
        backend: a name in `BACKENDS`.

    Raises:
        InputError: no tests, an unknown way to compare, or a backend that this machine cannot provide.
    """
    if not tests:
        raise InputError("run_tests needs at least one test.")
    if isinstance(compare, str) and compare not in COMPARE:
        raise InputError(f"compare must be one of {', '.join(COMPARE)}, or a function, not {compare!r}.")
    limits = limits or Limits()
    outcomes = _outcomes(program, tests, limits, backend)
    failures: tuple[Failure, ...] = tuple(
        _kind(error, result) if error else "" if _judge(compare, test)(test.expected, value) else "wrong"
        for test, (value, error, result) in zip(tests, outcomes)
    )
    valid = all(result.valid for _, _, result in outcomes)
    return Judgement(failures, _feedback(tests, outcomes, failures), valid)


def _judge(compare: str | Compare, test: Test) -> Compare:
    if callable(compare):
        return compare
    values, text = COMPARE[compare]
    return values if isinstance(test, CallTest) else text


_Outcome = tuple[Any, str, Result]


def _outcomes(program: str, tests: Sequence[Test], limits: Limits, backend: str) -> list[_Outcome]:
    """What each test received, or why it received nothing, and the run that it is from."""
    calls = [Call(test.function, test.arguments, limits.seconds) for test in tests if isinstance(test, CallTest)]
    called: Future[Result] | None = None
    if calls:
        whole = replace(limits, seconds=limits.seconds * (len(calls) + 1))
        called = submit(program, limits=whole, calls=calls, backend=backend)
    ran = [submit(program, test.stdin, limits=limits, backend=backend) for test in tests if isinstance(test, StdioTest)]
    outcomes: list[_Outcome] = []
    values = iter(called.result().values) if called else iter(())
    runs = iter(ran)
    for test in tests:
        if isinstance(test, CallTest):
            assert called is not None
            result, value = called.result(), next(values)
            outcomes.append((value.value, value.error and (_failure(result, limits) or value.error), result))
        else:
            result = next(runs).result()
            outcomes.append((result.stdout, _failure(result, limits), result))
    return outcomes


def _failure(result: Result, limits: Limits) -> str:
    """Why a run failed; "" where it did not."""
    said = {
        "time": f"it took more than {limits.seconds:g} s",
        "memory": f"it used more than {limits.memory_mb:g} MiB",
        "output": "it wrote too much",
        "lost": "the sandbox was lost",
        "signal": f"it was ended by signal {-(result.exit_code or 0)}",
    }.get(result.reason, "")
    if not said and result.exit_code:
        said = result.stderr.strip().rpartition("\n")[2] or f"it ended with exit code {result.exit_code}"
    return said


def _kind(error: str, result: Result) -> Failure:
    """Of a test without a value, by what is said of it: "Name: message" where it was an exception."""
    if result.reason in ("time", "memory", "output") or error.startswith(_LIMITS):
        return "limit"
    return "syntax" if error.startswith(_SYNTAX) else "error"


def _feedback(tests: Sequence[Test], outcomes: Sequence[_Outcome], failures: Sequence[Failure]) -> str:
    if not any(failures):
        return f"All {len(tests)} tests passed."
    counted = f"{failures.count('')} of {len(tests)} tests passed."
    for test, (value, error, _), failure in zip(tests, outcomes, failures):
        if test.public and failure:
            if isinstance(test, CallTest):
                asked = f"{test.function}({', '.join(map(repr, test.arguments))})"
                got = f"failed: {error}" if error else f"returned {_brief(repr(value))}"
                return f"{counted} {_brief(asked)} {got}; expected {_brief(repr(test.expected))}."
            got = f"failed: {error}" if error else f"printed {_brief(repr(value))}"
            return (
                f"{counted} With the input {_brief(repr(test.stdin))} it {got}; expected {_brief(repr(test.expected))}."
            )
    return f"{counted} A test that is not shown failed."


def _brief(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _equal(expected: Any, received: Any) -> bool:
    try:
        return bool(expected == received)
    except RecursionError:
        return False


def _equal_text(expected: str, received: str) -> bool:
    return expected == received or _lines(expected) == _lines(received)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _close(expected: Any, received: Any) -> bool:
    try:
        return _close_values(expected, received)
    except RecursionError:
        return False


def _close_text(expected: str, received: str) -> bool:
    ours, theirs = expected.split(), received.split()
    return len(ours) == len(theirs) and all(map(_close_words, ours, theirs))


def _close_values(expected: Any, received: Any) -> bool:
    if isinstance(expected, bool) or isinstance(received, bool):
        return expected is received
    if isinstance(expected, (int, float)) and isinstance(received, (int, float)):
        return _close_numbers(expected, received)
    if type(expected) is not type(received):
        return False
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(received) and all(map(_close_values, expected, received))
    if isinstance(expected, dict):
        return expected.keys() == received.keys() and all(
            _close_values(value, received[key]) for key, value in expected.items()
        )
    return bool(expected == received)


def _close_words(expected: str, received: str) -> bool:
    if expected == received:
        return True
    try:
        return _close_numbers(float(expected), float(received))
    except (ValueError, OverflowError):
        return False


def _close_numbers(expected: float, received: float) -> bool:
    try:
        return expected == received or math.isclose(expected, received, rel_tol=1e-6, abs_tol=1e-6)
    except OverflowError:
        return False


# For values, and for text.
COMPARE: dict[str, tuple[Compare, Compare]] = {"exact": (_equal, _equal_text), "tolerance": (_close, _close_text)}
