"""A process under another Python, where peers are installed: requests and answers are lines of JSON."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..rewards.verifiers.json_process import JsonProcess, ProcessLost
from ..rewards.verifiers.worker import encode


class PeerProcess:
    """Runs a file whose first line of output gives the installed peers and their versions.

    Args:
        python: the interpreter.
        file: the program, which imports nothing of this package.
        *arguments: arguments of the program.

    Attributes:
        versions: name of each peer -> version; or other content of the first line.

    Raises:
        InputError: the process ended before it answered; `ask` raises it too.
    """

    def __init__(self, python: Path, file: str, *arguments: str):
        # Peers write files into their working directory.
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-bench-")
        # -P: modules in the file's folder have the same names as libraries and would shadow them.
        self._process = JsonProcess([str(python.absolute()), "-P", file, *arguments], cwd=self._folder.name)
        try:
            self.versions: Any = self._exchange(b"")
        except InputError:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        return self._exchange(encode(request))

    def close(self) -> None:
        self._process.end()
        self._folder.cleanup()

    def _exchange(self, request: bytes) -> Any:
        try:
            return self._process.call(request, None)
        except ProcessLost:
            python = self._process.process.args[0]  # type: ignore[index]
            raise InputError(f"the peers' process under {python!r} ended; run it by hand to see why.") from None
