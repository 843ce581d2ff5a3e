"""The pace of requests: at most so many a minute, and none before the time that a busy server has asked for."""

from __future__ import annotations

import asyncio
import time


class RequestPace:
    """Rate limiter: releases requests in order of arrival, evenly spaced. Belongs to one event loop.

    Args:
        per_minute: requests a minute; None: without limit.
    """

    def __init__(self, per_minute: float | None = None):
        self._gap = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Return when the next request may be sent."""
        async with self._turn:
            while (left := self._next - time.monotonic()) > 0:
                await asyncio.sleep(left)
            self._next = time.monotonic() + self._gap

    def postpone(self, seconds: float) -> None:
        """Hold back all requests, waiting ones included, for ``seconds``."""
        self._next = max(self._next, time.monotonic() + seconds)
