"""Encoding of jobs for the process that runs them, and decoding of its reports to results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .inside.frames import CALL
from .inside.program import as_bytes, from_plain, to_plain
from .protocol import ENDED, LATE, SKIPPED, Call, Job, Result, Value


def encode_job(job: Job) -> dict[str, bytes]:
    """Encode a job as the parts that `inside.frames.PARTS` names: the text, JSON of the files' texts by name, the
    standard input, and the calls, each a `CALL` header and JSON of a function's name and arguments.

    Raises:
        TypeError: an argument of a call is no plain data.
    """
    calls = []
    for call in job.calls:
        data = json.dumps([call.function, [to_plain(item) for item in call.arguments]]).encode()
        calls.append(CALL.pack(len(data), call.seconds) + data)
    return {
        "program": job.program.encode("utf-8", "surrogatepass"),
        "files": json.dumps(dict(job.files)).encode() if job.files else b"",
        "stdin": as_bytes(job.stdin),
        "calls": b"".join(calls),
    }


def decode_result(
    report: Mapping[str, Any], stdout: bytes, stderr: bytes, values: bytes, calls: Sequence[Call]
) -> Result:
    """Build a result from a supervisor's report.

    Args:
        report: as returned by `inside.run.SupervisedRun.carry_out`.
        stdout, stderr: the output.
        values: the answers of calls, lines of JSON.
        calls: the calls of the job.
    """
    code = report["code"]
    reason = report["reason"] or ("exit" if code >= 0 else "signal")
    output = stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
    # The value of a call is the first answer written during it. The script itself may have written it; this proves only
    # that it knew the value in time.
    spans: Sequence[Any] = report.get("spans", ()) if calls else ()
    found = [_decode_value(values[begin:end], place, len(calls)) for place, (begin, end) in enumerate(spans)]
    if len(found) < len(calls) and report["reason"] == "time" and report.get("ready"):
        late = calls[len(found)].seconds
        found.append(Value(error=SKIPPED if report["over"] else LATE.format(late)))
        found += [Value(error=SKIPPED)] * (len(calls) - len(found))
    found += [Value(error=ENDED)] * (len(calls) - len(found))
    return Result(*output, code, reason, report["seconds"], report["peak"] / 1024, tuple(found))


def _decode_value(lines: bytes, place: int, calls: int) -> Value:
    for line in lines.split(b"\n", calls)[:calls]:
        try:
            answer = json.loads(line)
            if type(answer["call"]) is int and answer["call"] == place:
                return Value(error=str(answer["error"])) if "error" in answer else Value(from_plain(answer["value"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            continue
    return Value(error=ENDED)
