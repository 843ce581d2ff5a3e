"""Processes of rows: each row of a benchmark is measured in one, which ends, with all that it started, at its limit.

Loading torch and transformers takes as long as many a row. So the process of the next row is started while one is
measured: it loads them and then waits for its request, a line of JSON on its standard input. It touches no GPU before.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_KEPT = 20_000
"""Largest number of characters kept of a row's standard error."""
_GONE_WITHIN = 3.0
"""Seconds that are waited for processes that were killed."""


class RowProcesses:
    """Carries out requests one after another.

    Args:
        program: Python program of a process, which is given this process's number as its argument.
        log: file to which each row's standard error is added.
    """

    def __init__(self, program: str, log: Path):
        self._command: Sequence[str] = (sys.executable, "-c", program, str(os.getpid()))
        self._log = log
        self._waiting: tuple[subprocess.Popen[str], IO[str]] | None = None

    def run(self, request: Mapping[str, Any], limit: float, more: bool = False) -> tuple[int | None, str]:
        """Let a process carry out a request.

        Args:
            request: has "name", for the log.
            limit: seconds until the process is ended.
            more: another request will follow.

        Returns:
            (exit code, None where it was ended at its limit; the last line that it wrote to its standard error).
        """
        process, errors = self._waiting or self._start()
        self._waiting = None
        code = None
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                assert process.stdin is not None
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.close()
            if more:
                self._waiting = self._start()
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(limit)
        finally:
            end_group(process)
        errors.seek(0)
        written = errors.read()
        errors.close()
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"=== {request['name']}: exit code {code}\n{written[-_KEPT:]}\n")
        return code, next((line for line in reversed(written.splitlines()) if line.strip()), "")

    def close(self) -> None:
        """End the process that waits for a request."""
        if self._waiting is not None:
            process, errors = self._waiting
            self._waiting = None
            end_group(process)
            if process.stdin is not None:
                process.stdin.close()
            errors.close()

    def _start(self) -> tuple[subprocess.Popen[str], IO[str]]:
        errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        # Start a new session, so that the row's child processes, which may hold the GPU, can be killed with it.
        process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=errors, stderr=errors, text=True, start_new_session=True
        )
        return process, errors


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process and its children, and wait until they are gone, as the next row needs their memory."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end = time.monotonic() + _GONE_WITHIN  # one that nobody waits for stays in the group for ever
        while time.monotonic() < end:
            os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.01)
    process.wait()


def end_with(parent: int) -> None:
    """End this process and its children soon after its parent, which may be killed at any time."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.killpg(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
