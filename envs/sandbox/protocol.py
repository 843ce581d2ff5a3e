"""What every sandbox does: run a program within limits, and say how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from ...errors import InputError

MOST_SECONDS, _MOST = 86_400, 1 << 40
# Why there is no value of a call: it took too long; an earlier one or all of them did; or the run ended.
LATE, SKIPPED = "TimeoutError: no answer within {:g} s", "TimeoutError: no answer, as the time was over"
ENDED = "The program ended before it answered."
Reason = Literal["exit", "signal", "time", "memory", "output", "lost"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use; all its processes and threads together where nothing else is said.

    Args:
        seconds: wall time of the whole run; also of processor time, for each process.
        program_seconds: of these, for the program itself until it has run and its functions are called, and once more
            for what it does when they have been; None: as many as it likes.
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
    program_seconds: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is None and limit.name == "program_seconds":
                continue
            kinds, name = ((int,), "whole number") if limit.type == "int" else ((int, float), "number")
            most = MOST_SECONDS if limit.name.endswith("seconds") else _MOST
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
    """A program to run as a script.

    Args:
        program: its text.
        stdin: its standard input.
        files: texts of files that lie beside it, by name.
        calls: functions to call when it has run, one after another, each in a process of its own, which has the
            arguments when its time begins and not before. The first one that is not answered in time ends the run.
        preload: modules that are in the interpreter's memory before the program starts, so that importing them takes no
            time, as of "numpy"; those that are missing are left out. For every choice of modules there is another warm
            interpreter. Programs behave the same without it.
        packages: a folder of further packages that programs may import, such as a ``site-packages`` of the same
            Python, which they find before the interpreter's own and can only read; "" for none. It is named by an
            absolute path, on the engine's machine for "docker". Links that lead out of it lead nowhere.
    """

    program: str
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[Call] = ()
    preload: tuple[str, ...] = ()
    packages: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What a called function returned, or why it returned nothing: an exception as "Name: message", `LATE` or `SKIPPED`
    where the time was over, `ENDED` where the program ended otherwise."""

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
