"""The first process of a container of the backend "docker": forks each run, watches it, and reports.

This process has the same user as the programs, and no capability; it is protected by being the first one. The kernel
delivers no signal to the first process of a namespace from inside the namespace, not even SIGKILL, unless that process
has a handler. With ``kill(-1)`` this process ends all others at once; and as processes that lose their parent become
its children, no process is left when it has no child. It cannot be traced, nor can its files under /proc be opened
(`set_dumpable`), and a filter of system calls keeps programs from changing its limits and its priority.

Requests come through standard input: the sizes of the limits and of the parts of a job, then the limits and parts
themselves. The parts, and all output of a run, pass through this process without being read (splice), so that no run
finds another's data in its memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import platform
import shutil
import signal
import sys

from . import kernel, program
from .frames import FOLDERS, FRAME, PARTS, REPORT, REQUEST
from .run import CHUNK, SupervisedRun, lay_program, remove_program
from .watch import Sockets, count_killed

# Seconds between two checks for processes killed by the kernel and for orphans.
_TICK = 0.02
_SET_DUMPABLE = 4
_QUEUES = "/dev/mqueue"
# The kernel's counters of processes killed for lack of memory, in control groups v2 and v1.
_COUNTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def main() -> None:
    """Serve runs until the caller is gone. Arguments: the environment variables to keep, "--", the modules to load."""
    place = sys.argv.index("--")
    for name in {*os.environ} - set(sys.argv[1:place]):
        del os.environ[name]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    set_dumpable(False)
    program.warm(sys.argv[place + 1 :])
    program.adapt()
    sockets = Sockets(os.open("/proc", os.O_RDONLY | os.O_DIRECTORY))
    space = free_space()
    send({"machine": platform.machine()})
    guard, filters = [take(size) for size in REQUEST.unpack(take(REQUEST.size))[:2]]
    gc.collect()
    gc.freeze()
    while True:
        sizes = REQUEST.unpack(take(REQUEST.size))
        limits = json.loads(take(sizes[0]))
        given = {part: receive_file(size) for part, size in zip(PARTS, sizes[1:]) if size or part == PARTS[0]}
        lay_program(given["program"])
        run = ForwardedRun(limits, given, guard, filters)
        report = run.carry_out()
        run.close()
        remove_program()
        clear(space)
        send({**report, "clean": sockets.settle() and free_space() == space})


def set_dumpable(allowed: bool) -> None:
    """Allow or forbid other processes of this user to trace this one and to open its files under /proc."""
    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, int(allowed), 0, 0, 0):
        raise OSError("prctl(PR_SET_DUMPABLE) is refused")


def take(size: int) -> bytes:
    """Read exactly ``size`` bytes of the standard input; exit at its end."""
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def receive_file(size: int) -> int:
    """Move the next ``size`` bytes of the standard input to a file in memory, and return its descriptor."""
    file = os.memfd_create("given")
    while size:
        moved = os.splice(0, file, size)
        if not moved:
            os._exit(0)
        size -= moved
    os.lseek(file, 0, os.SEEK_SET)
    return file


def send(report: dict[str, object]) -> None:
    """Write a report to the standard output, as a frame."""
    data = json.dumps(report).encode()
    data = FRAME.pack(REPORT, len(data)) + data
    while data:
        data = data[os.write(1, data) :]


class ForwardedRun(SupervisedRun):
    """A run with its output forwarded to the caller and its memory limited by the kernel."""

    def __init__(self, limits: dict[str, float | None], given: dict[str, int], guard: bytes, filters: bytes):
        super().__init__(limits, given, filters, 0, _TICK)
        self.guard = guard
        self.killed = count_killed_for_memory()
        self.status = self.peak = 0
        self.between = os.pipe()

    def in_child(self) -> None:
        set_dumpable(True)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        if "stdin" not in self.given:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        kernel.filter_calls(self.guard)

    def look(self) -> str | None:
        if count_killed_for_memory() > self.killed:
            return "memory"
        return "" if self.reap(os.WNOHANG) else None

    def reap(self, options: int) -> bool:
        """Reap ended children; with ``options`` 0, wait for all. Return True if the program was among them."""
        found = False
        while True:
            try:
                process, status, usage = os.wait4(-1, options)
            except ChildProcessError:
                return found
            if not process:
                return found
            if process == self.child:
                self.status, self.peak, found = status, usage.ru_maxrss, True

    def take(self, place: int) -> int:
        """Forward the contents of a pipe to the standard output; see `SupervisedRun.take`.

        The program can read from its own pipes, so a count of the bytes in them may be wrong a moment later. The bytes
        therefore move to `between`, a pipe of this process, and are counted there before the frame states their number.
        After too much output, the excess byte stays in `between`, and nothing more is forwarded.
        """
        if min(self.left) < 0:
            return 0
        try:
            there = os.splice(
                self.pipes[place], self.between[1], min(CHUNK, self.left[place] + 1), flags=os.SPLICE_F_NONBLOCK
            )
        except BlockingIOError:
            return -1
        rest = min(there, self.left[place])
        self.left[place] -= there
        if rest:
            os.write(1, FRAME.pack(place + 1, rest))
        while rest:
            rest -= os.splice(self.between[0], 1, rest)
        return there

    def end(self) -> tuple[int, int, str]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        self.reap(0)
        reason = "memory" if count_killed_for_memory() > self.killed else ""
        return os.waitstatus_to_exitcode(self.status), self.peak, reason

    def close(self) -> None:
        for descriptor in self.between:
            os.close(descriptor)


def count_killed_for_memory() -> int:
    """Count the processes of this container that the kernel has killed for lack of memory."""
    for name in _COUNTS:
        with contextlib.suppress(OSError), open(name, "rb") as file:
            return count_killed(file.read())
    return 0


def free_space() -> list[tuple[int, int]]:
    """Return the free blocks and files of each folder that programs can write to, and the number of message queues."""
    found = [os.statvfs(folder) for folder in FOLDERS]
    queues = len(os.listdir(_QUEUES)) if os.path.isdir(_QUEUES) else 0
    return [*((each.f_bfree, each.f_ffree) for each in found), (0, queues)]


def clear(space: list[tuple[int, int]]) -> None:
    """Remove the files of a run in a forked process, so that no later run finds their names in this process's
    memory."""
    if free_space() == space:
        return
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            for folder in FOLDERS:
                for entry in os.scandir(folder):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)
        os._exit(0)
    os.waitpid(child, 0)
