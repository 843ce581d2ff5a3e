"""The backend "unsafe-subprocess": a plain subprocess without any protection, for trusted programs only."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .inside.frames import PROGRAM
from .protocol import Call, Job, Limits, Result
from .wire import decode_result, encode_job

# Seconds between two polls of a program during calls.
_NAP = 0.02
_RUNNER = """
import sys
sys.path[0] = sys.argv[1]
from inside import program
source, values, files, *calls = map(int, sys.argv[2:])
program.run(source, values, calls, files if files >= 0 else None)
"""


class UnsafeSubprocess:
    """Backend that runs each program in a new interpreter and a new folder, with this user's rights: a program can read
    and write this user's files and use the network. Only wall time and the size of the output are limited; nothing is
    preloaded."""

    def run(self, job: Job, limits: Limits) -> Result:
        parts = encode_job(job)
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="palaestra-"))
            (Path(folder) / PROGRAM).write_bytes(parts["program"])
            files = {name: stack.enter_context(tempfile.TemporaryFile()) for name in (*parts, "1", "2", "values")}
            for name, data in parts.items():
                files[name].write(data)
                files[name].seek(0)
            places = {name: file.fileno() for name, file in files.items()}
            words = [places["program"], places["values"], places["files"] if job.files else -1]
            answered, ready = os.pipe()
            if job.calls:
                words += [places["calls"], ready]
            stack.callback(os.close, answered)
            with open(ready, "wb", 0):
                begun = time.monotonic()
                process = subprocess.Popen(
                    [sys.executable, "-c", _RUNNER, str(Path(__file__).parent), *map(str, words)],
                    cwd=folder,
                    env={**os.environ, **({"PYTHONPATH": job.packages} if job.packages else {})},
                    stdin=files["stdin"] if job.stdin else subprocess.DEVNULL,
                    stdout=files["1"],
                    stderr=files["2"],
                    pass_fds=[places[name] for name in ("program", "values", "files", "calls")] + [ready],
                    start_new_session=True,
                )
            try:
                report = _follow(process, answered, job.calls, limits, begun)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            report |= {"seconds": time.monotonic() - begun, "peak": 0}
            sizes = {"1": limits.output_bytes, "2": limits.output_bytes, "values": limits.value_bytes}
            if any(os.fstat(places[name]).st_size > size for name, size in sizes.items()):
                report.update(code=None, reason="output")
            out, err, values = [os.pread(places[name], int(size), 0) for name, size in sizes.items()]
            # This backend cannot keep a program from answering a call before it is made.
            report["spans"] = [(0, len(values))] * max(report.pop("answered") - 1, 0)
            return decode_result(report, out, err, values, job.calls)

    def close(self) -> None:
        """Do nothing: each run ends its interpreter."""


def _follow(
    process: subprocess.Popen[bytes], answered: int, calls: Sequence[Call], limits: Limits, begun: float
) -> dict[str, Any]:
    """Wait until a program ends or takes too long. Return a report like that of `inside.run.SupervisedRun.carry_out`,
    and in it "answered", the number of times that the program was ready for a call."""
    around = math.inf if limits.program_seconds is None else limits.program_seconds
    parts = [around, *[call.seconds for call in calls], around]
    ready, deadline, until = 0, begun + limits.seconds, begun + around
    report: dict[str, Any] = {"code": None, "reason": "", "ready": False, "over": False, "answered": 0}
    while (now := time.monotonic()) < min(until, deadline):
        with contextlib.suppress(subprocess.TimeoutExpired):
            report["code"] = process.wait(0 if calls else min(until, deadline) - now)
        ended = report["code"] is not None
        # Another process may keep the pipe open, so the end of the program cannot be seen from the pipe.
        if calls and select.select([answered], [], [], 0 if ended else _NAP)[0] and os.read(answered, 1):
            ready += 1
            until = time.monotonic() + parts[min(ready, len(calls) + 1)]
        elif ended:
            return {**report, "ready": ready > 0, "answered": ready}
    return {**report, "code": None, "reason": "time", "ready": ready > 0, "over": deadline <= until, "answered": ready}
