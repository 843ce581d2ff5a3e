"""Repeated checks of the memory of a run with many processes: an unprivileged process can set no kernel limit for
several processes together."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterable, Mapping

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Capacity of a pipe in bytes, which programs cannot change; and descriptors per process that do not count as pipes.
_PIPE, _COMMON = 1 << 16, 8
# Bytes per second that one core can fill.
_FILLS = 2 << 30
# Maximum delay of a check, seconds.
_LATE = 0.01


# Time for the kernel to release sockets that no process can reach, and between two checks of that, seconds.
_CLEARED, _NAP = 0.5, 0.001


class MemoryGroup:
    """The control group of the sandbox: the kernel's limit on memory that the watch does not see.

    Args:
        descriptors: those of `control_group.ControlGroup.descriptors`; empty without a group.
    """

    # Memory of the kernel's own tables for a run that is far from its limit, bytes.
    _ROOM = 32 << 20

    def __init__(self, descriptors: list[int]):
        self.descriptors = descriptors
        self.held = int(os.pread(descriptors[2], 100, 0)) if descriptors else 0
        self.bound = 0

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Set the group's limit to the memory allowed to a run, in its processes and in its two folders."""
        disks = 2 * (limits["disk_mb"] or 0.0)
        bound = self.held + self._ROOM + int(((limits["memory_mb"] or 0.0) + disks) * 2**20)
        if self.descriptors and bound != self.bound:
            with contextlib.suppress(OSError):
                os.pwrite(self.descriptors[0], b"%d" % bound, 0)
                self.bound = bound

    def kills(self) -> int:
        """Count the processes that the kernel has killed for lack of memory."""
        return count_killed(os.pread(self.descriptors[1], 4096, 0)) if self.descriptors else 0


def count_killed(text: bytes) -> int:
    """Read the number of processes killed for lack of memory from the text of a control group's file."""
    words = text.split()
    return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0


class Sockets:
    """The memory of sockets: it belongs to no process, but each socket has a maximum.

    Args:
        processes: a descriptor of /proc.
    """

    def __init__(self, processes: int):
        self.file = os.open("self/net/sockstat", os.O_RDONLY, dir_fd=processes)
        self.first = self.count()
        with socket.socket(socket.AF_UNIX) as one:
            self.each = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    def most(self) -> int:
        """Return the maximum bytes held by the sockets of this namespace."""
        return self.each * self.count()

    def count(self) -> int:
        """Count the sockets of this namespace."""
        return int(os.pread(self.file, 100, 0).split(None, 3)[2])

    def settle(self) -> bool:
        """Make the kernel release the sockets of an ended run. Return True if no socket is left.

        A message that contains its own receiving socket, perhaps with other descriptors, is unreachable for every
        process; the kernel collects it when some socket is closed.
        """
        until = time.monotonic() + _CLEARED
        while self.count() > self.first:
            socket.socket(socket.AF_UNIX).close()
            if time.monotonic() > until:
                return False
            time.sleep(_NAP)
        return True


class Watch:
    """Watch on the memory of all processes of a run that is about to begin.

    Args:
        limits: the limits of the run.
        processes: a descriptor of /proc.
        sockets: the sockets of the run's namespace.

    Attributes:
        besides: the processes that do not belong to the run.
        due: time (`time.monotonic`) before which the run cannot have exceeded its limit.
    """

    def __init__(self, limits: dict[str, float], processes: int, sockets: Sockets):
        self.processes, self.sockets = processes, sockets
        # Unreleased sockets of earlier runs do not count for this run.
        self.memory = limits["memory_mb"] * 2**20 + sockets.most()
        self.besides: set[str] = set()
        self.due = 0.0
        # Bytes at the last count, and each process's pages at that time or when it was first seen.
        self.known = 0
        self.then: dict[str, int] = {}
        # While processes take turns: the running process (all others are stopped), and the last one that ran.
        self.turn, self.last = "", 0
        self.fills = _FILLS * len(os.sched_getaffinity(0))

    def is_exceeded(self) -> bool:
        """Return True if the run holds more memory than its limit allows."""
        names = self.names()
        held = {name: self.pages(name) for name in names}
        for name in self.then.keys() - held.keys():
            self.known -= _PAGE * self.then.pop(name)
        self.then = {**held, **self.then}
        allowed = self.memory - self.sockets.most() - self.count_pipe_bytes(names)
        # This counts shared memory once per process. The exact count is slow, so it runs only near the limit.
        most = _PAGE * sum(held.values())
        if most > allowed:
            # The cheap count misses processes that copy formerly shared memory.
            if not self.turn and self.known + self.count_growth() <= allowed and time.monotonic() < self.due:
                return False
            most = self.count_exactly(allowed)
        elif self.turn:
            self.turn = ""
            send_all(names, signal.SIGCONT)
        self.due = time.monotonic() + (allowed - most) / (_FILLS if self.turn else self.fills)
        return most > allowed

    def count_exactly(self, allowed: float) -> int:
        """Count the bytes of memory of all processes; stop early once the sum exceeds ``allowed``.

        The processes are stopped during the count. If they could soon exceed the limit, they take turns from then on,
        since many running processes keep this one from checking in time.
        """
        names: set[str] = set()
        while new := self.names() - names:
            send_all(new, signal.SIGSTOP)
            names |= new
        self.then = {name: self.pages(name) for name in names}
        self.known = 0
        for name in sorted(names, key=self.then.__getitem__, reverse=True):
            self.known += self.share(name)
            if self.known > allowed:
                return self.known
        self.turn = ""
        if names and allowed - self.known < self.fills * _LATE:
            order = sorted(map(int, names))
            self.last = next((number for number in order if number > self.last), order[0])
            self.turn = str(self.last)
            names = {self.turn}
        send_all(names, signal.SIGCONT)
        return self.known

    def names(self) -> set[str]:
        """Return the ids of the processes of the run, as the names of their folders in /proc."""
        return {name for name in os.listdir(self.processes) if name.isdigit()} - self.besides

    def count_pipe_bytes(self, names: Iterable[str]) -> int:
        """Count the capacity in bytes of the processes' pipes, which is memory of no process. Each descriptor of a
        process beyond a few counts as a pipe. Kernels before 6.2 do not report the number of descriptors; there the
        pipes of a user are bounded together (fs.pipe-user-pages-soft)."""
        most = 0
        for name in names:
            with contextlib.suppress(OSError):
                open_files = os.stat(f"{name}/fd", dir_fd=self.processes).st_size
                most += _PIPE * max(open_files - _COMMON, 0)
        return most

    def count_growth(self) -> int:
        """Return the growth in bytes since the last exact count; a lower bound, as released memory may be shared."""
        return _PAGE * sum(self.pages(name) - pages for name, pages in self.then.items())

    def pages(self, name: str) -> int:
        """Count the pages of memory of a process, without those of files."""
        words = (self.file(f"{name}/statm") or b"0 0 0").split(None, 3)
        return int(words[1]) - int(words[2])

    def share(self, name: str) -> int:
        """Count the bytes of memory of a process, without those of files; shared memory is divided by its sharers."""
        for line in self.file(f"{name}/smaps_rollup").splitlines():
            if line.startswith(b"Pss_Anon:"):
                return 1024 * int(line.split()[1])
        return 0

    def file(self, name: str) -> bytes:
        """Return the content of a file under /proc, such as "12/statm"; b"" if the process has just ended."""
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


def send_all(names: Iterable[str], number: int) -> None:
    """Send processes a signal; some may just have ended."""
    for name in names:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(name), number)
