"""What every sandbox does: run a program within limits, and say how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from ...errors import InputError

_MOST_SECONDS, _MOST = 86_400, 1 << 40
Reason = Literal["exit", "signal", "time", "memory", "output", "lost"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use; all its processes and threads together where nothing else is said.

    Args:
        seconds: wall time; also of processor time, for each process.
        memory_mb: memory, MiB.
        processes: processes and threads at a time.
        files: open files of one process, and files on the disk.
        disk_mb: files written to /tmp, and to /dev/shm, MiB each.
        output_bytes: standard output, and error output, each.
        value_bytes: the values of called functions.

    Raises:
        InputError: a limit that is not positive, that is not whole where it counts something, or that is beyond what
            any machine has.
    """

    seconds: float = 2.0
    memory_mb: float = 256.0
    processes: int = 32
    files: int = 128
    disk_mb: float = 16.0
    output_bytes: int = 1 << 20
    value_bytes: int = 1 << 22

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            kinds, name = ((int,), "whole number") if limit.type == "int" else ((int, float), "number")
            most = _MOST_SECONDS if limit.name == "seconds" else _MOST
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= most:
                raise InputError(f"the limit {limit.name} must be a positive {name}, at most {most:_}, not {value!r}.")


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the program to call: its name, its arguments (plain data), and seconds for this call alone."""

    function: str
    arguments: Sequence[Any] = ()
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """A program to run as a script, its standard input, files that lie beside it (name to text), and functions to call
    when it has run."""

    program: str
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """What a called function returned, or why it returned nothing."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended.

    Args:
        stdout, stderr: what it wrote, cut at the limit; bytes that are no UTF-8 are replaced.
        exit_code: of a run that ended by itself; minus the signal's number where a signal ended it; None otherwise.
        reason: "exit", "signal", or the limit that ended it: "time", "memory", "output"; "lost" where the sandbox
            itself failed.
        seconds: wall time.
        peak_memory_mb: of the largest process, MiB.
        values: one for each call.
        valid: False where the sandbox failed, which says nothing about the program.
    """

    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    reason: Reason = "exit"
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    values: tuple[Value, ...] = ()
    valid: bool = True

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with exit code 0."""
        return self.valid and self.reason == "exit" and self.exit_code == 0


class Sandbox(Protocol):
    """One place where programs run, one at a time. Used by one thread."""

    def run(self, job: Job, limits: Limits) -> Result:
        """Never raises for what the program does; ``valid=False`` where the sandbox failed."""
        ...

    def close(self) -> None: ...
