"""Rate limit of requests: at most a number per minute, and none before the time that a busy server has asked for."""

from __future__ import annotations

import asyncio
import time


class RequestPace:
    """Rate limiter that releases requests in order of arrival, evenly spaced. It must be used from one event loop.

    Args:
        per_minute: requests per minute; None: no limit.
    """

    def __init__(self, per_minute: float | None = None):
        self._gap = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        async with self._turn:
            while (left := self._next - time.monotonic()) > 0:
                await asyncio.sleep(left)
            self._next = time.monotonic() + self._gap

    def postpone(self, seconds: float) -> None:
        """Delay all requests, including waiting ones, by at least ``seconds`` from now."""
        self._next = max(self._next, time.monotonic() + seconds)
