"""The warm interpreter of the sandbox: forks each run into namespaces of its own, watches it, and reports.

    python -m inside.zygote FD

FD is a socket to the caller. Of each request this process reads only the limits; the program and its input are in a
file that the run alone opens, so that no run finds anything of another in its memory.
"""

from __future__ import annotations

import gc
import json
import math
import os
import random
import resource
import signal
import socket
import sys
import time
from typing import NamedTuple

from . import kernel, program
from .run import CHUNK, Run

# The user as which programs run where this one is root.
_USER = 1000
# Cores that one run may use at a time.
_CORES = 4
# Between two looks at the memory of a run, seconds.
_TICK = 0.01
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STACK = 8 << 20
_QUEUED_SIGNALS = 1024
_LOCKED_MEMORY = 1 << 16
# This one, bubblewrap's and the first of the run's namespace: where there is one user only, they count as the run's.
_PROCESSES = 3


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
    program.warm()
    disks = [Disk("/tmp"), Disk("/dev/shm")]
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
        return "memory" if self.watch.exceeded() else None

    def take(self, place: int) -> int:
        data = os.read(self.pipes[place], CHUNK)
        self.found[place].append(data[: max(self.left[place], 0)])
        self.left[place] -= len(data)
        return len(data)


class Sockets:
    """The memory that sockets hold: of no process, but bounded for each."""

    def __init__(self, processes: int):
        self.file = os.open("self/net/sockstat", os.O_RDONLY, dir_fd=processes)
        with socket.socket(socket.AF_UNIX) as one:
            self.each = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    def most(self) -> int:
        """Bytes that the sockets of this namespace can hold."""
        return self.each * int(os.pread(self.file, 100, 0).split(None, 3)[2])


class Watch:
    """The memory of all processes of a run that is about to begin.

    Args:
        limits: of the run.
        processes: a descriptor of /proc.
    """

    def __init__(self, limits: dict[str, float], processes: int, sockets: Sockets):
        self.processes, self.sockets = processes, sockets
        # Sockets of an earlier run that the kernel has not cleared away yet are not of this one.
        self.memory = limits["memory_mb"] * 2**20 + sockets.most()
        # Processes that are not of the run.
        self.besides: set[str] = set()
        # Bytes at the last count, and the pages that each process had then, or when it was first seen.
        self.known = 0
        self.then: dict[str, int] = {}

    def exceeded(self) -> bool:
        names = [name for name in os.listdir(self.processes) if name.isdigit() and name not in self.besides]
        held = {name: self.pages(name) for name in names}
        for name in self.then.keys() - held.keys():
            self.known -= _PAGE * self.then.pop(name)
        self.then = {**held, **self.then}
        allowed = self.memory - self.sockets.most()
        # What processes share is counted for each of them, and counting it once is slow: it is done where that matters.
        if _PAGE * sum(held.values()) <= allowed:
            return False
        total = 0
        for name in sorted(names, key=held.__getitem__, reverse=True):
            total += self.share(name)
            # Where many processes grow at a time, a count comes too late, but what has come since the last one tells.
            if total > allowed or self.known + self.grown() > allowed:
                return True
        self.known, self.then = total, {name: max(pages, self.pages(name)) for name, pages in held.items()}
        return False

    def grown(self) -> int:
        """Bytes that have come since the last count, at least: what is let go of may be shared."""
        return _PAGE * sum(self.pages(name) - pages for name, pages in self.then.items())

    def pages(self, name: str) -> int:
        """Pages of memory of a process, but for those of files."""
        words = (self.file(f"{name}/statm") or b"0 0 0").split(None, 3)
        return int(words[1]) - int(words[2])

    def share(self, name: str) -> int:
        """Bytes of memory of a process, as `pages`; what it shares with others is divided by their number."""
        for line in self.file(f"{name}/smaps_rollup").splitlines():
            if line.startswith(b"Pss_Anon:"):
                return 1024 * int(line.split()[1])
        return 0

    def file(self, name: str) -> bytes:
        """A file of a process; empty where that has just ended."""
        try:
            file = os.open(name, os.O_RDONLY, dir_fd=self.processes)
        except OSError:
            return b""
        try:
            return os.read(file, 4096)
        except OSError:
            return b""
        finally:
            os.close(file)


def restrict(limits: dict[str, float], filters: bytes, given: list[int], pipes: list[int]) -> int:
    """Make this process the program's: its user, limits, output and nothing else. The descriptor for its values."""
    output, errors, values = pipes
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
    # Less was for the stacks of threads, which are as large as this limit was when the interpreter started.
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    # A signal to its group is no signal to this one's. A session of its own would take ten times as long to make.
    os.setpgid(0, 0)
    os.chdir("/tmp")
    if given[1:]:
        os.dup2(given[1], 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    kept = sorted((given[0], values))
    for first, last in zip((2, *kept), (*kept, 1 << 20)):
        os.closerange(first + 1, last)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(_USER, _USER, _USER)
        os.setresuid(_USER, _USER, _USER)
    kernel.drop_privileges()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.filter_calls(filters)
    return values


if __name__ == "__main__":
    main()
