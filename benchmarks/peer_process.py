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
        *arguments: what it is given.

    Attributes:
        versions: version of each peer, by its name; or what else the first line says.

    Raises:
        InputError: the process ended before it answered; `ask` raises it too.
    """

    def __init__(self, python: Path, file: str, *arguments: str):
        # Peers put their files where they are started.
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-bench-")
        # -P: the file's own folder has modules whose names are also those of libraries.
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
