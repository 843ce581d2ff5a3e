"""Criteria of good solutions, made of worked ones: the operations that are done, without their results.

They serve as a scaffold in a prompt that leaves the answer out (RuscaRL, arXiv 2508.16949).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIGNS = "0123456789 .+-*/()^"
_JOIN = re.compile(r"[\d)]\s*[-+*/^]\s*[-(\d]")


def find_operations(step: str) -> list[str]:
    """Find the operations on numbers in a line whose results it states.

    "600/12=50 gaps, so 50+1=51 trees." has two; "12 * 4 + 7 = 48 + 7 = 55" is one, "12 * 4 + 7".
    """
    found: list[str] = []
    for left in step.split("=")[:-1]:
        operation = left[len(left.rstrip(_SIGNS)) :].strip(" .")
        # What stands between two signs "=" is the same operation in another form.
        again = found and operation == left.strip()
        if _JOIN.search(operation) and operation.count("(") == operation.count(")") and not again:
            found.append(operation)
    return found


def criteria_of_solution(steps: Sequence[str]) -> list[str]:
    """Name the operations of a worked solution without their results: ``It works out 34 * 2.``

    Those in which the answer stands, as it may be a result on the way too, are left out. A solution without operations
    on numbers gives its steps but the last, those in which the answer does not stand.
    """
    *work, last = steps
    # The last step of all may give the answer in another form.
    plain = work[:-1] if len(work) > 1 else work
    answer = re.compile(rf"(?<![\w.]){re.escape(last)}(?![\w/]|\.\d)")
    found = dict.fromkeys(operation for step in work for operation in find_operations(step))
    if not found:
        return [step for step in plain if not answer.search(step)]
    return [f"It works out {operation}." for operation in found if not answer.search(operation)]
