"""Worker process under another Python interpreter, for environments of other projects.

The packages of other projects may need other versions of dependencies, draw from the global random generators, hang, or
end their process; a separate process keeps all of that out of this one. The process runs a file that loops: it reads
one JSON request per line and prints one JSON answer per line, or {"failure": SENTENCE} if the request raised an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..rewards.verifiers.json_process import JsonProcess, ProcessLost
from ..rewards.verifiers.worker import encode

_SECONDS = 180.0


class PeerFailure(RuntimeError):
    """The other project raised an error while it answered a request."""


class PeerLost(PeerFailure):
    """The worker process has ended, did not answer in time, or could not be started."""


class PeerWorker:
    """Handle of a running worker process. Requests of several threads are answered one after another.

    Args:
        python: the interpreter that has the packages.
        file: the Python file that answers requests.
        arguments: command-line arguments of the file.
        variables: additional environment variables.

    Raises:
        PeerLost: the interpreter does not exist.
    """

    def __init__(
        self, python: str, file: Path, arguments: Sequence[str] = (), variables: Mapping[str, str] | None = None
    ):
        if shutil.which(python) is None:
            raise PeerLost("there is no such program")
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-peer-")
        # The other interpreter must not import the packages of this one.
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self._worker = JsonProcess(
            [python, "-P", str(file), *arguments],
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={**kept, **(variables or {})},
        )
        self._process = self._worker.process
        self._owner = os.getpid()
        self._closing = weakref.finalize(self, _end, self._process, self._folder, self._owner)
        self._turn = threading.Lock()

    @property
    def is_alive(self) -> bool:
        """True if the process runs and was started by the current process; False in a fork, which must not use the
        pipes of its parent."""
        return os.getpid() == self._owner and self._process.poll() is None

    def ask(self, *, seconds: float = _SECONDS, **request: Any) -> dict[str, Any]:
        """Send a request, and return the answer within ``seconds``.

        Raises:
            PeerFailure: the other project raised an error; later requests can still be answered.
            PeerLost: the process has ended, or is killed because no answer came in time; later requests raise it too.
        """
        if os.getpid() != self._owner:
            raise PeerLost("it is another process's")
        with self._turn:
            try:
                answer = self._worker.call(encode(request), seconds)
            except ProcessLost:
                raise PeerLost("its process has ended") from None
            except BaseException as error:
                self._process.kill()  # a late answer must not be taken for the answer to a later request
                if isinstance(error, TimeoutError):
                    raise PeerLost(f"it did not answer in {seconds:g} seconds") from None
                raise
        if "failure" in answer:
            raise PeerFailure(answer["failure"])
        return answer

    def close(self) -> None:
        """End the process; it also ends when nothing refers to this object any more."""
        self._closing()


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str], owner: int) -> None:
    if os.getpid() != owner:
        return
    try:
        process.communicate(timeout=20)
    except (subprocess.TimeoutExpired, ValueError, OSError):
        process.kill()
        process.communicate()
    folder.cleanup()
