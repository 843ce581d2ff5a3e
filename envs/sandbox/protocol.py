"""The protocol of sandboxes: a job and its limits go in, the result of the run comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from ...errors import InputError

MOST_SECONDS, _MOST = 86_400, 1 << 40
# Errors of a call without a value: the call took too long; an earlier call or the whole run did; the program ended.
LATE, SKIPPED = "TimeoutError: no answer within {:g} s", "TimeoutError: no answer, as the time was over"
ENDED = "The program ended before it answered."
Reason = Literal["exit", "signal", "time", "memory", "output", "lost"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run, for all its processes and threads together unless stated otherwise.

    Args:
        seconds: wall time of the whole run; also the processor time of each process.
        program_seconds: wall time of the program itself before its functions are called, and again after the last
            call; None for no separate limit.
        memory_mb: memory, MiB.
        processes: processes and threads at a time.
        files: open files of one process, and also files on the disk.
        disk_mb: size of the files in /tmp, and of those in /dev/shm, MiB each.
        output_bytes: size of the standard output, and of the error output, bytes each.
        value_bytes: size of the values of all calls, bytes.

    Raises:
        InputError: a limit is not positive, is a count that is not whole, or exceeds what any machine has.
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
    """A call of a function of the program: its name, its arguments (plain data), and its time limit in seconds."""

    function: str
    arguments: Sequence[Any] = ()
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """A program to run as a script.

    Args:
        program: the program's text.
        stdin: the standard input.
        files: texts of files in the program's folder, by name.
        calls: calls of the program's functions, made one after another once the script has run, each in a new process
            that receives the arguments when its time begins. The first call not answered in time ends the run.
        preload: modules that are loaded before the program starts, such as "numpy", so that importing them takes no
            time; missing modules are left out. Each choice of modules has a separate warm interpreter. Preloading
            changes nothing else.
        packages: the absolute path of a folder of further packages that programs may import, such as a
            ``site-packages`` of the same Python; for "docker" a path on the engine's machine; "" for none. The packages
            precede the interpreter's own and are read-only. Links that lead out of the folder are broken.
    """

    program: str
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[Call] = ()
    preload: tuple[str, ...] = ()
    packages: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a call, or its error: an exception as "Name: message", `LATE` or `SKIPPED` if the time was over,
    `ENDED` if the program ended otherwise."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    Args:
        stdout, stderr: the output, cut at the limit; bytes that are not UTF-8 are replaced.
        exit_code: the exit code of a run that ended by itself, or minus the number of the signal that ended the run;
            else None.
        reason: "exit", "signal", or the limit that ended the run: "time", "memory", "output"; "lost" if the sandbox
            itself failed.
        seconds: wall time.
        peak_memory_mb: the peak memory of the largest process, MiB.
        values: one for each call.
        valid: False if the sandbox failed, which says nothing about the program.
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
        """True if the program ended by itself with exit code 0."""
        return self.valid and self.reason == "exit" and self.exit_code == 0


class Sandbox(Protocol):
    """Interface of a backend, which runs one program at a time. One instance must be used by one thread only.

    A class may have a classmethod ``check()``, which raises MachineryError or MissingExtra if this machine cannot
    provide the backend. It is called when an environment that runs programs is made.
    """

    def run(self, job: Job, limits: Limits) -> Result:
        """Run a job. No program can cause an exception; the result has ``valid=False`` if the sandbox failed."""
        ...

    def close(self) -> None: ...
