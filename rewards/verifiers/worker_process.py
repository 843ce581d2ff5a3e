"""One worker process and the two pipes to it, for `WorkerPool`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .worker import MAX_FRAME, frame

PROGRAM = Path(__file__).with_name("worker.py")
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).resolve().parents[2]
# The whole environment of a worker: one thread, one arena, the same hash of every string in every run.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "LC_ALL": "C.UTF-8",
}


class WorkerFailure(Exception):
    """A job without an answer.

    Attributes:
        reason: "deadline", "memory", "died" (twice, without the deadline), "cpu" (its own timer of
            processor time ended it), "failed" (the function raised), "start" (the
            worker could not be started), "busy" (no worker was free in time) or "closed".
    """

    def __init__(self, reason: str, message: str = ""):
        super().__init__(f"{reason}: {message}" if message else reason)
        self.reason = reason


class WorkerDied(Exception):
    """The worker's end of a pipe is closed."""


class WorkerProcess:
    """One process and the two pipes to it. Used by one thread at a time."""

    def __init__(self, target: str, memory: int):
        with SPAWNING:
            inside, self.to = os.pipe()
            self.back, outside = os.pipe()
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-I", "-X", "utf8", str(PROGRAM)],
                    stdin=inside,
                    stdout=outside,
                    stderr=subprocess.DEVNULL,
                    env=ENVIRONMENT,
                    cwd="/",
                    process_group=0,
                )
            except BaseException:
                os.close(self.to)
                os.close(self.back)
                raise
            finally:
                os.close(inside)
                os.close(outside)
        os.set_blocking(self.to, False)
        os.set_blocking(self.back, False)
        self.calls = 0
        self.ready = False
        self._open = True
        self._lock = threading.Lock()
        paths = [path for path in sys.path if os.path.isabs(path)]
        setup = {"target": target, "package": PACKAGE, "root": str(ROOT), "paths": paths, "memory": memory}
        self._setup = frame(setup)

    def await_ready(self, seconds: float) -> None:
        """Return once the worker has imported the function that it serves."""
        if self.ready:
            return
        until = time.monotonic() + seconds
        if self._setup:
            self._send(self._setup, until)
            self._setup = b""
        reply = self._receive(until)
        if "error" in reply:
            raise WorkerFailure("start", reply["message"])
        self.ready = True

    def call(self, request: bytes, seconds: float) -> dict[str, Any]:
        """Send one framed request and return the reply. Raises TimeoutError, or WorkerDied."""
        until = time.monotonic() + seconds
        self._send(request, until)
        return self._receive(until)

    def end(self) -> None:
        """Kill and reap the process, close the pipes."""
        with self._lock:
            if not self._open:
                return
            self._open = False
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)

    def forget(self) -> None:
        """Close this process's copies of the pipes; the worker still belongs to the parent."""
        if self._open:
            self._open = False
            os.close(self.to)
            os.close(self.back)
            # Otherwise Popen would warn about a child of another process.
            self.process.returncode = 0

    def _send(self, data: bytes, until: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self.to, select.POLLOUT, until)
            try:
                view = view[os.write(self.to, view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise WorkerDied from None

    def _receive(self, until: float) -> dict[str, Any]:
        length = int.from_bytes(self._take(4, until), "big")
        if length > MAX_FRAME:
            raise WorkerDied
        return json.loads(self._take(length, until))

    def _take(self, count: int, until: float) -> bytes:
        parts = []
        while count:
            self._wait(self.back, select.POLLIN, until)
            try:
                part = os.read(self.back, count)
            except BlockingIOError:
                continue
            except OSError:
                raise WorkerDied from None
            if not part:
                raise WorkerDied
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    @staticmethod
    def _wait(descriptor: int, event: int, until: float) -> None:
        # Data that has arrived is read even after the deadline: this process may have been suspended, not the worker.
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(1000.0 * max(0.0, until - time.monotonic())):
            raise TimeoutError


# Held while a worker is started and while the process forks, so that every pipe in a fork belongs to a pool.
SPAWNING = threading.Lock()


def replace_lock_after_fork() -> None:
    """Give a forked child its own lock; another thread of the parent may hold the inherited one."""
    global SPAWNING
    SPAWNING = threading.Lock()
