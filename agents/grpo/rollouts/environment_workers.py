"""Threads that reset and step environments while the sampler decodes, with a time limit per call.

A call that exceeds the limit counts as failed. Python cannot end its thread, so the thread is abandoned and replaced.
Input: functions, each under a key. Output: the keys of finished calls with their result or exception, as soon as they
finish.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from ....checks import check_count
from ....errors import InputError

Ended = tuple[int, Future[Any]]
"""(key of a finished call, its result or exception)."""


class StepTimeout(Exception):
    """A call of an environment exceeded the time limit."""


@dataclass(eq=False)
class _Call:
    queue: CallQueue
    key: int
    function: Callable[[], object]
    begun: float | None = None
    settled: bool = False
    end: Future[Any] = field(default_factory=Future)


class EnvironmentWorkers:
    """Threads that run calls of environments; several `CallQueue`s may share them.

    Args:
        count: most calls that run at a time, at least 1.
        seconds: time limit of one call; 0 for none.
    """

    def __init__(self, count: int, seconds: float = 0.0):
        check_count("env_workers", count, 1)
        if not 0 <= seconds < float("inf"):
            raise InputError(f"env_seconds must be a number of seconds, or 0 for no limit, not {seconds}.")
        self.count, self.seconds = count, seconds
        self._waiting: SimpleQueue[_Call] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0

    def queue(self) -> CallQueue:
        """Return a new queue of calls with its own keys."""
        return CallQueue(self)

    def enqueue(self, call: _Call) -> None:
        """Queue a call for the next free thread; start another thread if there are fewer than ``count``."""
        self._waiting.put(call)
        with self._lock:
            if self._threads < self.count:
                self._threads += 1
                self.start_thread()

    def start_thread(self) -> None:
        """Start a thread, also as replacement of one that hangs in a call."""
        # A daemon: a thread that hangs must not keep the process from ending.
        threading.Thread(target=self._work, name="environment", daemon=True).start()

    def _work(self) -> None:
        going_on = True
        while going_on:
            call = self._waiting.get()
            going_on = call.queue.run(call)


class CallQueue:
    """Queue of related calls, such as those of episodes played together. A key must not have two calls at a time."""

    def __init__(self, workers: EnvironmentWorkers):
        self._workers = workers
        self._changed = threading.Condition()
        self._calls: dict[int, _Call] = {}
        self._ended: dict[int, Future[Any]] = {}

    def __len__(self) -> int:
        """Return the number of calls whose results have not been taken."""
        return len(self._calls) + len(self._ended)

    def submit(self, key: int, function: Callable[[], object]) -> None:
        """Queue a function to be called by a thread."""
        call = _Call(self, key, function)
        with self._changed:
            self._calls[key] = call
        self._workers.enqueue(call)

    def ready(self) -> bool:
        """Return True if a finished call waits to be taken."""
        return bool(self._ended)

    def take(self, wait: bool) -> list[Ended]:
        """Return the calls that have ended since the last `take`, in the order of their ends.

        Args:
            wait: wait until at least one has ended, unless there are no calls.
        """
        with self._changed:
            self._wait_until(lambda: not wait or bool(self._ended) or not self._calls)
            ended, self._ended = list(self._ended.items()), {}
            return ended

    def take_one(self, key: int) -> Ended:
        """Wait for the call of ``key`` and return it."""
        with self._changed:
            self._wait_until(lambda: key in self._ended)
            return key, self._ended.pop(key)

    def cancel(self) -> set[int]:
        """Cancel the calls that have not begun and wait for the others.

        Returns:
            The keys of the calls that did not fail; their environments can be used again.
        """
        with self._changed:
            for call in [call for call in self._calls.values() if call.begun is None]:
                self._settle(call)
            self._wait_until(lambda: not self._calls)
            usable = {key for key, end in self._ended.items() if end.exception() is None}
            self._ended = {}
            return usable

    def run(self, call: _Call) -> bool:
        """Run a call in a worker's thread. Return False if the call exceeded the limit, so that the thread must end."""
        with self._changed:
            if call.settled:
                return True
            call.begun = time.monotonic()
        result, error = None, None
        try:
            result = call.function()
        except Exception as raised:
            error = raised
        except BaseException as raised:  # an environment that calls sys.exit
            error = RuntimeError(f"the environment raised {raised!r}")
        with self._changed:
            if call.settled:
                return False
            self._settle(call, result, error)
            self._changed.notify_all()
            return True

    def _settle(self, call: _Call, result: Any = None, error: Exception | None = None) -> None:
        call.settled = True
        if error is None:
            call.end.set_result(result)
        else:
            call.end.set_exception(error)
        del self._calls[call.key]
        self._ended[call.key] = call.end

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; calls that exceed the limit meanwhile fail."""
        while True:
            left = self._end_late_calls()
            if condition():
                return
            self._changed.wait(left)

    def _end_late_calls(self) -> float | None:
        """Fail calls beyond the limit. Return the seconds until the next one can reach it; None without a limit."""
        limit = self._workers.seconds
        if not limit:
            return None
        now = time.monotonic()
        for call in [c for c in self._calls.values() if c.begun is not None and now - c.begun >= limit]:
            late = StepTimeout(f"an environment took more than {limit:g} s, the limit of --env-seconds")
            self._settle(call, error=late)
            self._workers.start_thread()
        return min((limit - (now - c.begun) for c in self._calls.values() if c.begun is not None), default=limit)
