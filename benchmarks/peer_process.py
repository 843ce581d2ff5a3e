"""Processes that answer requests line by line, under this Python or under another one where peers are installed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..rewards.verifiers.json_process import JsonProcess, ProcessLost
from . import peer_server
from .harness import check_pythons


class AnswerTimeout(TimeoutError):
    """A process did not answer within the time limit."""


class LineProcess:
    """A process that answers every line of input with a line of JSON; `close` kills it with all its child processes.

    Args:
        command: program and arguments.
        options: further arguments of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], **options: Any):
        # A new session: the process can be killed with its children, and Ctrl-C reaches only the parent.
        self._lines = JsonProcess(command, start_new_session=True, **options)
        self._process = self._lines.process

    def send(self, line: str, limit: float | None = None) -> Any:
        """Send a line and return the answer.

        Args:
            limit: time limit in seconds; None: no limit.

        Raises:
            AnswerTimeout: there is no answer within the limit.
            EOFError: the process has ended.
        """
        return self.receive(limit, line.encode() + b"\n")

    def receive(self, limit: float | None = None, request: bytes = b"") -> Any:
        """Return the next line of output as JSON; ``limit`` and errors as in `send`."""
        try:
            return self._lines.call(request, limit)
        except TimeoutError:
            raise AnswerTimeout(f"no answer within {limit:g} s") from None
        except ProcessLost:
            raise EOFError("the process ended") from None

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._lines.end()


class PeerProcess(LineProcess):
    """A process of `peer_server` that serves a file of peers under another Python, in a temporary folder.

    Args:
        python: the interpreter.
        file: Python file with the peers, see `peer_server`.
        arguments: arguments of the file's ``find_installed``.
        quiet: discard the standard error of the peers.
        startup: seconds within which the peers must be loaded; None: no limit.

    Attributes:
        versions: name of each peer -> version; or whatever else ``find_installed`` returns.
        folder: the working directory, in which peers may leave files; removed by `close`.

    Raises:
        InputError: the process ended before it answered; `ask` raises it too.
    """

    def __init__(self, python: Path, file: str, *arguments: str, quiet: bool = False, startup: float | None = None):
        self._python = str(python.absolute())
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-bench-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        # -P: modules in the file's folder have the same names as libraries and would shadow them.
        command = [self._python, "-P", peer_server.__file__, file, *arguments]
        try:
            super().__init__(command, cwd=self.folder, stderr=subprocess.DEVNULL if quiet else None)
        except OSError:
            self._folder.cleanup()
            raise
        try:
            self.versions: Any = self.receive(startup)
        except BaseException:
            self.close()
            raise

    def ask(self, limit: float | None = None, /, **request: Any) -> Any:
        return self.send(json.dumps(request), limit)

    def receive(self, limit: float | None = None, request: bytes = b"") -> Any:
        try:
            return super().receive(limit, request)
        except EOFError:
            raise InputError(f"the peers' process under {self._python!r} ended; run it by hand to see why.") from None

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


@contextlib.contextmanager
def open_peers(pythons: Iterable[Path], file: str) -> Iterator[dict[str, PeerProcess]]:
    """Start a process under each interpreter; yield peer -> its process, the first one if several have the peer."""
    check_pythons(pythons)
    with contextlib.ExitStack() as stack:
        processes = []
        for python in pythons:
            processes.append(PeerProcess(python, file))
            stack.callback(processes[-1].close)
        yield {peer: process for process in reversed(processes) for peer in process.versions}


def find_peers(pythons: Iterable[Path], file: str, startup: float | None = None) -> dict[str, tuple[Path, str]]:
    """Return peer -> (interpreter, version) of each installed peer, the first interpreter if several have the peer."""
    found: dict[str, tuple[Path, str]] = {}
    for python in pythons:
        process = PeerProcess(python, file, quiet=True, startup=startup)
        process.close()
        for name, version in process.versions.items():
            found.setdefault(name, (python, version))
    return found
