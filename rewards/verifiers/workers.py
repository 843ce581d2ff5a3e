"""A small pool of worker processes, for computations that may take too much time or memory.

A worker is a fresh interpreter that answers JSON with JSON over two pipes (`worker.py` is its side). The pool enforces
a job's deadline by waiting on a pipe and killing the process, so it needs no signal and works from any thread. A worker
that hangs, dies or runs out of memory causes one `WorkerFailure`, and the next call gets another worker. Callers get
workers in the order of their calls, and each call has its own longest wait. After a fork, the child releases its
parent's workers and starts its own.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import Any

from ...errors import InputError
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
        reason: "deadline", "memory", "died" (twice, without the deadline), "failed" (the function raised), "start" (the
            worker could not be started), "busy" (no worker was free in time) or "closed".
    """

    def __init__(self, reason: str, message: str = ""):
        super().__init__(f"{reason}: {message}" if message else reason)
        self.reason = reason


class _Died(Exception):
    """The worker's end of a pipe is closed."""


def available_cores() -> int:
    """Count the cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class _Turn:
    """A caller's place in the queue.

    ``come`` is set when its turn has come; ``worker`` is then an idle worker, or None where the caller must start one.
    """

    def __init__(self) -> None:
        self.come = threading.Event()
        self.worker: _Worker | None = None


class WorkerPool:
    """Workers that all serve one function, started when they are first needed.

    Args:
        target: ``"package.module:function"``, a function from JSON to JSON. Of a module of this package the parent
            packages' ``__init__`` are not run in the worker, which keeps it small.
        workers: processes at most, 1 or more; None takes the environment variable PALAESTRA_WORKERS, or else one for
            each core that this process may use.
        recycle: calls after which a worker is replaced, 1 or more.
        memory_mb: address space of a worker, MiB.
        start_seconds: longest time for the start of a worker, seconds; it does not count for a job's deadline.

    Raises:
        InputError: a count that is not positive.
    """

    def __init__(
        self,
        target: str,
        *,
        workers: int | None = None,
        recycle: int = 2000,
        memory_mb: int = 1024,
        start_seconds: float = 60.0,
    ):
        for name, value in (("workers", workers), ("recycle", recycle), ("memory_mb", memory_mb)):
            if value is not None and value < 1:
                raise InputError(f"{name} of a worker pool must be 1 or more, not {value!r}.")
        self.target, self._workers, self.recycle = target, workers, recycle
        self.memory_mb, self.start_seconds = memory_mb, start_seconds
        self._all: set[_Worker] = set()
        self.forget()
        _POOLS.add(self)

    @property
    def workers(self) -> int:
        """Most processes at a time.

        Raises:
            InputError: PALAESTRA_WORKERS is no whole number of 1 or more.
        """
        if self._workers is not None:
            return self._workers
        stated = os.environ.get("PALAESTRA_WORKERS", "").strip()
        if not stated:
            return available_cores()
        if not (stated.isdecimal() and stated.isascii() and int(stated[:9]) >= 1):
            raise InputError(f"PALAESTRA_WORKERS must be a whole number of 1 or more, not {stated!r}.")
        return int(stated[:9])

    def run(self, job: Any, deadline: float, *, wait: float = 600.0) -> Any:
        """Run the function on ``job`` in a worker and return its answer.

        Args:
            job: a JSON value.
            deadline: seconds from the start of the job on a worker; waiting for a worker does not count.
            wait: longest wait for a worker, seconds. Callers are served in the order of their calls.

        Raises:
            WorkerFailure: no answer; see its ``reason``. Where a worker died by itself the job was tried twice.
        """
        request = frame({"job": job, "deadline": deadline})
        left, again = deadline, True
        until = time.monotonic() + wait
        while True:
            worker = self._acquire(until)
            began = None
            try:
                worker.await_ready(self.start_seconds)
                began = time.monotonic()
                reply = worker.call(request, left)
            except _Died:
                self._discard(worker)
                # A worker may have been killed while it was idle; a job that kills one does so again.
                left -= 0.0 if began is None else time.monotonic() - began
                if not again or left <= 0.0:
                    raise WorkerFailure("died") from None
                again = False
                continue
            except TimeoutError:
                self._discard(worker, replace=True)
                raise WorkerFailure("deadline" if began is not None else "start") from None
            except BaseException:
                self._discard(worker)
                raise
            if "error" in reply:
                fatal = reply["error"] != "failed"
                if fatal:
                    self._discard(worker)
                else:
                    self._release(worker)
                raise WorkerFailure(reply["error"], reply["message"])
            self._release(worker)
            return reply["value"]

    def close(self) -> None:
        """End all workers; running and later calls fail."""
        if self._pid != os.getpid():
            self.forget()
        with self._lock:
            self._closed = True
            idle, busy = self._idle, self._all.difference(self._idle)
            self._all, self._idle = set(), []
            while self._queue:
                self._queue.popleft().come.set()
        for worker in idle:
            worker.end()
        for worker in busy:
            # The thread that waits for it sees the end of the pipe, and closes it.
            worker.process.kill()
            worker.process.wait()

    def forget(self) -> None:
        """Release all workers without ending them, as a forked child must do with those of its parent."""
        for worker in self._all:
            worker.forget()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._all: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._queue: deque[_Turn] = deque()
        self._promised = 0  # workers that are about to be started by callers whose turn has come
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that exist now."""
        return sorted(worker.process.pid for worker in list(self._all))

    def _acquire(self, until: float) -> _Worker:
        if self._pid != os.getpid():
            self.forget()
        most = self.workers
        with self._lock:
            if self._closed:
                raise WorkerFailure("closed")
            if not self._queue:
                if self._idle:
                    return self._idle.pop()
                if len(self._all) + self._promised < most:
                    return self._start()
            turn = _Turn()
            self._queue.append(turn)
        try:
            turn.come.wait(max(0.0, until - time.monotonic()))
        except BaseException:
            self._give_up(turn)
            raise
        with self._lock:
            if not turn.come.is_set():
                self._queue.remove(turn)
                raise WorkerFailure("busy", "no worker was free in time")
            if turn.worker is not None:
                return turn.worker
            if self._closed:
                raise WorkerFailure("closed")
            self._promised -= 1
            try:
                return self._start()
            except BaseException:
                self._serve()
                raise

    def _give_up(self, turn: _Turn) -> None:
        """Leave the queue, and pass on a worker that arrived in the meantime."""
        with self._lock:
            if not turn.come.is_set():
                self._queue.remove(turn)
            elif turn.worker is not None:
                self._idle.append(turn.worker)
            elif not self._closed:
                self._promised -= 1
            self._serve()

    def _serve(self) -> None:
        """Give free workers to the waiting callers, in their order. The caller holds the lock."""
        while self._queue:
            if self._idle:
                self._queue[0].worker = self._idle.pop()
            elif len(self._all) + self._promised < self.workers:
                self._promised += 1
            else:
                return
            self._queue.popleft().come.set()

    def _start(self) -> _Worker:
        worker = _Worker(self.target, self.memory_mb << 20)
        self._all.add(worker)
        return worker

    def _release(self, worker: _Worker) -> None:
        worker.calls += 1
        if worker.calls >= self.recycle:
            self._discard(worker)
            return
        with self._lock:
            if worker in self._all:
                self._idle.append(worker)
                self._serve()

    def _discard(self, worker: _Worker, replace: bool = False) -> None:
        try:
            with self._lock:
                mine = worker in self._all
                self._all.discard(worker)
                if mine and replace and not self._closed:
                    # Idle workers are taken from the other end, so this one has time to start.
                    self._idle.insert(0, self._start())
                self._serve()
        finally:
            worker.end()


class _Worker:
    """One process and the two pipes to it. Used by one thread at a time."""

    def __init__(self, target: str, memory: int):
        with _SPAWNING:
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
        """Send one framed request and return the reply. Raises TimeoutError, or _Died."""
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
                raise _Died from None

    def _receive(self, until: float) -> dict[str, Any]:
        length = int.from_bytes(self._take(4, until), "big")
        if length > MAX_FRAME:
            raise _Died
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
                raise _Died from None
            if not part:
                raise _Died
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    @staticmethod
    def _wait(descriptor: int, event: int, until: float) -> None:
        left = until - time.monotonic()
        poll = select.poll()
        poll.register(descriptor, event)
        if left <= 0.0 or not poll.poll(left * 1000.0):
            raise TimeoutError


_POOLS: weakref.WeakSet[WorkerPool] = weakref.WeakSet()
# Held while a worker is started and while the process forks, so that every pipe in a fork belongs to a pool.
_SPAWNING = threading.Lock()


def _after_fork_in_child() -> None:
    global _SPAWNING
    _SPAWNING = threading.Lock()
    for pool in list(_POOLS):
        pool.forget()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


os.register_at_fork(
    before=lambda: _SPAWNING.acquire(),
    after_in_parent=lambda: _SPAWNING.release(),
    after_in_child=_after_fork_in_child,
)
