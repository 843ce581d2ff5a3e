"""A queue in front of several sandboxes: jobs run in the order of their submission, each on the next free sandbox."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future

from ...errors import InputError, MachineryError
from .protocol import Job, Limits, Result, Sandbox

_Entry = tuple[Job, Limits, "Future[Result]"]


class Pool:
    """Sandboxes of one kind, each started when it is first needed.

    A lost sandbox is replaced and its job retried once; a job that loses two sandboxes has ``valid=False``. After a
    fork the child starts new sandboxes.

    Args:
        make: makes a sandbox; an exception of ``make`` becomes the exception of the job's future, as a MachineryError
            if the machine is the cause.
        workers: the maximum number of sandboxes; None for the number of processor cores that this process may use.

    Raises:
        InputError: workers below 1.
    """

    def __init__(self, make: Callable[[], Sandbox], workers: int | None = None):
        self.make = make
        self.workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if self.workers < 1:
            raise InputError(f"workers of a pool must be 1 or more, not {workers!r}.")
        self._reset()
        _POOLS.add(self)

    def submit(self, job: Job, limits: Limits) -> Future[Result]:
        """Queue a job and return the future of its result, which ``asyncio.wrap_future`` makes awaitable.

        Raises:
            InputError: the pool is closed.
        """
        answer: Future[Result] = Future()
        with self._lock:
            if self._closed:
                raise InputError("this pool of sandboxes is closed; make another.")
            self._waiting += 1
            if self._waiting > self._idle and len(self._threads) < self.workers:
                thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._queue.put((job, limits, answer))
        return answer

    def close(self) -> None:
        """Wait for the running jobs, cancel the waiting ones, and end all sandboxes."""
        with self._lock:
            self._closed = True
            threads = list(self._threads)
            while True:
                try:
                    entry = self._queue.get_nowait()
                except queue.Empty:
                    break
                if entry is not None:
                    entry[2].cancel()
            for _ in threads:
                self._queue.put(None)
        for thread in threads:
            thread.join()

    def _reset(self) -> None:
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = self._waiting = 0
        self._closed = False

    def _serve(self) -> None:
        sandbox: Sandbox | None = None
        while True:
            with self._lock:
                self._idle += 1
            entry = self._queue.get()
            with self._lock:
                self._idle -= 1
                if entry is not None:
                    self._waiting -= 1
            if entry is None:
                break
            job, limits, answer = entry
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                result = Result(valid=False)
                for _ in range(_TRIES):
                    sandbox = sandbox or self.make()
                    result = sandbox.run(job, limits)
                    if result.valid:
                        break
                    sandbox.close()
                    sandbox = None
            except (InputError, OSError) as error:
                failure = MachineryError(
                    str(error) if isinstance(error, InputError) else f"no sandbox starts: {error}."
                )
                failure.__cause__ = error
                answer.set_exception(failure)
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(result)
        if sandbox is not None:
            sandbox.close()


# A job that loses two sandboxes is probably the cause.
_TRIES = 2
_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _reset_all() -> None:
    """Reset all pools after a fork: the child has none of the threads, but shares their sockets."""
    for pool in list(_POOLS):
        pool._reset()


os.register_at_fork(after_in_child=_reset_all)
