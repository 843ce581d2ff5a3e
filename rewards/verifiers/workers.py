"""Pool of worker processes, for computations that may take too much time or memory.

A worker is a fresh interpreter that answers JSON with JSON over two pipes (`worker.py` is its program). The pool
enforces a job's deadline by waiting on a pipe and killing the process, so it needs no signal and works from any thread.
A worker that hangs, dies or runs out of memory causes one `WorkerFailure`, and the next call gets another worker.
Callers get workers in the order of their calls, and each call sets its own longest wait. After a fork, the child
releases its parent's workers and starts its own.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
import weakref
from collections import deque
from typing import Any

from ...errors import InputError
from .json_process import ProcessLost
from .worker import encode
from .worker_process import WorkerFailure, WorkerProcess


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class WorkerPool:
    """Pool of workers that all serve one function, started when they are first needed.

    Args:
        target: ``"package.module:function"``, a function from JSON to JSON. For a module of this package, the
            ``__init__`` of its parent packages is not run in the worker, which keeps it small.
        workers: most processes, 1 or more; None takes the environment variable PALAESTRA_WORKERS, or else one for
            each core that this process may use.
        recycle: number of calls after which a worker is replaced, 1 or more.
        memory_mb: address space of a worker, MiB.
        start_seconds: longest time for the start of a worker, seconds; it does not count towards a job's deadline.

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
        self._all: set[WorkerProcess] = set()
        self.forget()
        _POOLS.add(self)

    @property
    def workers(self) -> int:
        """Largest number of processes at a time.

        Raises:
            InputError: PALAESTRA_WORKERS is not a whole number of 1 or more.
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
            WorkerFailure: the job has no answer; see its ``reason``. If a worker died, the job was tried twice.
        """
        request = encode({"job": job, "deadline": deadline})
        left, again = deadline, True
        until = time.monotonic() + wait
        while True:
            worker = self._acquire(until)
            began = None
            try:
                worker.await_ready(self.start_seconds)
                began = time.monotonic()
                reply = worker.call(request, left)
            except ProcessLost:
                self._discard(worker)
                if worker.process.returncode == -signal.SIGPROF:
                    # The function had set a CPU timer (ITIMER_PROF) around a call that cannot be interrupted.
                    raise WorkerFailure("cpu") from None
                # The worker may have been killed while idle, so try once more. A job that kills workers will kill the
                # next one too.
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
        """End all workers. Running and later calls raise `WorkerFailure`."""
        if self._pid != os.getpid():
            self.forget()
        with self._lock:
            self._closed = True
            idle, busy = self._idle, self._all.difference(self._idle)
            self._all, self._idle = set(), []
            for turn in self._queue:
                turn.set()
        for worker in idle:
            worker.end()
        for worker in busy:
            # The thread that waits for the worker sees the end of the pipe, and closes it.
            worker.process.kill()
            worker.process.wait()

    def forget(self) -> None:
        """Release all workers without ending them; a forked child calls this on its parent's workers."""
        for worker in self._all:
            worker.forget()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._all: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._queue: deque[threading.Event] = deque()  # one per waiting caller; only the first is set to take a worker
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """Process ids of the present workers."""
        return sorted(worker.process.pid for worker in list(self._all))

    def _acquire(self, until: float) -> WorkerProcess:
        """Wait in the queue, then return an idle worker or start one."""
        if self._pid != os.getpid():
            self.forget()
        turn = threading.Event()
        with self._lock:
            if self._closed:
                raise WorkerFailure("closed")
            self._queue.append(turn)
        try:
            self._call_next()
            turn.wait(max(0.0, until - time.monotonic()))
            with self._lock:
                if self._closed:
                    raise WorkerFailure("closed")
                if not turn.is_set():
                    raise WorkerFailure("busy", "no worker was free in time")
                return self._idle.pop() if self._idle else self._start()
        finally:
            with self._lock:
                self._queue.remove(turn)
            self._call_next()

    def _call_next(self) -> None:
        """Wake the first caller in the queue if it can have a worker."""
        with self._lock:
            if self._queue and (self._idle or len(self._all) < self.workers):
                self._queue[0].set()

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self.target, self.memory_mb << 20)
        self._all.add(worker)
        return worker

    def _release(self, worker: WorkerProcess) -> None:
        worker.calls += 1
        if worker.calls >= self.recycle:
            self._discard(worker)
            return
        with self._lock:
            if worker in self._all:
                self._idle.append(worker)
        self._call_next()

    def _discard(self, worker: WorkerProcess, replace: bool = False) -> None:
        try:
            with self._lock:
                mine = worker in self._all
                self._all.discard(worker)
                if mine and replace and not self._closed:
                    # Idle workers are taken from the other end, so the new worker has time to start.
                    self._idle.insert(0, self._start())
            self._call_next()
        finally:
            worker.end()


_POOLS: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool.forget()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


os.register_at_fork(after_in_child=_forget_all)
