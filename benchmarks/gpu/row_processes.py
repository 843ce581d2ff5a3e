"""Processes of rows: each row of a benchmark runs in a process that is killed, with its children, at a time limit.

Loading torch and transformers takes as long as many a row. The process of the next row is therefore started during the
present row. The new process loads the libraries, without touching the GPU, and waits for its request, a line of JSON on
its standard input.
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
"""Largest number of characters of a row's standard error that is kept."""
_GONE_WITHIN = 3.0
"""Longest wait for killed processes, in seconds."""


class RowProcesses:
    """Runs requests one after another, each in a process.

    Args:
        program: Python program of a process, which gets the id of this process as its argument.
        log: file to which each row's standard error is appended.
    """

    def __init__(self, program: str, log: Path):
        self._command: Sequence[str] = (sys.executable, "-c", program, str(os.getpid()))
        self._log = log
        self._waiting: tuple[subprocess.Popen[str], IO[str]] | None = None

    def run(self, request: Mapping[str, Any], limit: float, more: bool = False) -> tuple[int | None, str]:
        """Let a process carry out a request.

        Args:
            request: must have "name", for the log.
            limit: seconds until the process is killed.
            more: True if another request will follow.

        Returns:
            The exit code, None if the process was killed at its limit; and the last line of its standard error.
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
        """Kill the process that waits for a request, if any."""
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
        end = time.monotonic() + _GONE_WITHIN  # a zombie that nobody waits for stays in the group for ever
        while time.monotonic() < end:
            os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.01)
    process.wait()


def end_with(parent: int) -> None:
    """Start a thread that kills this process and its children soon after its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.killpg(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
