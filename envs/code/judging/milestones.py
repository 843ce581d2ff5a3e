"""How far a program came: which intermediate results of its task it had at some time.

A program is run once more under a tracer that notes what its variables hold. The results that the task's specification
leads to, sentence by sentence, are known here alone, and are compared here: so a program can hide how far it came, but
can claim nothing that it did not compute. What is found is the extra "milestones", for the reward of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...sandbox import Call, CallTest, Limits, submit
from ..programs.grammar import Program
from ..programs.interpreter import states

# Tests on which a program is traced, the hidden ones.
TRACED = 3
# Results that programs have whatever they do.
_TRIVIAL = frozenset({-1, 0, 1, 2, 10, ""})

_MOST_VALUES = 200

# What runs in the sandbox: notes every whole number, text and short list that a variable of the program's own code
# holds when a line is come to for the first times (what a loop has made is there at the line after it), and what
# functions return; and gives up after so many lines that it must be a loop without end. Whatever ends the program, with
# whatever exception, what it had until then counts.
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
        pass
    finally:
        sys.settrace(None)
    return palaestra_seen

def palaestra_called(name, arguments):
    return palaestra_run(lambda: globals()[name](*arguments))

try:
    exec(compile(PALAESTRA_ANSWER, "answer.py", "exec"), globals())
except BaseException:
    pass
"""


def milestones(program: Program, tests: Sequence[CallTest]) -> list[dict[int, Any]]:
    """What a program must have had on its way, for each sentence of its specification: test's place to result.

    Left out are results that any program may have (small numbers, the arguments, what an earlier sentence led to), and
    sentences of which no other are left.

    Args:
        tests: calls of it; see `traced`.
    """
    found: list[dict[int, Any]] = [{} for _ in program.specification]
    for place, test in enumerate(tests):
        names = {parameter.name: value for parameter, value in zip(program.parameters, test.arguments)}
        before = list(test.arguments)
        for sentence, value in enumerate(states(program.blocks[:-1], program.results, names)):
            if value is None:
                continue
            if _tells(value) and value not in before:
                found[sentence][place] = value
            before.append(value)
    return [wanted for wanted in found if wanted]


def traced(tests: Sequence[CallTest]) -> list[CallTest]:
    """The tests on which a program is traced."""
    return [test for test in tests if not test.public][:TRACED]


def reached(code: str, program: Program, tests: Sequence[CallTest], limits: Limits, backend: str) -> list[int] | None:
    """How many of the milestones a program reaches, and of how many; None where the sandbox failed.

    Args:
        code: the program to trace, which has a function of the name of ``program``.
        program: the one meant.
        tests: calls of it, of which the hidden ones count.
    """
    wanted = milestones(program, traced(tests))
    calls = [Call("palaestra_called", [program.name, list(test.arguments)], limits.seconds) for test in traced(tests)]
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


def _tells(value: Any) -> bool:
    """Whether a result says that its sentence was carried out."""
    if isinstance(value, list):
        return len(value) > 1
    return value not in _TRIVIAL
