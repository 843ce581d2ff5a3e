"""The pace of requests, on a clock of the test's own."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from palaestra.agents.chat import pace
from palaestra.agents.chat.pace import RequestPace


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping moves."""
    clock = SimpleNamespace(now=100.0)

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(pace, "asyncio", SimpleNamespace(sleep=sleep, Lock=asyncio.Lock))
    return clock


def gone(clock, requests: RequestPace, count: int) -> list[float]:
    """When each of so many requests goes, from the present on."""

    async def run() -> list[float]:
        begun, times = clock.now, []
        for _ in range(count):
            await requests.wait()
            times.append(round(clock.now - begun, 6))
        return times

    return asyncio.run(run())


def test_so_many_requests_a_minute_are_evenly_spaced(clock):
    assert gone(clock, RequestPace(per_minute=30), 4) == [0, 2, 4, 6]


def test_without_a_limit_nothing_waits(clock):
    assert gone(clock, RequestPace(), 3) == [0, 0, 0]


def test_a_busy_server_postpones_all_that_wait(clock):
    requests = RequestPace(per_minute=60)
    requests.postpone(5)
    requests.postpone(3)  # a shorter pause does not take the longer one back
    assert gone(clock, requests, 3) == [5, 6, 7]
