"""The sides of ``palaestra bench sandbox``: a cold interpreter and the sandboxes of peers, each as one of ours; and the
work that all are given."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..envs.sandbox import Call, Job, Limits, Result, Value
from ..errors import InputError
from . import bench_sandbox_peers as peers

COLD = "python -c"
# What keeps programs in, of each side.
CONTAINMENT = {
    "local": "namespaces, a filter of system calls, limits of everything",
    "docker": "a container, a filter of system calls, limits of everything",
    "unsafe-subprocess": "nothing but a limit of time",
    COLD: "nothing",
    "python -I -S -c": "nothing; without site-packages",
    **{side: keeps for side, (*_, keeps) in peers.SIDES.items()},
}


@dataclass(frozen=True)
class Work:
    """A job, and what must come of it."""

    job: Job
    stdout: str
    values: tuple[Value, ...] = ()

    def check(self, result: Result) -> None:
        """Raise `WrongAnswer` unless the result is right."""
        if (result.stdout, result.values) != (self.stdout, self.values):
            said = result.stderr.strip().rpartition("\n")[2] or result.reason
            raise WrongAnswer(f"printed {result.stdout!r} and returned {len(result.values)} values ({said})"[:300])


class WrongAnswer(Exception):
    """A side did not do what it was asked to."""


LINE = Work(Job("print(6 * 7)"), "42\n")
CALLS = Work(
    Job("def f(x): return 7 * x", calls=[Call("f", (n,)) for n in range(6)]), "", tuple(Value(7 * n) for n in range(6))
)


class ColdPython:
    """A fresh interpreter for each run, which is no sandbox: what running a program costs without one."""

    def __init__(self, *options: str):
        self.command = [sys.executable, *options, "-c"]

    def run(self, job: Job, limits: Limits) -> Result:
        command = [*self.command, job.program]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            return Result(reason="time")
        return Result(done.stdout.decode(), done.stderr.decode(errors="replace"), done.returncode)

    def close(self) -> None:
        """There is nothing to close."""


class Peers:
    """A process that runs programs in the sandboxes of the peers beside one Python."""

    def __init__(self, python: Path):
        # Peers put their files where they are started.
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-bench-")
        # -P: the file's own folder has modules whose names are also those of libraries.
        self._process = subprocess.Popen(
            [str(python), "-P", peers.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder.name,
        )
        try:
            self.versions: dict[str, str] = self._read()
        except InputError:
            self.close()
            raise

    def ask(self, **request: str) -> dict[str, str]:
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


class PeerSandbox:
    """One sandbox of a peer."""

    def __init__(self, helper: Peers, side: str):
        self.helper, self.side = helper, side

    def run(self, job: Job, limits: Limits) -> Result:
        answer = self.helper.ask(side=self.side, program=job.program)
        return Result(answer["stdout"], answer["said"])

    def close(self) -> None:
        """The process is closed by whoever started it."""
