"""Tests of programs: calls of their functions, or runs with standard input.

The expected values never leave this process: a program receives only the arguments or the input, and its values are
compared here, as plain data. So a program cannot make a wrong answer right by printing, patching or forging anything.

Testing stops at the first test that takes too long: all later tests count as failed at a limit, whether or not they
were run, so that an endless program costs the time of one test.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from ...errors import InputError, shorten
from ...rewards import Verdict
from .protocol import ENDED, LATE, MOST_SECONDS, SKIPPED, Call, Limits, Result, Value
from .running import submit

# (expected, received) -> bool, for values or for text.
Compare = Callable[[Any, Any], bool]
# Characters of a call, value or text in the feedback.
_brief = partial(shorten, most=200)
_LIMITS, _SYNTAX = ("TimeoutError: no answer", "MemoryError"), ("SyntaxError", "IndentationError", "TabError")
_AT_LIMIT = ("time", "memory", "output")
# The default time of all tests together, as a multiple of the time of one.
_TOGETHER = 5


@dataclass(frozen=True, slots=True)
class CallTest:
    """``function(*arguments)`` must return ``expected``; all is plain data. Feedback names only ``public`` tests."""

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
# The kind of a failure: a syntax error; an exception, a signal or an exit code; a limit; or a wrong value or output. ""
# for a passed test.
Failure = Literal["", "syntax", "error", "limit", "wrong"]
_WAYS = {"syntax": "a syntax error", "error": "an exception", "limit": "a limit", "wrong": "a wrong value"}


@dataclass(frozen=True, slots=True)
class ProgramJudgement:
    """The outcome of tests on a program.

    Args:
        failures: the kind of failure of each test, "" if it passed.
        feedback: one paragraph that names the first public test that failed.
        valid: False if the sandbox failed, which says nothing about the program.
        report: for each failed public test a line with the test, one with the expected value, and one with the received
            value or the error; then the number of failed hidden tests by kind. "" if all passed.
    """

    failures: tuple[Failure, ...]
    feedback: str
    valid: bool = True
    report: str = ""

    @property
    def passed(self) -> tuple[bool, ...]:
        """True for each test that passed, False for each that failed."""
        return tuple(not failure for failure in self.failures)

    @property
    def fraction(self) -> float:
        """The share of the tests that passed."""
        return sum(self.passed) / len(self.passed)

    @property
    def success(self) -> bool:
        """True if the sandbox worked and all tests passed."""
        return self.valid and all(self.passed)

    def verdict(self, graded: bool = False) -> Verdict:
        """Return a verdict whose score is the share of the tests that passed. Its term "tests" is this share if
        ``graded``; otherwise 1 if all tests passed, else 0. Its ``extras`` are "tests", the ``failures``, and
        "test_report", the ``report``."""
        if not self.valid:
            return Verdict(0.0, False, valid=False, feedback="The sandbox failed; this says nothing about the program.")
        terms = {"tests": self.fraction if graded else float(self.success)}
        extras = {"tests": list(self.failures), "test_report": self.report or self.feedback}
        return Verdict(self.fraction, self.success, terms=terms, feedback=self.feedback, extras=extras)


def run_tests(
    program: str,
    tests: Sequence[Test],
    compare: str | Compare = "exact",
    limits: Limits | None = None,
    *,
    total_seconds: float | None = None,
    backend: str = "local",
    preload: Sequence[str] = (),
    packages: str | os.PathLike[str] = "",
) -> ProgramJudgement:
    """Run a program against tests.

    Args:
        program: the program's text.
        tests: at least one. All `CallTest`s are called in one run of the program, each in a separate process; each
            `StdioTest` is a separate run.
        compare: "exact": equal values, or equal lines except for white space at their ends; "tolerance": numbers may
            differ by one part in a million; or a function ``(expected, received) -> bool``, which is trusted code. In
            the first two, NaN equals NaN.
        limits: the limits of each call and each run, and of the program itself before its functions are called.
        total_seconds: the wall time of all tests together, by default five times ``limits.seconds``; tests that have
            not run by then count as failed at a limit.
        backend: a name in `BACKENDS`.
        preload, packages: as for `run`.

    Raises:
        InputError: no tests, an unknown way to compare, a total time that is not positive, or an error of `run`.
    """
    if not tests:
        raise InputError("run_tests needs at least one test.")
    if isinstance(compare, str) and compare not in COMPARE:
        raise InputError(f"compare must be one of {', '.join(COMPARE)}, or a function, not {compare!r}.")
    limits = limits or Limits()
    if total_seconds is None:
        total_seconds = min(_TOGETHER * limits.seconds, MOST_SECONDS)
    elif not 0 < total_seconds <= MOST_SECONDS:
        raise InputError(f"total_seconds must be positive, at most {MOST_SECONDS:_}, not {total_seconds!r}.")
    whole = replace(limits, seconds=total_seconds, program_seconds=min(limits.seconds, total_seconds))
    outcomes = _run_all(program, tests, limits, whole, backend=backend, preload=preload, packages=packages)
    of_calls, of_runs = (compare, compare) if callable(compare) else COMPARE[compare]
    failures: list[Failure] = []
    for test, one in zip(tests, outcomes):
        same = of_calls if isinstance(test, CallTest) else of_runs
        failures.append(one.failure or ("" if same(test.expected, one.value) else "wrong"))
    valid = all(one.valid for one in outcomes)
    feedback, report = _write_feedback(tests, outcomes, failures), _write_report(tests, outcomes, failures)
    return ProgramJudgement(tuple(failures), feedback, valid, report)


class _Outcome(NamedTuple):
    """The value received in a test, or the error as a sentence and its kind of failure."""

    value: Any = None
    error: str = ""
    failure: Failure = ""
    valid: bool = True
    late: bool = False


def _run_all(program: str, tests: Sequence[Test], limits: Limits, whole: Limits, **where: Any) -> list[_Outcome]:
    """Run the tests and return the outcome of each.

    Args:
        program: the program's text.
        tests: the tests.
        limits: the limits of one test.
        whole: the limits of all calls together.
        where: backend, preload and packages, as for `run`.
    """
    calls = [Call(test.function, test.arguments, limits.seconds) for test in tests if isinstance(test, CallTest)]
    called = submit(program, limits=whole, calls=calls, **where) if calls else None
    ran = {
        place: submit(program, test.stdin, limits=limits, **where)
        for place, test in enumerate(tests)
        if isinstance(test, StdioTest)
    }
    for place, run in ran.items():
        later = [other for at, other in ran.items() if at > place]
        # The callback runs before the sandbox takes the next job.
        run.add_done_callback(lambda run, later=later: _cancel_after(run, later))
    outcomes: list[_Outcome] = []
    values = iter(called.result().values) if called else iter(())
    spent = called.result().seconds if called else 0.0
    for place, test in enumerate(tests):
        if (outcomes and outcomes[-1].late) or (place in ran and spent >= whole.seconds):
            outcomes.append(_Outcome(error=SKIPPED, failure="limit", late=True))
            if place in ran:
                ran[place].cancel()
            continue
        if called is not None and isinstance(test, CallTest):
            outcomes.append(_outcome_of_call(next(values), called.result(), limits))
        else:
            result = ran[place].result()
            spent += result.seconds
            outcomes.append(_outcome_of_run(result.stdout, result, limits))
    return outcomes


def _cancel_after(run: Future[Result], later: Sequence[Future[Result]]) -> None:
    if not run.cancelled() and run.exception() is None and run.result().reason == "time":
        for other in later:
            other.cancel()


def _outcome_of_call(value: Value, result: Result, limits: Limits) -> _Outcome:
    if value.error == ENDED and _describe_failure(result, limits):
        return _outcome_of_run(None, result, limits)
    # The answer of a call counts even if the program failed later.
    late = result.reason == "time" and value.error in (LATE.format(limits.seconds), SKIPPED)
    return _Outcome(value.value, value.error, _classify_error(value.error), result.valid, late)


def _outcome_of_run(value: Any, result: Result, limits: Limits) -> _Outcome:
    error = _describe_failure(result, limits)
    kind = "limit" if result.reason in _AT_LIMIT else _classify_error(error)
    return _Outcome(value, error, kind, result.valid, result.reason == "time")


def _describe_failure(result: Result, limits: Limits) -> str:
    """Describe the failure of a run; "" for a success."""
    error = {
        "time": f"it took more than {limits.seconds:g} s",
        "memory": f"it used more than {limits.memory_mb:g} MiB",
        "output": "it wrote too much",
        "lost": "the sandbox was lost",
        "signal": f"it was ended by signal {-(result.exit_code or 0)}",
    }.get(result.reason, "")
    if not error and result.exit_code:
        error = result.stderr.strip().rpartition("\n")[2] or f"it ended with exit code {result.exit_code}"
    return error


def _classify_error(error: str) -> Failure:
    """Return the kind of failure of an error, which is "Name: message" for an exception; "" for no error."""
    if error.startswith(_LIMITS):
        return "limit"
    return "syntax" if error.startswith(_SYNTAX) else "error" if error else ""


def _write_feedback(tests: Sequence[Test], outcomes: Sequence[_Outcome], failures: Sequence[Failure]) -> str:
    if not any(failures):
        return f"All {len(tests)} tests passed."
    summary = f"{failures.count('')} of {len(tests)} tests passed."
    for test, (value, error, *_), failure in zip(tests, outcomes, failures):
        if test.public and failure:
            if isinstance(test, CallTest):
                asked = f"{test.function}({', '.join(map(repr, test.arguments))})"
                got = f"failed: {error}" if error else f"returned {_brief(repr(value))}"
                return f"{summary} {_brief(asked)} {got}; expected {_brief(repr(test.expected))}."
            got = f"failed: {error}" if error else f"printed {_brief(repr(value))}"
            wanted = _brief(repr(test.expected))
            return f"{summary} With the input {_brief(repr(test.stdin))} it {got}; expected {wanted}."
    return f"{summary} A test that is not shown failed."


def _write_report(tests: Sequence[Test], outcomes: Sequence[_Outcome], failures: Sequence[Failure]) -> str:
    if not any(failures):
        return ""
    lines, hidden = [f"{failures.count('')} of {len(tests)} tests passed."], Counter[str]()
    for test, (value, error, *_), failure in zip(tests, outcomes, failures):
        if failure and not test.public:
            hidden[_WAYS[failure]] += 1
        elif failure:
            called = isinstance(test, CallTest)
            asked = f"{test.function}({', '.join(map(repr, test.arguments))})" if called else f"input {test.stdin!r}"
            received = f"Error: {error}" if error else f"Received: {_brief(repr(value))}"
            lines += [
                f"Test: {_brief(asked)}",
                f"Expected: {_brief(repr(test.expected))}",
                received,
            ]
    lines += [f"Hidden tests that failed with {way}: {count}" for way, count in hidden.items()]
    return "\n".join(lines)


def _equal(expected: Any, received: Any) -> bool:
    try:
        return bool(expected == received) or _equal_with_nan(expected, received)
    except RecursionError:
        return False


def _equal_with_nan(expected: Any, received: Any) -> bool:
    """Compare as ``==``, except that NaN equals NaN."""
    if type(expected) is not type(received):
        return False
    if isinstance(expected, float):
        return math.isnan(expected) and math.isnan(received)
    if isinstance(expected, complex):
        return _equal(expected.real, received.real) and _equal(expected.imag, received.imag)
    if not isinstance(expected, (list, tuple, set, frozenset, dict)) or len(expected) != len(received):
        return False
    if isinstance(expected, (list, tuple)):
        return all(map(_equal, expected, received))
    if isinstance(expected, dict):
        return all(key in received and _equal(value, received[key]) for key, value in expected.items())
    return {one for one in expected if one == one} == {one for one in received if one == one}


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
    return _equal(expected, received)


def _close_words(expected: str, received: str) -> bool:
    if expected == received:
        return True
    try:
        return _close_numbers(float(expected), float(received))
    except (ValueError, OverflowError):
        return False


def _close_numbers(expected: float, received: float) -> bool:
    try:
        if expected == received or math.isclose(expected, received, rel_tol=1e-6, abs_tol=1e-6):
            return True
        return math.isnan(expected) and math.isnan(received)
    except OverflowError:
        return False


# By name: the comparison of values, and that of text.
COMPARE: dict[str, tuple[Compare, Compare]] = {"exact": (_equal, _equal_text), "tolerance": (_close, _close_text)}
