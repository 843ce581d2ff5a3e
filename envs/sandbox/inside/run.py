"""The supervisor's part in a run: start the program, send its calls, follow it until its end, and report.

The warm interpreter of the sandbox "local" is a supervisor, and so is the first process of a container. The two differ
in a program's environment, in the handling of its output, and in the watch on its memory.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from collections.abc import Mapping

from . import kernel, program
from .calls import Calls
from .frames import CHANNELS, FOLDERS, PROGRAM
from .restrict import restrict

# Bytes that a pipe holds.
CHUNK = 1 << 16
_VALUES = 2
# This process counts as stalled if it wakes this many seconds late. At most so many seconds are given back to a program
# in a run; this is less than callers wait beyond its time.
_LATE, _SPARE = 0.25, 4.0
_FILE = f"{FOLDERS[0]}/{PROGRAM}"


class SupervisedRun:
    """One supervised run of a program, with the pipes of its output; base of the supervisors of both backends.

    Args:
        limits: the limits of the run.
        given: open files of the parts of the job (`frames.PARTS`); closed when the program has them.
        filters: the filter of system calls.
        caller: a descriptor that becomes readable when the caller is gone.
        tick: the time between two checks of the run, seconds.
    """

    def __init__(
        self, limits: Mapping[str, float | None], given: Mapping[str, int], filters: bytes, caller: int, tick: float
    ):
        self.limits: dict[str, float] = {name: math.inf if limit is None else limit for name, limit in limits.items()}
        self.given, self.filters, self.caller, self.tick = given, filters, caller, tick
        self.child = 0
        self.pipes: list[int] = []
        self.calls: Calls | None = None
        # Bytes still allowed through each pipe; negative after an excess.
        self.left = [int(self.limits[name]) for name in CHANNELS]
        # Deadline of the run, and deadline of its present part: the program itself, a call, or its end.
        self.deadline = self.until = math.inf
        self.spare = _SPARE

    def carry_out(self) -> dict[str, object]:
        """Run the program, and return a report.

        Returns:
            "code": exit code as in `subprocess`, or None; "reason": the limit that ended the run, or ""; "seconds":
            wall time; "peak": memory, KiB; with calls also "spans": see `Calls`; "ready": True if the program became
            ready for its first call; "over": True if the time limit of the whole run ended it.
        """
        begun = time.monotonic()
        # Do this first: a process forked later would keep the run's pipes open.
        self.before_fork()
        ends = [os.pipe() for _ in CHANNELS]
        self.pipes = [reading for reading, _ in ends]
        # A killed program may leave a pipe's end open in an unreachable place, such as a message in a socket, so
        # nothing here waits for the end of a pipe.
        for pipe in self.pipes:
            os.set_blocking(pipe, False)
        if "calls" in self.given:
            self.calls = Calls(self.given["calls"])
        self.deadline, self.until = begun + self.limits["seconds"], begun + self.limits["program_seconds"]
        self.child = kernel.fork()
        if self.child == 0:
            try:
                self.in_child()
                theirs = self.calls.theirs if self.calls else ()
                kept = [self.given["program"], ends[_VALUES][1], *theirs]
                if "files" in self.given:
                    kept.append(self.given["files"])
                output, errors = ends[0][1], ends[1][1]
                restrict(self.limits, self.filters, (self.given.get("stdin", -1), output, errors), kept)
                program.run(self.given["program"], ends[_VALUES][1], theirs, self.given.get("files"), kernel.fork)
            finally:
                os._exit(70)
        self.after_fork()
        for descriptor in (writing for _, writing in ends):
            os.close(descriptor)
        for name, descriptor in self.given.items():
            if name != "calls":
                os.close(descriptor)
        for descriptor in self.calls.theirs if self.calls else ():
            os.close(descriptor)
        reason = self.follow()
        code, peak, why = self.end()
        seconds = time.monotonic() - begun
        drained = self.drain()
        reason = why or reason or drained
        for pipe in self.pipes:
            os.close(pipe)
        report = {"code": None if reason else code, "reason": reason, "seconds": seconds, "peak": peak}
        if self.calls:
            report |= {"spans": self.calls.spans, "ready": self.calls.ready, "over": self.deadline <= self.until}
            self.calls.close()
        return report

    def follow(self) -> str:
        """Wait until the program ends and return "", or until it must be killed and return the reason."""
        poll = select.poll()
        places = {pipe: place for place, pipe in enumerate(self.pipes)}
        end = os.pidfd_open(self.child)
        ready = self.calls.answered if self.calls else -1
        for descriptor in (end, self.caller, *self.pipes, *([ready] if self.calls else [])):
            poll.register(descriptor, select.POLLIN)
        look = time.monotonic() + self.tick
        try:
            while True:
                now = time.monotonic()
                if now >= min(self.until, self.deadline):
                    return "time"
                if now >= look:
                    if (reason := self.look()) is not None:
                        return reason
                    look = time.monotonic() + self.tick
                wake = min(look, self.until, self.deadline)
                events = dict(poll.poll(1000 * max(0, wake - now)))
                self.give_back(time.monotonic() - wake)
                if self.caller in events:
                    os._exit(0)  # the caller is gone, or speaks out of turn
                for descriptor in events.keys() & places.keys():
                    if not self.take(places[descriptor]):
                        poll.unregister(descriptor)
                    elif self.left[places[descriptor]] < 0:
                        return "output"
                if self.calls and events.keys() & {ready, self.calls.given}:
                    self.advance(self.calls, poll, ready in events)
                    if self.left[_VALUES] < 0:
                        return "output"
                if end in events:
                    return ""
        finally:
            os.close(end)

    def give_back(self, late: float) -> None:
        """Extend the program's deadlines by the ``late`` seconds for which this process was stalled, since the machine
        may have stalled the program as well."""
        if late > _LATE:
            given = min(late, self.spare)
            self.spare -= given
            self.until, self.deadline = self.until + given, self.deadline + given

    def advance(self, calls: Calls, poll: select.poll, ready: bool) -> None:
        """Send the program its next call if it is ready, or the rest of the present call."""
        if ready:
            # The pipe is readable also when the program has ended.
            if not calls.is_ready():
                poll.unregister(calls.answered)
                return
            self.empty(_VALUES)
            if self.left[_VALUES] < 0:
                return
            given = calls.given
            seconds = calls.advance(int(self.limits["value_bytes"]) - self.left[_VALUES])
            if seconds is None:
                # The program's shutdown has the same time limit as its start.
                self.until = time.monotonic() + self.limits["program_seconds"]
                with contextlib.suppress(KeyError):
                    poll.unregister(given)
                poll.unregister(calls.answered)
                return
            self.until = time.monotonic() + seconds
        if calls.feed():
            with contextlib.suppress(KeyError):
                poll.unregister(calls.given)
        else:
            poll.register(calls.given, select.POLLOUT)

    def drain(self) -> str:
        """Read the rest of the pipes after the end of the program. Return "output" if there is too much."""
        for place in range(len(self.pipes)):
            self.empty(place)
        return "output" if min(self.left) < 0 else ""

    def empty(self, place: int) -> None:
        """Take everything that a pipe holds now, or stop when it is too much."""
        while self.left[place] >= 0 and self.take(place) > 0:
            pass

    def before_fork(self) -> None:
        """Prepare the program's environment, such as namespaces; called just before its process is forked."""

    def in_child(self) -> None:
        """Undo settings of the supervisor; called in the new process, before it is restricted."""

    def after_fork(self) -> None:
        """Leave the program's namespaces; called in the supervisor after the fork."""

    def look(self) -> str | None:
        """Check the run. Return the reason to kill it, "" if the program has ended, None if it goes on."""
        raise NotImplementedError

    def take(self, place: int) -> int:
        """Read the contents of a pipe, and count them. Return the number of bytes, 0 at the end of the pipe, -1 if it
        is empty."""
        raise NotImplementedError

    def end(self) -> tuple[int, int, str]:
        """End all processes of the run. Return the program's exit code as in `subprocess`, the peak memory of one
        process (KiB), and the limit for which the kernel killed a process, or ""."""
        raise NotImplementedError


def lay_program(source: int, user: int | None = None) -> None:
    """Copy the program's text to the folder in which programs run. If there is no room, the program runs without the
    copy. The text passes through this process without being read."""
    file = os.open(_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        copy(source, file)
        if user is not None:
            os.fchown(file, user, user)
    except OSError:
        os.unlink(_FILE)
    finally:
        os.close(file)


def remove_program() -> None:
    """Remove the program's file, even if the program replaced it. A folder in its place is removed with the other
    files."""
    with contextlib.suppress(OSError):
        os.unlink(_FILE)


def copy(source: int, file: int) -> None:
    """Copy a file from its beginning, without reading it into this process (sendfile)."""
    size, done = os.fstat(source).st_size, 0
    while done < size:
        done += os.sendfile(file, source, done, size - done)
