"""A process under another Python, where peers are installed: requests and answers are lines of JSON."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..errors import InputError


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
        self._process = subprocess.Popen(
            [str(python.absolute()), "-P", file, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder.name,
        )
        try:
            self.versions: Any = self._read()
        except InputError:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def close(self) -> None:
        self._process.kill()
        # Also waits, and closes both pipes.
        self._process.communicate()
        self._folder.cleanup()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            python = self._process.args[0]  # type: ignore[index]
            raise InputError(f"the peers' process under {python!r} ended; run it by hand to see why.")
        return json.loads(line)
