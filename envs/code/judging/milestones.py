"""Milestones: the intermediate results of a task that a program computes, for the reward "milestones".

The program runs once more in the sandbox, under a tracer that records the values of its variables. The expected results
of the specification's sentences are known only in this process and compared here, so a program can hide progress but
cannot claim a result that it did not compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...sandbox import Call, CallTest, Limits, submit
from ..programs.block_runs import trace_states
from ..programs.grammar import Program

# The number of hidden tests on which a program is traced.
TRACED = 3
# Values that occur in nearly every program.
_TRIVIAL = frozenset({-1, 0, 1, 2, 10, ""})

_MOST_VALUES = 200

# The code that runs in the sandbox. It records every whole number, text and short list that a variable of the program
# holds at the first three visits of each line (the result of a loop is there at the line after it), and the values that
# functions return. It stops after 20,000 lines. Whatever exception ends the program, the values until then count.
_TRACER = """
import sys

def palaestra_tracer(most_values, most_events=20_000, longest=400):
    seen, known, visits, events = [], set(), {}, 0

    def small(value):
        return type(value) is int and -10**12 < value < 10**12 or type(value) is str and len(value) <= longest

    def note(value):
        if type(value) is tuple:
            value = list(value)
        if not small(value) and not (type(value) is list and len(value) <= 60 and all(map(small, value))):
            return
        key = repr(value)
        if key not in known and len(known) < most_values:
            known.add(key)
            seen.append(list(value) if type(value) is list else value)

    def look(frame, event, argument):
        nonlocal events
        if frame.f_code.co_filename != "answer.py":
            return None
        events += 1
        if events > most_events:
            raise TimeoutError("too many lines")
        line = frame.f_code, frame.f_lineno
        visits[line] = visits.get(line, 0) + 1
        for value in list(frame.f_locals.values()) if visits[line] <= 3 else ():
            note(value)
        if event == "return":
            note(argument)
        return look

    return seen, look

palaestra_seen, palaestra_look = palaestra_tracer(PALAESTRA_MOST)

def palaestra_run(action):
    sys.settrace(palaestra_look)
    try:
        action()
    except BaseException:
        pass  # what a failing answer has computed until then counts
    finally:
        sys.settrace(None)
    return palaestra_seen

def palaestra_called(name, arguments):
    return palaestra_run(lambda: globals()[name](*arguments))

try:
    exec(compile(PALAESTRA_ANSWER, "answer.py", "exec"), globals())
except BaseException:
    pass  # its functions up to the failure can be called
"""


def expected_results(program: Program, tests: Sequence[CallTest]) -> list[dict[int, Any]]:
    """Compute the intermediate results that a program must reach.

    Results that any program may have (small numbers, the arguments, results of earlier sentences) are left out, and so
    are sentences without other results.

    Args:
        program: the correct program.
        tests: the calls that are traced; see `traced_tests`.

    Returns:
        for each remaining sentence of the specification {index of the test: the sentence's result}.
    """
    found: list[dict[int, Any]] = [{} for _ in program.specification]
    for place, test in enumerate(tests):
        names = {parameter.name: value for parameter, value in zip(program.parameters, test.arguments)}
        before = list(test.arguments)
        for sentence, value in enumerate(trace_states(program.blocks[:-1], program.results, names)):
            if value is None:
                continue
            is_telling = len(value) > 1 if isinstance(value, list) else value not in _TRIVIAL
            if is_telling and value not in before:
                found[sentence][place] = value
            before.append(value)
    return [wanted for wanted in found if wanted]


def traced_tests(tests: Sequence[CallTest]) -> list[CallTest]:
    """Return the tests on which a program is traced: the first hidden ones."""
    return [test for test in tests if not test.public][:TRACED]


def count_reached(
    code: str, program: Program, tests: Sequence[CallTest], limits: Limits, backend: str
) -> list[int] | None:
    """Count the milestones that a program reaches: sentences whose result it computes in every traced test.

    Args:
        code: the program to trace, with a function of the name of ``program``.
        program: the correct program.
        tests: the tests of the task, of which `traced_tests` are used.
        limits: the limits of the run; ``seconds`` is also the limit of each call.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.

    Returns:
        [number of milestones reached, number of milestones], or None if the sandbox failed.
    """
    hidden = traced_tests(tests)
    wanted = expected_results(program, hidden)
    calls = [Call("palaestra_called", [program.name, list(test.arguments)], limits.seconds) for test in hidden]
    whole = f"PALAESTRA_ANSWER, PALAESTRA_MOST = {code!r}, {_MOST_VALUES}\n{_TRACER}"
    result = submit(whole, limits=limits, calls=calls, backend=backend).result()
    if not result.valid:
        return None
    seen = [
        {repr(value) for value in one.value[:_MOST_VALUES]} if isinstance(one.value, list) else set()
        for one in result.values
    ]
    met = sum(all(repr(value) in seen[place] for place, value in results.items()) for results in wanted)
    return [met, len(wanted)]
