"""The sandbox as the runner of factor programs (see `palaestra.rewards.design.factors`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .reward_programs import run_on_each

# Every step has a new namespace, so that a program remembers nothing of earlier steps.
_HARNESS = """
def judge(source, steps):
    code = compile(source, "factors.py", "exec")
    return [_judge(code, step) for step in steps]


def _judge(code, step):
    try:
        names = {"__name__": "factors"}
        exec(code, names)
        result = names["factors"](step)
        if not isinstance(result, dict) or not result:
            raise TypeError("factors must return a dict of named numbers, not " + repr(result)[:80])
        if len(result) > 32:
            raise ValueError("factors must return at most 32 numbers, not " + str(len(result)))
        for name, number in result.items():
            if not isinstance(name, str) or not isinstance(number, (int, float)):
                raise TypeError("a factor must be a number by name, not " + repr(name)[:80] + ": " + repr(number)[:80])
            if not abs(number) <= 1e6:
                raise ValueError("a factor must be a finite number up to 1e6, not " + repr(name)[:80])
        return [{name: float(number) for name, number in result.items()}, ""]
    except BaseException as error:
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "factors.py":
                line = trace.tb_lineno
            trace = trace.tb_next
        place = " (line " + str(line) + ")" if line else ""
        return [{}, type(error).__name__ + place + ": " + str(error)[:300]]
"""


def compute_in_sandbox(program: str, steps: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Run a factor program on each step, all in one call. Return [numbers by name, error or ""] of each; None if the
    sandbox failed. A `palaestra.rewards.design.factors.FactorRunner`."""
    return run_on_each(_HARNESS, program, steps, lambda error: [{}, error])
