"""The warm interpreter of the sandbox: forks each run into namespaces of its own, watches it, and reports.

    python -m inside.zygote FD [MODULE ...]

FD is a socket to the caller; the modules are loaded beforehand. Of each request this process reads only the limits; the
program and its input are in a file that the run alone opens, so that no run finds anything of another in its memory.
"""

from __future__ import annotations

import gc
import json
import math
import os
import random
import signal
import socket
import sys
import time
from typing import NamedTuple

from . import kernel, program
from .restrict import restrict
from .run import CHUNK, Run
from .watch import Sockets, Watch

# Cores that one run may use at a time.
_CORES = 4
# Between two looks at the memory of a run, seconds: the first, unless it may be at its limit sooner.
_TICK, _LEAST_TICK = 0.01, 0.001
# Whoever asks for a core for less time gets it sooner, seconds.
_TURN = 0.0001


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    filters = sys.stdin.buffer.read()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    # Programs get no /proc; this process keeps its own through a descriptor.
    processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY)
    kernel.unmount("/proc")
    kernel.forgo_privileges()
    # A signal that a handler waits for would reach this process through the first one of a run; see kernel.Processes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    around = Surroundings(control, filters, home, share_cores())
    sockets = Sockets(processes)
    program.warm(sys.argv[2:])
    disks = [Disk("/tmp"), Disk("/dev/shm")]
    kernel.take_short_turns(_TURN)
    gc.collect()
    gc.freeze()
    control.sendall(b"\n")
    while True:
        header, descriptors, _, _ = socket.recv_fds(control, CHUNK, 2)
        if not header:
            os._exit(0)
        limits = json.loads(header)
        for disk in disks:
            disk.prepare(f"size={math.ceil(limits['disk_mb'] * 2**20)},nr_inodes={limits['files'] + 1}")
        watch = Watch(limits, processes, sockets)
        report, streams = supervise(limits, descriptors, watch, around)
        report["sizes"] = [len(stream) for stream in streams]
        control.sendall(json.dumps(report).encode() + b"\n" + b"".join(streams))
        for disk in disks:
            disk.clean()


def share_cores() -> set[int]:
    """Keep to a few of the cores, so that a run of many processes leaves most of a large machine to others; those."""
    cores = sorted(os.sched_getaffinity(0))
    first = random.SystemRandom().randrange(len(cores))
    os.sched_setaffinity(0, {cores[(first + place) % len(cores)] for place in range(_CORES)})
    return os.sched_getaffinity(0)


class Surroundings(NamedTuple):
    """What is the same for all runs: the socket to the caller, the filter of system calls, a descriptor of this
    process's own namespace of processes, and the cores that programs may use."""

    control: socket.socket
    filters: bytes
    home: int
    cores: set[int]


class Disk:
    """A folder that is empty for every run. Mounting is slow, so it is done anew only after a run that used it."""

    def __init__(self, folder: str):
        self.folder = folder
        self.options = ""
        self.fresh: tuple[int, ...] | None = None

    def prepare(self, options: str) -> None:
        if self.fresh is not None:
            if options == self.options and self._look() == self.fresh:
                return
            kernel.unmount(self.folder)
        kernel.mount("tmpfs", self.folder, f"mode=1777,{options}")
        self.options, self.fresh = options, self._look()

    def clean(self) -> None:
        """Let go of what a run left, rather than keep it until the next one."""
        if self._look() != self.fresh:
            self.prepare(self.options)

    def _look(self) -> tuple[int, ...]:
        """What no run can use the folder without changing; its times alone are too coarse to tell."""
        found, space = os.stat(self.folder), os.statvfs(self.folder)
        times = found.st_mtime_ns, found.st_ctime_ns
        return found.st_mode, found.st_uid, found.st_gid, found.st_nlink, *times, space.f_bfree, space.f_ffree


def supervise(
    limits: dict[str, float], given: list[int], watch: Watch, around: Surroundings
) -> tuple[dict[str, object], list[bytes]]:
    """Run a program; how it ended, and what it wrote to its output, its error output and its channel for values.

    ``given`` has descriptors of its text and, where there is any, of its standard input.
    """
    # What is done around a program are short steps of several processes, which wait for each other. On one core they
    # take two thirds of the time, on a virtual machine at least, where waking another core is slow.
    os.sched_setaffinity(0, {kernel.core()})
    pipes = [os.pipe() for _ in range(3)]
    begun = time.monotonic()
    namespace = kernel.Processes(around.home)
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, around.cores)
            kernel.take_short_turns(0.0)
            values = restrict(limits, around.filters, given, [outside for _, outside in pipes])
            program.run(given[0], values)
        finally:
            os._exit(70)
    namespace.leave()
    for descriptor in (*given, *[outside for _, outside in pipes]):
        os.close(descriptor)
    deadline = begun + limits["seconds"]
    run = KeptRun(limits, child, [inside for inside, _ in pipes], deadline, around.control.fileno(), watch)
    watch.besides = {str(os.getpid()), str(namespace.first), "1"}
    reason = run.follow()
    namespace.end()
    _, status, usage = os.wait4(child, 0)
    namespace.wait()
    seconds = time.monotonic() - begun
    drained = run.drain()
    report: dict[str, object] = {"reason": reason or drained, "seconds": seconds, "peak": usage.ru_maxrss}
    report["code"] = None if report["reason"] else os.waitstatus_to_exitcode(status)
    for pipe in run.pipes:
        os.close(pipe)
    os.sched_setaffinity(0, around.cores)
    return report, [b"".join(parts) for parts in run.found]


class KeptRun(Run):
    """A run whose output is kept, and whose memory is looked at."""

    def __init__(
        self, limits: dict[str, float], child: int, pipes: list[int], deadline: float, caller: int, watch: Watch
    ):
        super().__init__(limits, child, pipes, deadline, caller, _TICK)
        self.watch = watch
        self.found: list[list[bytes]] = [[] for _ in pipes]

    def look(self) -> str | None:
        if self.watch.exceeded():
            return "memory"
        self.tick = min(max(self.watch.due - time.monotonic(), _LEAST_TICK), _TICK)
        return None

    def take(self, place: int) -> int:
        data = os.read(self.pipes[place], CHUNK)
        self.found[place].append(data[: max(self.left[place], 0)])
        self.left[place] -= len(data)
        return len(data)


if __name__ == "__main__":
    main()
