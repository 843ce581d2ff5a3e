"""The memory of a run, which may have many processes: looked at again and again, as no limit of the kernel's that
everybody may set holds for all of them together."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterable, Mapping

_PAGE = os.sysconf("SC_PAGE_SIZE")
# What a pipe holds, whose size no program can change, and the descriptors that a process may have without being thought
# to fill a pipe with each.
_PIPE, _COMMON = 1 << 16, 8
# Bytes a second that one core can fill.
_FILLS = 2 << 30
# So much later than it is due a look may well be, seconds.
_LATE = 0.01


# What the kernel may need to clear away sockets that nobody can reach, and between two looks at that, seconds.
_CLEARED, _NAP = 0.5, 0.001


class MemoryGroup:
    """The control group of the sandbox, by which the kernel bounds what the watch does not see.

    Args:
        descriptors: as of `control_group.ControlGroup`; none where there is no group.
    """

    # What the kernel's own tables may take for a run that is far from its limit, bytes.
    _ROOM = 32 << 20

    def __init__(self, descriptors: list[int]):
        self.descriptors = descriptors
        self.held = int(os.pread(descriptors[2], 100, 0)) if descriptors else 0
        self.bound = 0

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Let there be as much as a run of these limits may have, in its processes and in its two folders."""
        disks = 2 * (limits["disk_mb"] or 0.0)
        bound = self.held + self._ROOM + int(((limits["memory_mb"] or 0.0) + disks) * 2**20)
        if self.descriptors and bound != self.bound:
            with contextlib.suppress(OSError):
                os.pwrite(self.descriptors[0], b"%d" % bound, 0)
                self.bound = bound

    def kills(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        return count_killed(os.pread(self.descriptors[1], 4096, 0)) if self.descriptors else 0


def count_killed(text: bytes) -> int:
    """The processes that were ended for want of memory, out of what a control group tells of that."""
    words = text.split()
    return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0


class Sockets:
    """The memory that sockets hold: of no process, but bounded for each.

    Args:
        processes: a descriptor of /proc.
    """

    def __init__(self, processes: int):
        self.file = os.open("self/net/sockstat", os.O_RDONLY, dir_fd=processes)
        self.first = self.count()
        with socket.socket(socket.AF_UNIX) as one:
            self.each = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    def most(self) -> int:
        """Bytes that the sockets of this namespace can hold."""
        return self.each * self.count()

    def count(self) -> int:
        """The sockets of this namespace."""
        return int(os.pread(self.file, 100, 0).split(None, 3)[2])

    def settle(self) -> bool:
        """Have the kernel clear away what the sockets of a run that has ended still hold: a message that holds the
        socket to which it was sent, and descriptors of any kind with it, is out of everybody's reach, and is found when
        some socket is closed. Whether none is left."""
        until = time.monotonic() + _CLEARED
        while self.count() > self.first:
            socket.socket(socket.AF_UNIX).close()
            if time.monotonic() > until:
                return False
            time.sleep(_NAP)
        return True


class Watch:
    """The memory of all processes of a run that is about to begin.

    Args:
        limits: of the run.
        processes: a descriptor of /proc.

    Attributes:
        besides: processes that are not of the run.
        due: until then, as of `time.monotonic`, the run cannot have grown beyond its limit.
    """

    def __init__(self, limits: dict[str, float], processes: int, sockets: Sockets):
        self.processes, self.sockets = processes, sockets
        # Sockets of an earlier run that the kernel has not cleared away yet are not of this one.
        self.memory = limits["memory_mb"] * 2**20 + sockets.most()
        self.besides: set[str] = set()
        self.due = 0.0
        # Bytes at the last count, and the pages that each process had then, or when it was first seen.
        self.known = 0
        self.then: dict[str, int] = {}
        # The process that goes on while the others stand still, where they take turns, and the last one that did.
        self.turn, self.last = "", 0
        self.fills = _FILLS * len(os.sched_getaffinity(0))

    def exceeded(self) -> bool:
        names = self.names()
        held = {name: self.pages(name) for name in names}
        for name in self.then.keys() - held.keys():
            self.known -= _PAGE * self.then.pop(name)
        self.then = {**held, **self.then}
        allowed = self.memory - self.sockets.most() - self.piped(names)
        # What processes share is counted for each of them, and counting it once is slow: it is done where that matters.
        most = _PAGE * sum(held.values())
        if most > allowed:
            # What they copy of what they shared shows in no cheap look.
            if not self.turn and self.known + self.grown() <= allowed and time.monotonic() < self.due:
                return False
            most = self.counted(allowed)
        elif self.turn:
            self.turn = ""
            send_all(names, signal.SIGCONT)
        self.due = time.monotonic() + (allowed - most) / (_FILLS if self.turn else self.fills)
        return most > allowed

    def counted(self, allowed: float) -> int:
        """Bytes of memory of all processes; where these are more than ``allowed``, of some.

        They stand still meanwhile. Where they could soon have more than is allowed, they take turns from then on: many
        that are at work keep this process from looking in time.
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
        """Those of the processes of the run."""
        return {name for name in os.listdir(self.processes) if name.isdigit()} - self.besides

    def piped(self, names: Iterable[str]) -> int:
        """Bytes that the pipes of processes can hold, which are of no process: a process is thought to have one for
        each descriptor beyond a few. Kernels before 6.2 do not say how many there are; there a user's pipes together
        are bounded (fs.pipe-user-pages-soft)."""
        most = 0
        for name in names:
            with contextlib.suppress(OSError):
                open_files = os.stat(f"{name}/fd", dir_fd=self.processes).st_size
                most += _PIPE * max(open_files - _COMMON, 0)
        return most

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


def send_all(names: Iterable[str], number: int) -> None:
    """Send processes a signal; some may just have ended."""
    for name in names:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(name), number)
