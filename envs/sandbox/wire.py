"""How jobs travel to where programs run, and what happened there comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .inside.program import plain, restored
from .protocol import Job, Result, Value


def encoded(job: Job, *, stdin: bool = True) -> bytes:
    """The job as `inside.program.run` reads it, with its standard input or, where that is brought otherwise, without.

    Raises:
        TypeError: an argument of a call is no plain data.
    """
    calls = [[call.function, [plain(item) for item in call.arguments], call.seconds] for call in job.calls]
    data = {"program": job.program, "stdin": job.stdin if stdin else None, "files": dict(job.files), "calls": calls}
    return json.dumps(data).encode()


def result(report: Mapping[str, Any], stdout: bytes, stderr: bytes, values: bytes, calls: int) -> Result:
    """What the supervisor reported.

    Args:
        report: "code" (as of `subprocess`, or None), "reason" (a limit, or empty), "seconds", "peak" (KiB).
        stdout, stderr: what was written.
        values: a line of JSON for each call that was answered.
        calls: how many there were.
    """
    code = report["code"]
    reason = report["reason"] or ("exit" if code >= 0 else "signal")
    said = stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
    return Result(*said, code, reason, report["seconds"], report["peak"] / 1024, _values(values, calls))


def _values(lines: bytes, calls: int) -> tuple[Value, ...]:
    """The first thing told of each call. The program itself may have told it, which proves nothing but that it knows
    the value."""
    found: dict[int, Value] = {}
    # A call that is ended after it told its value has two lines.
    for line in lines.split(b"\n", 2 * calls)[: 2 * calls]:
        try:
            told = json.loads(line)
            place = told["call"]
            if type(place) is int and place not in found:
                found[place] = Value(error=str(told["error"])) if "error" in told else Value(restored(told["value"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            continue
    return tuple(found.get(place, Value(error="The program ended before it answered.")) for place in range(calls))
