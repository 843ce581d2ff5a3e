"""Episodes in separate threads, for servers and evaluations that play many episodes at once on one event loop.

    episode = ThreadedEpisode()
    text = await asyncio.wrap_future(episode.begin(row))
    while not episode.over:
        text = await asyncio.wrap_future(episode.act(await player(text)))
    episode.close()

An environment may be bound to the thread that made it, may be slow, and may hang; the loop never waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from .core import EpisodeResult, EpisodeRow, TextEpisode, has_one_answer


class SessionThread:
    """Daemon thread that runs submitted calls in order; a call that hangs does not keep the program from ending."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="palaestra-session").start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.put((future, call))
        return future

    def end(self) -> None:
        """End the thread after the calls that were submitted."""
        self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except Exception as error:
                    future.set_exception(error)
                except BaseException as error:  # such as SystemExit in an environment, which must not end the program
                    future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))


class ThreadedEpisode:
    """`TextEpisode` whose environment lives in one thread; `begin` and `act` return futures. It must be closed."""

    def __init__(self) -> None:
        self._thread, self._episode = SessionThread(), TextEpisode()

    @property
    def over(self) -> bool:
        """True once the episode has ended, or its environment has failed. Raises InputError before `begin`."""
        return self._episode.over

    @property
    def has_one_answer(self) -> bool:
        """True if one answer ends the episode. Raises InputError before `begin`."""
        return has_one_answer(self._episode.env)

    def begin(self, row: EpisodeRow | Mapping[str, Any]) -> Future[str]:
        """Begin the episode of a row, see `TextEpisode.begin`; return a future of the first observation."""
        return self._thread.submit(lambda: self._episode.begin(row))

    def act(self, action: Any) -> Future[str]:
        """Take a turn, see `TextEpisode.act`; return a future of the text for the player."""
        return self._thread.submit(lambda: self._episode.act(action))

    def result(self) -> EpisodeResult:
        """Return the outcome so far. Must not be called while a call is running."""
        return self._episode.result()

    def close(self) -> None:
        """Close the environment after the submitted calls, and end the thread."""
        self._thread.submit(self._episode.close)
        self._thread.end()
