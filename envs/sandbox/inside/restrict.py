"""Restriction of a forked process before it runs the program: limits, user, descriptors, privileges, system calls."""

from __future__ import annotations

import math
import os
import resource
import signal
from collections.abc import Iterable, Mapping

from . import kernel

# The user of programs if the supervisor is root.
USER = 1000
_STACK = 8 << 20
_QUEUED_SIGNALS = 1024
_LOCKED_MEMORY = 1 << 16
# The supervisor, bubblewrap and the first process of the run's namespace: with a single user they count as processes of
# the run.
_PROCESSES = 3


def restrict(limits: Mapping[str, float], filters: bytes, streams: tuple[int, int, int], kept: Iterable[int]) -> None:
    """Apply the program's restrictions to this process.

    Args:
        limits: the limits of the run, by their names in `protocol.Limits`.
        filters: the filter of system calls.
        streams: descriptors of the standard input, output and error output; -1 keeps the present stream.
        kept: the other descriptors that stay open.
    """
    memory = math.ceil(limits["memory_mb"] * 2**20)
    for kind, limit in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_AS, memory + (1 << 30)),
        (resource.RLIMIT_CPU, int(limits["seconds"]) + 2),
        (resource.RLIMIT_FSIZE, math.ceil(limits["disk_mb"] * 2**20)),
        (resource.RLIMIT_NOFILE, int(limits["files"])),
        (resource.RLIMIT_CORE, 1),  # one byte: no file, and no collector of the machine is started for it
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, _QUEUED_SIGNALS),
        (resource.RLIMIT_MEMLOCK, _LOCKED_MEMORY),
        (resource.RLIMIT_NPROC, int(limits["processes"]) + (0 if os.getuid() == 0 else _PROCESSES)),
    ):
        resource.setrlimit(kind, (limit, limit))
    # The limit was smaller at the interpreter's start, because it then sets the stack size of threads.
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    # A new process group, so that its signals reach no other process. A new session would take ten times as long.
    os.setpgid(0, 0)
    os.chdir("/tmp")
    for place, stream in enumerate(streams):
        if stream >= 0:
            os.dup2(stream, place)
    open_still = sorted(kept)
    for first, last in zip((2, *open_still), (*open_still, 1 << 20)):
        os.closerange(first + 1, last)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    kernel.drop_privileges()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.filter_calls(filters)
