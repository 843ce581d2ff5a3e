"""Sides of ``palaestra bench sandbox`` (a cold interpreter and the sandboxes of peers, with the interface of our
sandboxes) and the programs that all sides run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from ...envs.sandbox import Call, Job, Limits, Result, Value
from ..peer_process import PeerProcess
from . import peers

COLD = "python -c"
# Side -> means by which it contains programs.
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
    """A job and its right result."""

    job: Job
    stdout: str
    values: tuple[Value, ...] = ()

    def check(self, result: Result) -> None:
        """Raise `WrongAnswer` unless the result is right."""
        if (result.stdout, result.values) != (self.stdout, self.values):
            said = result.stderr.strip().rpartition("\n")[2] or result.reason
            raise WrongAnswer(f"printed {result.stdout!r} and returned {len(result.values)} values ({said})"[:300])


class WrongAnswer(Exception):
    """A side returned a wrong result."""


LINE = Work(Job("print(6 * 7)"), "42\n")
CALLS = Work(
    Job("def f(x): return 7 * x", calls=[Call("f", (n,)) for n in range(6)]), "", tuple(Value(7 * n) for n in range(6))
)


class ColdPython:
    """A fresh interpreter for each run, without any containment: the cost of running a program without a sandbox."""

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
        """Do nothing: there is nothing to close."""


class PeerSandbox:
    """One sandbox of a peer."""

    def __init__(self, helper: PeerProcess, side: str):
        self.helper, self.side = helper, side

    def run(self, job: Job, limits: Limits) -> Result:
        answer = self.helper.ask(side=self.side, program=job.program)
        return Result(answer["stdout"], answer["said"])

    def close(self) -> None:
        """Do nothing: the process is shared by several sides and closed by the command."""
