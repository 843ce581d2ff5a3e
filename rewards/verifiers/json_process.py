"""Child process that exchanges lines of JSON over two pipes, each exchange within a deadline."""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Any

from .worker import MAX_LINE


class ProcessLost(Exception):
    """Error for a process that has ended or closed its pipe."""


class JsonProcess:
    """Handle of a process that answers one JSON line for each line that it reads. Use it from one thread at a time.

    Args:
        command: program and arguments.
        options: further arguments of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], **options: Any):
        with SPAWNING:
            self.process: subprocess.Popen[Any] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, text=False, **options
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._back = self.process.stdin, self.process.stdout
        os.set_blocking(self._to.fileno(), False)
        os.set_blocking(self._back.fileno(), False)
        self._rest = b""
        self._open = True
        self._lock = threading.Lock()

    def call(self, request: bytes, seconds: float | None) -> Any:
        """Send one line and return the parsed answer to it.

        After a time-out the process must be ended: a late answer would be taken for the answer to the next request.

        Args:
            request: a line of JSON that ends in a newline.
            seconds: longest wait; None waits without end.

        Raises:
            TimeoutError: the answer took longer than ``seconds``.
            ProcessLost: the process has ended, or its answer is too long.
        """
        until = None if seconds is None else time.monotonic() + seconds
        left = memoryview(request)
        try:
            while left:
                self._wait(self._to.fileno(), select.POLLOUT, until)
                try:
                    left = left[os.write(self._to.fileno(), left) :]
                except BlockingIOError:
                    continue
            parts, length = [self._rest], len(self._rest)
            while b"\n" not in parts[-1]:
                self._wait(self._back.fileno(), select.POLLIN, until)
                try:
                    parts.append(os.read(self._back.fileno(), 1 << 16))
                except BlockingIOError:
                    continue
                length += len(parts[-1])
                if not parts[-1] or length > MAX_LINE:
                    raise ProcessLost
        except TimeoutError:
            raise
        except (OSError, ValueError):  # a broken pipe, or one that is closed here
            raise ProcessLost from None
        parts[-1], _, self._rest = parts[-1].partition(b"\n")
        return json.loads(b"".join(parts))

    def end(self) -> None:
        """Kill and reap the process, and close the pipes."""
        with self._lock:
            if not self._open:
                return
            self._open = False
        self.process.kill()
        self.process.wait()
        self._to.close()
        self._back.close()

    def forget(self) -> None:
        """Close the pipes after a fork, in the child, without ending the process, which belongs to the parent."""
        if self._open:
            self._open = False
            self._to.close()
            self._back.close()
            # Without a return code Popen would warn about a child of another process.
            self.process.returncode = 0

    @staticmethod
    def _wait(descriptor: int, event: int, until: float | None) -> None:
        # Data that has arrived is read even after the deadline: this process may have been suspended, not the child.
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(None if until is None else 1000.0 * max(0.0, until - time.monotonic())):
            raise TimeoutError


# Held while a child is started and while this process forks, so that every pipe in a fork belongs to a known child.
SPAWNING = threading.Lock()


def _replace_lock() -> None:
    global SPAWNING
    SPAWNING = threading.Lock()  # another thread of the parent may hold the inherited one


os.register_at_fork(
    before=lambda: SPAWNING.acquire(), after_in_parent=lambda: SPAWNING.release(), after_in_child=_replace_lock
)
