"""The sandbox as the runner of reward programs (see `palaestra.rewards.design`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .protocol import Call, Limits
from .running import run

SECONDS = 1.0
"""Time limit of a call with a single episode, seconds."""
_SHARE = 0.02
"""Time added to the limit for each further episode of a call, seconds."""
_PATIENCE = 3
"""Number of single episodes over their time limit after which the remaining ones are not run."""
_LATE = "TimeoutError: "

# Every episode has a new namespace, so that a program remembers nothing of earlier episodes.
_HARNESS = """
def judge(source, episodes):
    code = compile(source, "reward.py", "exec")
    return [_judge(code, episode) for episode in episodes]


def _judge(code, episode):
    try:
        names = {"__name__": "reward"}
        exec(code, names)
        result = names["reward"](episode)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError("reward must return (sparse, dense), not " + repr(result)[:80])
        sparse, dense = result
        if not isinstance(sparse, (int, float)) or sparse not in (-1, 0, 1):
            raise ValueError("sparse must be -1, 0 or 1, not " + repr(sparse)[:80])
        terms = dense if isinstance(dense, dict) else {"dense": dense}
        if len(terms) > 32:
            raise ValueError("dense must have at most 32 terms, not " + str(len(terms)))
        for name, term in terms.items():
            if not isinstance(name, str) or not isinstance(term, (int, float)):
                found = repr(name)[:80] + ": " + repr(term)[:80]
                raise TypeError("dense must be a number or a dict of numbers by name, not " + found)
        return [int(sparse), {name: _to_float(term) for name, term in terms.items()}, ""]
    except BaseException as error:
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "reward.py":
                line = trace.tb_lineno
            trace = trace.tb_next
        place = " (line " + str(line) + ")" if line else ""
        return [0, {}, type(error).__name__ + place + ": " + str(error)[:300]]


def _to_float(number):
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
"""


def judge_in_sandbox(program: str, episodes: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Run a reward program on each episode, all in one call. Return [sparse, dense terms by name, error or ""] of each;
    None if the sandbox failed. A `palaestra.rewards.design.program_values.Runner`."""
    return run_on_each(_HARNESS, program, episodes, lambda error: [0, {}, error])


def run_on_each(
    harness: str, program: str, items: Sequence[Any], failed: Callable[[str], list[Any]]
) -> list[Any] | None:
    """Run a program on each item, all in one call of the function ``judge(program, items)`` of ``harness``.

    If that call is not answered (an endless loop, too much memory), each item has a separate call; after three of these
    took too long, the remaining items are not run.

    Args:
        failed: makes the answer of a failed item from the reason; the answer's last entry must be the reason.

    Returns:
        an answer for each item, or None if the sandbox failed.
    """
    seconds = SECONDS + _SHARE * (len(items) - 1)
    # Only the harness runs before the call.
    limits = Limits(seconds=seconds + 1.0)
    result = run(harness, limits=limits, calls=[Call("judge", (program, list(items)), seconds)])
    if not result.valid:
        return None
    answer = result.values[0]
    if not answer.error:
        whole = isinstance(answer.value, list) and len(answer.value) == len(items)
        return answer.value if whole else [None] * len(items)
    if len(items) == 1:
        return [failed("MemoryError: too much memory" if result.reason == "memory" else answer.error)]
    answers: list[Any] = []
    late = 0
    for item in items:
        if late == _PATIENCE:
            answers.append(failed(f"{_LATE}not run, as {_PATIENCE} episodes of this call took too long"))
            continue
        alone = run_on_each(harness, program, [item], failed)
        if alone is None:
            return None
        late += str(alone[0][-1]).startswith(_LATE)
        answers += alone
    return answers
