"""A program at work, followed until it ends or must be ended.

The warm interpreter of the sandbox "local" does so, and the first process of a container, which differ in what they do
with its output and how they look at its memory.
"""

from __future__ import annotations

import os
import select
import time

from .frames import CHANNELS

# What a pipe holds.
CHUNK = 1 << 16


class Run:
    """A program, and what comes through its pipes.

    Args:
        limits: of the run.
        child: the program's process.
        pipes: the ends from which its output, its error output and its values are read.
        deadline: as of `time.monotonic`.
        caller: a descriptor that can be read when the caller is gone.
        tick: between two looks, seconds.
    """

    def __init__(
        self, limits: dict[str, float], child: int, pipes: list[int], deadline: float, caller: int, tick: float
    ):
        self.child, self.pipes, self.deadline, self.caller, self.tick = child, pipes, deadline, caller, tick
        # Bytes that may still come through each pipe; below zero when more came.
        self.left = [int(limits[name]) for name in CHANNELS]

    def follow(self) -> str:
        """Wait until the program ends, and say "", or until it must be ended, and say why."""
        poll = select.poll()
        places = {pipe: place for place, pipe in enumerate(self.pipes)}
        end = os.pidfd_open(self.child)
        for descriptor in (end, self.caller, *self.pipes):
            poll.register(descriptor, select.POLLIN)
        look = time.monotonic() + self.tick
        try:
            while True:
                now = time.monotonic()
                if now >= self.deadline:
                    return "time"
                if now >= look:
                    if (reason := self.look()) is not None:
                        return reason
                    look = time.monotonic() + self.tick
                events = dict(poll.poll(1000 * max(0, min(look, self.deadline) - now)))
                if self.caller in events:
                    os._exit(0)  # the caller is gone, or speaks out of turn
                for descriptor in events.keys() & places.keys():
                    if not self.take(places[descriptor]):
                        poll.unregister(descriptor)
                    elif self.left[places[descriptor]] < 0:
                        return "output"
                if end in events:
                    return ""
        finally:
            os.close(end)

    def drain(self) -> str:
        """Take what is left in the pipes of a program that has ended."""
        for place in range(len(self.pipes)):
            while self.left[place] >= 0 and self.take(place) > 0:
                pass
        return "output" if min(self.left) < 0 else ""

    def look(self) -> str | None:
        """Now and then: why the program must be ended, "" if it has ended, None if it goes on."""
        raise NotImplementedError

    def take(self, place: int) -> int:
        """Take what a pipe holds, and count it; the bytes that were there, 0 at its end, -1 where there were none."""
        raise NotImplementedError
