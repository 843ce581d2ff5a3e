"""Criteria of good solutions, derived from worked solutions: the arithmetic operations used, without their results.

A prompt can show the criteria as a scaffold that does not contain the answer (RuscaRL, arXiv 2508.16949).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIGNS = "0123456789 .+-*/()^"
_JOIN = re.compile(r"[\d)]\s*[-+*/^]\s*[-(\d]")


def find_operations(step: str) -> list[str]:
    """Return the arithmetic operations in a line that are followed by "=" and a result.

    "600/12=50 gaps, so 50+1=51 trees." has two; "12 * 4 + 7 = 48 + 7 = 55" is one, "12 * 4 + 7".
    """
    found: list[str] = []
    for left in step.split("=")[:-1]:
        operation = left[len(left.rstrip(_SIGNS)) :].strip(" .")
        # The part between two signs "=" is the same operation in another form.
        again = found and operation == left.strip()
        if _JOIN.search(operation) and operation.count("(") == operation.count(")") and not again:
            found.append(operation)
    return found


def criteria_of_solution(steps: Sequence[str]) -> list[str]:
    """Return one criterion for each operation of a worked solution, without the result: ``It works out 34 * 2.``

    Operations that contain the answer as a number are left out. If no step has an operation on numbers, the criteria
    are the steps before the answer, except the last of several and except those that contain the answer.

    Args:
        steps: the worked solution, the last step being the answer; at least one.
    """
    *work, last = steps
    # The last step before the answer may state the answer in another form.
    plain = work[:-1] if len(work) > 1 else work
    answer = re.compile(rf"(?<![\w.]){re.escape(last)}(?![\w/]|\.\d)")
    found = dict.fromkeys(operation for step in work for operation in find_operations(step))
    if not found:
        return [step for step in plain if not answer.search(step)]
    return [f"It works out {operation}." for operation in found if not answer.search(operation)]
