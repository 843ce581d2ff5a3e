"""The warm interpreter of the sandbox: forks each run into new namespaces, watches it, and reports.

    python -m inside.zygote FD GROUP [MODULE ...]

FD is a socket to the caller; GROUP lists the descriptors of the control group, separated by commas, or is empty; the
modules are loaded at the start. This process reads only the limits of a request. The program, its files, its input and
its calls are in files that it does not read, so that no run finds another's data in its memory.
"""

from __future__ import annotations

import contextlib
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
from .frames import FOLDERS, OWN_BYTES, OWN_FILES, PARTS
from .restrict import USER
from .run import CHUNK, SupervisedRun, copy, lay_program
from .watch import MemoryGroup, Sockets, Watch

# Number of cores that one run may use.
_CORES = 4
# Seconds between two checks of a run's memory, and the minimum when it may reach its limit sooner.
_TICK, _LEAST_TICK = 0.01, 0.001
# Time slice of this process, seconds; the scheduler runs short slices sooner.
_TURN = 0.0001
# The target of the link /dev/stdin, because there is no /proc.
_STDIN = "/dev/shm/.stdin"


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    filters = sys.stdin.buffer.read()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    # Programs have no /proc; this process keeps its own through a descriptor.
    processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY)
    kernel.unmount("/proc")
    kernel.forgo_privileges()
    # The first process of a run shares this process's signal handlers. With a handler, signals would reach it; see
    # kernel.Processes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sockets = Sockets(processes)
    program.warm(sys.argv[3:])
    program.adapt()
    disks = [Disk(folder) for folder in FOLDERS]
    kernel.take_short_turns(_TURN)
    gc.collect()
    gc.freeze()
    group = MemoryGroup([int(word) for word in sys.argv[2].split(",") if word])
    around = Surroundings(control, filters, home, share_cores(), processes, group)
    control.sendall(b"\n")
    while True:
        header, descriptors, _, _ = socket.recv_fds(control, CHUNK, len(PARTS))
        if not header:
            os._exit(0)
        request = json.loads(header)
        limits, given = request["limits"], dict(zip(request["parts"], descriptors))
        for disk in disks:
            disk.prepare(
                f"size={math.ceil(limits['disk_mb'] * 2**20) + OWN_BYTES},nr_inodes={limits['files'] + 1 + OWN_FILES}"
            )
        group.limit(limits)
        lay_files(given)
        for disk in disks:
            disk.begin()
        run = KeptRun(limits, given, around, Watch(limits, processes, sockets))
        report = run.carry_out()
        streams = [b"".join(parts) for parts in run.found]
        report["sizes"] = [len(stream) for stream in streams]
        control.sendall(json.dumps(report).encode() + b"\n" + b"".join(streams))
        for disk in disks:
            disk.clean()
        sockets.settle()


def share_cores() -> set[int]:
    """Pin this process to a few cores, so that a run with many processes leaves most of a large machine free. Return
    these cores."""
    cores = sorted(os.sched_getaffinity(0))
    first = random.SystemRandom().randrange(len(cores))
    os.sched_setaffinity(0, {cores[(first + place) % len(cores)] for place in range(_CORES)})
    return os.sched_getaffinity(0)


class Surroundings(NamedTuple):
    """The context of all runs: the socket to the caller, the filter of system calls, a descriptor of this
    process's own namespace of processes, the cores that programs may use, a descriptor of /proc, the control group."""

    control: socket.socket
    filters: bytes
    home: int
    cores: set[int]
    processes: int
    group: MemoryGroup


def lay_files(given: dict[str, int]) -> None:
    """Put the program's own files in place: its text, and the standard input that it may open by name."""
    lay_program(given["program"], USER if os.getuid() == 0 else None)
    if "stdin" in given:
        file = os.open(_STDIN, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        try:
            copy(given["stdin"], file)
        except OSError:
            os.unlink(_STDIN)
        finally:
            os.close(file)


class Disk:
    """A folder that shows every run only its own files. Mounting is slow, so it is remounted only after a run that
    wrote to it."""

    def __init__(self, folder: str):
        self.folder = folder
        self.options = ""
        self.before: tuple[object, ...] = ()

    def prepare(self, options: str) -> None:
        """Make the folder empty, with these mount options."""
        if options != self.options:
            if self.options:
                kernel.unmount(self.folder)
            kernel.mount("tmpfs", self.folder, f"mode=1777,{options}")
            self.options = options

    def begin(self) -> None:
        """Record the state of the folder, with the run's own files in it."""
        self.before = self._look()

    def clean(self) -> None:
        """Remove the files of a run right after it, rather than before the next run."""
        if self._look() == self.before:
            for name in os.listdir(self.folder):
                os.unlink(f"{self.folder}/{name}")
        else:
            options, self.options = self.options, ""
            kernel.unmount(self.folder)
            self.prepare(options)

    def _look(self) -> tuple[object, ...]:
        """Return attributes of the folder; every use changes at least one. The timestamps alone are too coarse."""
        found, space = os.stat(self.folder), os.statvfs(self.folder)
        times = found.st_mtime_ns, found.st_ctime_ns
        free = space.f_bfree, space.f_ffree, os.listxattr(self.folder)
        return found.st_mode, found.st_uid, found.st_gid, found.st_nlink, *times, *free


class KeptRun(SupervisedRun):
    """A run in new namespaces, with its output kept and its memory watched."""

    def __init__(self, limits: dict[str, float | None], given: dict[str, int], around: Surroundings, watch: Watch):
        super().__init__(limits, given, around.filters, around.control.fileno(), _TICK)
        self.around, self.watch = around, watch
        self.found: list[list[bytes]] = [[] for _ in self.left]
        self.killed = around.group.kills()

    def before_fork(self) -> None:
        # Starting and ending a program are short steps of several processes that wait for each other. On one core they
        # take two thirds of the time, at least on a virtual machine, where waking another core is slow.
        os.sched_setaffinity(0, {kernel.core()})
        self.namespace = kernel.Processes(self.around.home)

    def in_child(self) -> None:
        os.sched_setaffinity(0, self.around.cores)
        kernel.take_short_turns(0.0)
        # When memory runs out, programs are killed before the supervisor.
        with contextlib.suppress(OSError):
            file = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=self.around.processes)
            os.write(file, b"1000")
            os.close(file)

    def after_fork(self) -> None:
        self.namespace.leave()
        self.watch.besides = {str(os.getpid()), str(self.namespace.first), "1"}

    def look(self) -> str | None:
        if self.watch.is_exceeded() or self.around.group.kills() > self.killed:
            return "memory"
        self.tick = min(max(self.watch.due - time.monotonic(), _LEAST_TICK), _TICK)
        return None

    def take(self, place: int) -> int:
        try:
            data = os.read(self.pipes[place], CHUNK)
        except BlockingIOError:
            return -1
        self.found[place].append(data[: max(self.left[place], 0)])
        self.left[place] -= len(data)
        return len(data)

    def end(self) -> tuple[int, int, str]:
        self.namespace.end()
        _, status, usage = os.wait4(self.child, 0)
        self.namespace.wait()
        os.sched_setaffinity(0, self.around.cores)
        reason = "memory" if self.around.group.kills() > self.killed else ""
        return os.waitstatus_to_exitcode(status), usage.ru_maxrss, reason


if __name__ == "__main__":
    main()
