"""The calls of a program's functions, which the supervisor sends one at a time, and times.

The arguments of a call stay in a file that the program cannot read until the preceding call is answered. They pass from
the file into a pipe without being read by the supervisor (splice), so that no later run finds them in its memory.
Output written during a call counts for that call only. So whatever the program replaces in its own process, it cannot
have the arguments of a call before the call's time begins, and no value is accepted after that time.
"""

from __future__ import annotations

import contextlib
import os

from .frames import CALL

# Bytes written to a pipe at a time.
_CHUNK = 1 << 16


class Calls:
    """The calls of one run.

    Args:
        file: an open file of the calls, each after a `CALL` header; closed by `close`.

    Attributes:
        given, answered: this process's ends of two pipes: the program receives its calls through the first, and writes
            a byte to the second when it is ready for the next one.
        theirs: the program's ends of these pipes.
        ready: True when the program has become ready for its first call.
        spans: for each answered call the begin and end, in the stream of values, of the bytes written during it.
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
        """Begin the next call, when the program is ready for it. Return the call's time limit in seconds, or None after
        the last call.

        Args:
            said: the bytes of values that the program has written so far.
        """
        if self.ready:
            self.spans.append((self._said, said))
        self.ready, self._said = True, said
        # The rest of a call that the program left unread is skipped; such a program harms only itself.
        self._next += self._left
        if self._next >= self.size:
            os.close(self.given)
            self.given = -1
            return None
        size, seconds = CALL.unpack(os.pread(self.file, CALL.size, self._next))
        self._left = CALL.size + size
        return seconds

    def feed(self) -> bool:
        """Write as much of the present call as fits into the pipe. Return True when the call is complete."""
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
        """Read the byte that announces that the program is ready. A program may send it too early."""
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self.answered, 1))
        return False

    def close(self) -> None:
        for descriptor in (self.file, self.answered, self.given):
            if descriptor >= 0:
                os.close(descriptor)
