"""Patience with a busy machine, on which any process may stand still for seconds: waiting for what must come true, and
limits of time that are tried once more with more time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

import pytest

# What a busy machine may need for anything, seconds.
PATIENCE = 60.0


def wait_until(true: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as ``true()`` holds; fail where it does not within so many seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"it did not come true within {seconds:g} s"
        time.sleep(0.01)


def with_more_time(check: Callable[[float], None], limits: Sequence[float] = (1.0, 5.0, 25.0)) -> None:
    """Check what must hold for a limit of so many seconds; where it does not, check again with the next limit.

    For what has two sides: something that would take for ever must be ended by the limit, and something else must be
    done within it. A machine that stands still breaks the second, but not for every limit.
    """
    for limit in limits[:-1]:
        with contextlib.suppress(Exception, pytest.fail.Exception):
            return check(limit)
    return check(limits[-1])


def least_processor_seconds(work: Callable[[], object], enough: float, tries: int = 4) -> float:
    """Processor time of this thread for ``work``: the least of a few tries, or the first that is less than ``enough``.
    Any of them may have a collection of all the garbage of earlier tests in it, or a processor at half its speed."""
    least = float("inf")
    for _ in range(tries):
        begun = time.thread_time()
        work()
        least = min(least, time.thread_time() - begun)
        if least < enough:
            break
    return least
