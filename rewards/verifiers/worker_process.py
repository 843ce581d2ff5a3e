"""Worker process of a `WorkerPool`: its program, its environment and its start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .json_process import JsonProcess
from .worker import encode

PROGRAM = Path(__file__).with_name("worker.py")
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).resolve().parents[2]
# Environment of a worker, with no other variables: one thread, one malloc arena, equal string hashes in every run.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "LC_ALL": "C.UTF-8",
}


class WorkerFailure(Exception):
    """Error for a job without an answer.

    Attributes:
        reason: "deadline", "memory", "died" (twice within the deadline), "cpu" (the function's CPU timer ended the
            process), "failed" (the function raised), "start" (the worker could not be started), "busy" (no worker was
            free in time) or "closed".
    """

    def __init__(self, reason: str, message: str = ""):
        super().__init__(f"{reason}: {message}" if message else reason)
        self.reason = reason


class WorkerProcess(JsonProcess):
    """Process that serves the function ``target``, in at most ``memory`` bytes of address space."""

    def __init__(self, target: str, memory: int):
        command = [sys.executable, "-I", "-X", "utf8", str(PROGRAM)]
        super().__init__(command, stderr=subprocess.DEVNULL, env=ENVIRONMENT, cwd="/", process_group=0)
        self.calls = 0
        self._ready = False
        paths = [path for path in sys.path if os.path.isabs(path)]
        setup = {"target": target, "package": PACKAGE, "root": str(ROOT), "paths": paths, "memory": memory}
        self._setup = encode(setup)

    def await_ready(self, seconds: float) -> None:
        """Wait until the worker has imported the function that it serves.

        Raises:
            WorkerFailure: the worker could not be started.
            TimeoutError: the start took more than ``seconds``.
            ProcessLost: the process ended.
        """
        if self._ready:
            return
        setup, self._setup = self._setup, b""
        reply = self.call(setup, seconds)
        if "error" in reply:
            raise WorkerFailure("start", reply["message"])
        self._ready = True
