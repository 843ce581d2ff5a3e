"""The calls of a program's functions: given to it one at a time, and timed, by the supervisor.

A call's arguments stay in a file that no program has until the call before is answered; they pass from there into a
pipe without being read by the supervisor (splice), so that no later run finds them in its memory. What the program says
while a call is under way counts for that call alone. So whatever it replaces in its own process, it has neither the
arguments of a call before its time begins, nor a value accepted after that has passed.
"""

from __future__ import annotations

import contextlib
import os

from .frames import CALL

# What a pipe takes at a time.
_CHUNK = 1 << 16


class Calls:
    """The calls of one run.

    Args:
        file: an open file that holds them, each behind a `CALL`; closed by `close`.

    Attributes:
        given, answered: this process's ends of the pipes through which the program gets its calls, and says with a byte
            that it is ready for the next one.
        theirs: the program's ends of these.
        ready: whether the program came so far as to be called.
        spans: of the values, the begin and the end of what was said during each call that was answered.
    """

    def __init__(self, file: int):
        self.file = file
        self.size = os.fstat(file).st_size
        self.spans: list[tuple[int, int]] = []
        self._said = 0
        self._next = self._left = 0
        self.ready = False
        reading, self.given = os.pipe()
        self.answered, writing = os.pipe()
        self.theirs = (reading, writing)
        os.set_blocking(self.answered, False)

    def advance(self, said: int) -> float | None:
        """The program is ready for its first call, or for the next one; it has ``said`` so many bytes of values. The
        seconds of the call that begins now; None where there is no further call."""
        if self.ready:
            self.spans.append((self._said, said))
        self.ready, self._said = True, said
        # What a call left unread is no part of the next one; the program that does so harms itself.
        self._next += self._left
        if self._next >= self.size:
            os.close(self.given)
            self.given = -1
            return None
        size, seconds = CALL.unpack(os.pread(self.file, CALL.size, self._next))
        self._left = CALL.size + size
        return seconds

    def feed(self) -> bool:
        """Pass on what there is room for; whether that was all of the present call."""
        while self._left:
            try:
                moved = os.splice(
                    self.file,
                    self.given,
                    min(self._left, _CHUNK),
                    offset_src=self._next,
                    flags=os.SPLICE_F_NONBLOCK,
                )
            except BlockingIOError:
                return False
            except BrokenPipeError:
                self._left = 0
                break
            self._next += moved
            self._left -= moved
        return True

    def is_ready(self) -> bool:
        """Whether the program has said so, once; it may say so more often than is true."""
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self.answered, 1))
        return False

    def close(self) -> None:
        for descriptor in (self.file, self.answered, self.given):
            if descriptor >= 0:
                os.close(descriptor)
