"""Episodes played at the same time: one sampler batches their requests while environments step.

Every episode is a session of the sampler. Once its action is complete, its environment steps: in this thread, in
threads for environments that run programs, or in workers (`environment_workers`). An environment that raises or exceeds
the time limit makes its episode invalid and is not used again.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol

from ....errors import InputError
from ...engines.sampler import Completion, Sampler
from ...language.renderer import Renderer
from ...sandbox_threads import AT_ONCE
from ..batch.trajectory import Trajectory
from .environment_workers import CallQueue, EnvironmentWorkers
from .environments import Environments, begin, restore
from .episode_loop import EpisodeLoop
from .episode_starts import FinishedEpisode, Moment, Start, TokenLimits

_log = logging.getLogger(__name__)


class PlayingPolicy(Protocol):
    """Attributes of the player that the episodes use; see `episode_player.EpisodePlayer`."""

    environments: Environments
    sampler: Sampler
    renderer: Renderer
    limits: TokenLimits
    temperature: float
    version: int
    timed: bool
    policy: str
    attempts: dict[int, list[Trajectory]]
    overlong: set[tuple[int, int]]

    def new_session(self) -> int: ...

    def request_seed(self, *keys: int) -> int: ...


class ConcurrentEpisodes:
    """Episodes played at the same time.

    Args:
        player: supplies environments, sampler, budgets and seeds.
        states: keep the `Moment` before each turn.
        entropies: record the entropy at each sampled token.
        first: number of the first episode among all that the player plays; part of the seeds of requests.
    """

    _inline = True
    """True if environments step in this thread when an action consists of given tokens only."""

    def __init__(self, player: PlayingPolicy, states: bool, entropies: bool, first: int = 0):
        self._player, self._states, self._entropies, self._first = player, states, entropies, first
        self._requests: Counter[int] = Counter()
        self._playing: dict[int, tuple[int, EpisodeLoop]] = {}
        # (start, session, episode, result) of episodes whose environments step in threads, by completion of the action.
        self._stepping: deque[tuple[int, int, EpisodeLoop, Future[None]]] = deque()
        self._finished: list[tuple[int, FinishedEpisode]] = []

    @property
    def in_progress(self) -> int:
        """Number of episodes that have begun and not ended."""
        return len(self._playing) + len(self._stepping)

    def begin(self, number: int, start: Start) -> None:
        env = self._player.environments.take()
        self._open(number, start, env, lambda: _reset(env, start))

    def _open(self, number: int, start: Start, env: Any, reset: Callable[[], tuple[str, dict[str, Any]]]) -> None:
        """Play the episode from the (observation, info) of ``reset``; end it as invalid if ``reset`` raises."""
        try:
            first = reset()
        except InputError:
            raise
        except Exception as error:
            _log.exception("an environment failed to begin; the episode counts for nothing")
            episode = self._episode(start, env, "", {})
            episode.invalidate(error)
            self._end(number, episode, ())
        else:
            self._continue(number, self._player.new_session(), self._episode(start, env, *first))

    def collect_completions(self) -> bool:
        """Collect finished completions and continue their episodes. Return False when no episode is running."""
        completions = self._player.sampler.step()
        for completion in completions:
            number, episode = self._playing.pop(completion.session)
            episode.receive(completion)
            self._step(number, completion.session, episode)
        waiting = len(self._stepping)
        while len(self._stepping) > (AT_ONCE if completions else 0):
            number, session, episode, stepped = self._stepping.popleft()
            self._continue(number, session, episode, stepped)
        return bool(completions or waiting)

    def take_finished(self) -> list[tuple[int, FinishedEpisode]]:
        """Return the episodes finished since the last call, each with the index of its start."""
        finished, self._finished = self._finished, []
        return finished

    def cancel(self) -> None:
        """Cancel all unfinished episodes."""
        for session, (_, episode) in self._playing.items():
            self._player.sampler.close(session)
            self._release(episode)
        for _, session, episode, stepped in self._stepping:
            self._player.sampler.close(session)
            if stepped.cancel() or stepped.exception() is None:
                self._release(episode)
        self._playing.clear()
        self._stepping.clear()

    def _episode(self, start: Start, env: Any, observation: str, info: dict[str, Any]) -> EpisodeLoop:
        player = self._player
        asked = (start.temperature, start.conditions.temperature, player.temperature)
        temperature = next(value for value in asked if value is not None)
        limits = start.limits or start.conditions.limits or player.limits
        system = start.conditions.system
        return EpisodeLoop(
            start,
            env,
            observation,
            info,
            player.renderer.with_system(system) if system else player.renderer,
            limits,
            temperature,
            player.version,
            self._states,
            self._entropies,
            player.timed,
        )

    def _step(self, number: int, session: int, episode: EpisodeLoop) -> None:
        """Submit the environment's step to a thread, if there are threads and the action is complete; else continue."""
        threads, step = self._player.environments.threads, episode.prepare_step()
        if threads is None or step is None:
            self._continue(number, session, episode)
        else:
            self._stepping.append((number, session, episode, threads.submit(step)))

    def _continue(self, number: int, session: int, episode: EpisodeLoop, stepped: Future[None] | None = None) -> None:
        """Continue until the sampler is needed or the episode is over."""
        try:
            if stepped is not None:
                stepped.result()
            request = episode.advance(session, inline=self._inline)
        except InputError:
            raise
        except Exception as error:
            _log.exception("an environment failed; the episode counts for nothing")
            episode.invalidate(error)
            request = None
        else:
            if request is None and not episode.over:
                self._step(number, session, episode)
                return
            if request is None:
                self._release(episode)
        if request is not None:
            if episode.begins_anew:
                self._player.sampler.close(session)
                session = self._player.new_session()
                request = replace(request, session=session)
            self._playing[session] = (number, episode)
            self._requests[number] += 1
            keys = episode.start.noise or (1 + self._first + number,)
            seed = self._player.request_seed(*keys, self._requests[number])
            self._player.sampler.submit(replace(request, seed=seed))
            return
        self._player.sampler.close(session)
        moments = (*episode.start.earlier, *episode.moments) if self._states else ()
        self._end(number, episode, moments)

    def _release(self, episode: EpisodeLoop) -> None:
        """Give an episode's environment back to the pool."""
        self._player.environments.give_back(episode.env)

    def _end(self, number: int, episode: EpisodeLoop, moments: tuple[Moment, ...]) -> None:
        trajectory = episode.trajectory()
        if episode.overlong:
            self._player.overlong.add((episode.start.task.proposal, episode.start.task.seed))
        if episode.start.unaided:
            self._add_attempt(number, episode.start.task.proposal, trajectory)
        self._finished.append((number, FinishedEpisode(trajectory, moments)))

    def _add_attempt(self, number: int, proposal: int, trajectory: Trajectory) -> None:
        self._player.attempts.setdefault(proposal, []).append(trajectory)


class OverlappedEpisodes(ConcurrentEpisodes):
    """Episodes whose environments are reset and stepped by workers while the sampler decodes.

    Args:
        first: see `ConcurrentEpisodes`.
        ordered: resume episodes in the order in which their actions were completed; otherwise as soon as their steps
            end.
    """

    _inline = False

    def __init__(
        self,
        player: PlayingPolicy,
        states: bool,
        entropies: bool,
        workers: EnvironmentWorkers,
        first: int,
        ordered: bool,
    ):
        super().__init__(player, states, entropies, first)
        self._calls: CallQueue = workers.queue()
        self._ordered = ordered
        # Index of the start -> (environment, session or None before the reset, function to call with the result).
        self._called: dict[int, tuple[Any, int | None, Callable[[Future[Any]], None]]] = {}
        self._order: deque[int] = deque()
        self._attempts: list[tuple[int, int, Trajectory]] = []

    @property
    def in_progress(self) -> int:
        return len(self._playing) + len(self._called)

    def begin(self, number: int, start: Start) -> None:
        env = self._player.environments.take()
        self._call(
            number, env, None, lambda: _reset(env, start), lambda reset: self._open(number, start, env, reset.result)
        )

    def collect_completions(self) -> bool:
        sampler = self._player.sampler
        completions: list[Completion] = []
        if self._playing:
            interrupt = getattr(sampler, "interruptible", False) and not self._ordered
            completions = sampler.step(self._calls.ready) if interrupt else sampler.step()  # type: ignore[call-arg]
        for completion in completions:
            number, episode = self._playing.pop(completion.session)
            episode.receive(completion)
            self._step(number, completion.session, episode)
        if self._ordered:
            while len(self._order) > (AT_ONCE if completions else 0):
                self._resume(*self._calls.take_one(self._order.popleft()))
        else:
            for ended in self._calls.take(wait=not completions):
                self._resume(*ended)
        return bool(self._finished or self.in_progress)

    def cancel(self) -> None:
        super().cancel()
        usable = self._calls.cancel()
        for number, (env, session, _) in self._called.items():
            if session is not None:
                self._player.sampler.close(session)
            if number in usable:
                self._player.environments.give_back(env)
        self._called.clear()
        for _, proposal, trajectory in sorted(self._attempts, key=lambda row: row[0]):
            super()._add_attempt(0, proposal, trajectory)
        self._attempts.clear()

    def _step(self, number: int, session: int, episode: EpisodeLoop) -> None:
        step = episode.prepare_step()
        if step is None:
            self._continue(number, session, episode)
        else:
            follow = functools.partial(self._continue, number, session, episode)
            self._call(number, episode.env, session, step, follow)

    def _call(
        self,
        number: int,
        env: Any,
        session: int | None,
        function: Callable[[], Any],
        follow: Callable[[Future[Any]], None],
    ) -> None:
        self._called[number] = (env, session, follow)
        if self._ordered:
            self._order.append(number)
        self._calls.submit(number, function)

    def _resume(self, number: int, ended: Future[Any]) -> None:
        _, _, follow = self._called.pop(number)
        follow(ended)

    def _add_attempt(self, number: int, proposal: int, trajectory: Trajectory) -> None:
        # Added at the end in the order of starts, which does not depend on timing.
        self._attempts.append((number, proposal, trajectory))


def _reset(env: Any, start: Start) -> tuple[str, dict[str, Any]]:
    """Bring an environment to the beginning of a start; return the observation and its info."""
    if start.moment is None:
        return begin(env, start.task.seed, start.task.params)
    restore(env, start.moment.state, start.task.seed, start.task.params)
    return start.moment.observation, dict(start.moment.info)
