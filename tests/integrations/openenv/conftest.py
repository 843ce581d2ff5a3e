"""A server in a thread of its own, whose loop the tests do not share."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from palaestra.integrations.openenv.server import OpenEnvServer


@contextlib.contextmanager
def serving(*offered: str, **options: Any) -> Iterator[OpenEnvServer]:
    """A running server; it ends, and what it has open, with the block."""
    server, ready, loop = OpenEnvServer(offered, port=0, **options), threading.Event(), asyncio.new_event_loop()
    ended = asyncio.Event()

    async def run() -> None:
        async with server:
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    assert ready.wait(60)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(60)
        loop.close()
        assert not thread.is_alive()


@pytest.fixture
def serve() -> Any:
    return serving


@pytest.fixture(scope="module")
def serve_all() -> Any:
    """The same for the fixtures of a module."""
    return serving
