"""Handling of signals: SIGTERM and SIGHUP end a command like Ctrl-C, with exit code 128 + the signal's number.

`interrupt_on_signals` is for any command, which is interrupted at once. `stop_after_step` is for training, which ends
after the current step.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals other than SIGINT (Ctrl-C) that ask a program to end."""
RECEIVED = threading.Event()
"""Set once a signal has asked this process to end."""
_TOGETHER = 0.5
"""Seconds within which several signals count as one request, as a closing terminal or a service manager sends several.
"""


class Stopped(KeyboardInterrupt):
    """Exception raised when a signal ends the command.

    Args:
        number: number of the signal.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def note_signals() -> None:
    """Replace the handlers of `SIGNALS`: from now on, signals only set `RECEIVED`."""
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: RECEIVED.set())


def exit_code(stop: BaseException | None) -> int:
    """Return the exit code of a command interrupted by ``stop``: 128 + the number of the signal in ``stop`` or its
    causes, 130 if there is none."""
    while stop is not None and not isinstance(stop, Stopped):
        stop = stop.__cause__
    return 128 + (signal.SIGINT if stop is None else stop.number)


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Raise `Stopped` within the context when a signal of `SIGNALS` arrives, as Ctrl-C raises KeyboardInterrupt.
    Signals that are ignored (SIGHUP under nohup) or already have another handler are not affected."""
    process, begun = os.getpid(), {}

    def interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:  # in a forked child, which ends by default
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        RECEIVED.set()
        _leave_lost_terminal(number)
        raise Stopped(number)

    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                begun[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, before in begun.items():
            signal.signal(number, before)


@contextmanager
def stop_after_step(stop: Callable[[], None], say: Callable[[str], None]) -> Iterator[Callable[[], int]]:
    """Within the context, let the first signal (Ctrl-C or another) call ``stop``, and a second one raise `Stopped`.

    Args:
        stop: makes the code in the context end after its current step.
        say: shows a sentence to the user.

    Yields:
        A function that returns the exit code after a stop.
    """
    process, received, since = os.getpid(), signal.SIGINT, 0.0

    def receive(number: int, frame: FrameType | None) -> None:
        nonlocal received, since
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if since:
            if number == signal.SIGINT or time.monotonic() - since > _TOGETHER:
                _restore(before)
                raise Stopped(number)
            return
        received, since = signal.Signals(number), time.monotonic()
        RECEIVED.set()
        stop()
        _leave_lost_terminal(number)
        again = "press Ctrl-C again" if number == signal.SIGINT else f"send {received.name} again"
        say(f"stopping after this step; {again} to stop at once")

    before: dict[int, Any] = {}
    for number in (signal.SIGINT, *SIGNALS):
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, receive)
    try:
        yield lambda: 128 + received
    finally:
        _restore(before)


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def _leave_lost_terminal(number: int) -> None:
    """After SIGHUP, redirect standard output and error to the null device if writing to the terminal fails."""
    if number != getattr(signal, "SIGHUP", None):
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream.isatty():
                stream.write("\n")
                stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)
        except ValueError:  # closed, or no file
            continue
