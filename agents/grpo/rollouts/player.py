"""The player: plays starts with a sampler and environments and returns trajectories. All rollouts go through it.

Every episode is a session of the sampler. Once its action is complete, its environment steps and the next request is
queued, so that no episode waits for another. Environments that run programs step in threads while the sampler goes on.
Their episodes resume in the order in which their actions were completed, even if another step ends first. So samples
depend only on the seed. A bad action is kept as data; if the environment raises, the trajectory is marked invalid.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import InputError
from ...engines.sampler import Completion, Request, Sampler
from ...language.renderer import Renderer
from ...stepping import AT_ONCE
from ..batch.trajectory import Group, Trajectory, Turn
from .environments import Environments, begin, restore
from .episode import LiveEpisode
from .starts import FinishedEpisode, Moment, Start, TokenLimits

_log = logging.getLogger(__name__)


def leave_unjudged(groups: Sequence[Group]) -> list[Group]:
    """Return the groups as they are, so that their returns are the environment's."""
    return list(groups)


class Player:
    """Plays waves of episodes with one policy.

    Args:
        environments: where tasks are played.
        sampler: the policy; its sessions belong to this player while it lives.
        renderer: between text and ids.
        limits: budgets in tokens.
        temperature: of sampling; a start can override it.
        rng: random choices of strategies (where to branch, which hint); the sampler has a generator of its own.
        step, steps: updates done and updates of the whole run, for schedules.
        version: number of optimiser batches that the policy has been trained on.
        judge: adds a recipe's rewards to groups, for strategies that need returns before credit is assigned (greedy
            twins, values of states). Each episode is judged once, together with the episodes of its group; whatever
            becomes of it afterwards, it keeps the judgement.
        teacher: makes a player of the run's second model; None where the run has none.
    """

    def __init__(
        self,
        environments: Environments,
        sampler: Sampler,
        renderer: Renderer,
        limits: TokenLimits,
        temperature: float,
        rng: np.random.Generator,
        step: int = 0,
        steps: int = 0,
        version: int = 0,
        judge: Callable[[Sequence[Group]], list[Group]] = leave_unjudged,
        teacher: Callable[[], Player] | None = None,
    ):
        self.environments, self.sampler, self.renderer, self.limits = environments, sampler, renderer, limits
        self.temperature, self.rng, self.judge, self.teacher = temperature, rng, judge, teacher
        self.step, self.steps, self.version = step, steps, version
        self.attempts: dict[int, list[Trajectory]] = {}
        """Unaided episodes from the beginning of each proposed task, by the proposal's id. All of them are reported to
        the teacher, whichever of them a strategy keeps or replaces.
        """
        self.overlong: set[tuple[int, int]] = set()
        """Proposal and seed of each task whose first observation, or question to a proposer, left no room for an
        action: the episodes are invalid and have no turns, and nothing was proposed.
        """
        self._sessions = 0

    @property
    def share_of_training(self) -> float:
        """Share of the run's updates that are done, in [0, 1]."""
        return min(1.0, self.step / self.steps) if self.steps else 0.0

    # Episodes --------------------------------------------------------------------------------------------------------

    def play(
        self,
        starts: Sequence[Start],
        *,
        states: bool = False,
        entropies: bool = False,
        enough: Callable[[int, Trajectory], bool] | None = None,
        at_once: int | None = None,
    ) -> list[FinishedEpisode]:
        """Play every start to its end.

        Args:
            states: keep a moment before each turn, from which other starts can continue.
            entropies: record the entropy at each sampled token.
            enough: called with the index of a start and its trajectory as soon as it ends; once it returns True, all
                unfinished episodes are cancelled.
            at_once: most episodes in progress; the next one begins when one ends. None begins all of them.

        Returns:
            Episodes in the order of ``starts``, without cancelled ones.

        Raises:
            InputError: the environment lacks the snapshots or the oracle that a start needs.
        """
        wave = _Wave(self, states, entropies)
        finished: dict[int, FinishedEpisode] = {}
        try:
            waiting = deque(enumerate(starts))
            going_on = True
            while going_on or waiting:
                while waiting and (at_once is None or wave.in_progress < at_once):
                    wave.begin(*waiting.popleft())
                for number, played in wave.take_finished():
                    finished[number] = played
                    if enough is not None and enough(number, played.trajectory):
                        return [finished[number] for number in sorted(finished)]
                going_on = wave.collect_completions()
        finally:
            wave.cancel()
        return [finished[number] for number in sorted(finished)]

    # Text outside episodes ------------------------------------------------------------------------------------------

    def room_to_answer(self, question: str) -> int:
        """Tokens of context that a question outside any environment leaves to its answer; may be negative."""
        return self.limits.context - len(self.renderer.observation(question, first=True))

    def ask(self, questions: Sequence[str], most: int | None = None) -> list[Turn | None]:
        """Sample the policy's answers to questions outside any environment, each in a conversation of its own.

        Args:
            most: most tokens of an answer; None is the limit of an action.

        Returns:
            None for a question that leaves no room to answer.
        """
        requests: list[Request | None] = []
        for question in questions:
            ids = self.renderer.observation(question, first=True)
            room = min(most or self.limits.action, self.limits.context - len(ids))
            requests.append(Request(self.new_session(), ids, room, self.temperature) if room > 0 else None)
        answers = self._complete([request for request in requests if request is not None])
        return [
            None
            if request is None
            else Turn(
                obs_ids=tuple(request.ids),
                act_ids=answers[request.session].ids,
                logps=answers[request.session].logps,
                finish=answers[request.session].finish,
                reward=0.0,
                observation=question,
                action=self.renderer.action(answers[request.session].ids),
            )
            for question, request in zip(questions, requests, strict=True)
        ]

    def log_likelihoods(
        self, contexts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]
    ) -> list[tuple[float, ...]]:
        """Log-probabilities, at temperature 1, of each answer's tokens in its context; -inf if both do not fit."""
        known = {}
        asked = []
        for number, (context, answer) in enumerate(zip(contexts, answers, strict=True)):
            if len(context) + len(answer) > self.limits.context:
                known[number] = (-np.inf,) * len(answer)
            else:
                asked.append((number, Request(self.new_session(), tuple(context), 0, 1.0, forced=tuple(answer))))
        scored = self._complete([request for _, request in asked])
        known |= {number: scored[request.session].logps for number, request in asked}
        return [known[number] for number in range(len(contexts))]

    def _complete(self, requests: Sequence[Request]) -> dict[int, Completion]:
        for request in requests:
            self.sampler.submit(request)
        answers: dict[int, Completion] = {}
        while len(answers) < len(requests):
            for completion in self.sampler.step():
                answers[completion.session] = completion
                self.sampler.close(completion.session)
        return answers

    def new_session(self) -> int:
        """Return a new session number."""
        self._sessions += 1
        return self._sessions - 1


class _Wave:
    """Episodes that are played at the same time."""

    def __init__(self, player: Player, states: bool, entropies: bool):
        self._player, self._states, self._entropies = player, states, entropies
        self._playing: dict[int, tuple[int, LiveEpisode]] = {}
        # Episodes whose environments step in threads, in the order in which their actions were completed.
        self._stepping: deque[tuple[int, int, LiveEpisode, Future[None]]] = deque()
        self._finished: list[tuple[int, FinishedEpisode]] = []

    @property
    def in_progress(self) -> int:
        """Number of episodes that have begun and not ended."""
        return len(self._playing) + len(self._stepping)

    def begin(self, number: int, start: Start) -> None:
        player = self._player
        env = player.environments.take()
        try:
            if start.moment is None:
                observation, info = begin(env, start.task.seed, start.task.params)
            else:
                restore(env, start.moment.state, start.task.seed, start.task.params)
                observation, info = start.moment.observation, dict(start.moment.info)
        except InputError:
            raise
        except Exception:
            _log.exception("an environment failed to begin; the episode counts for nothing")
            episode = self._episode(start, env, "", {})
            episode.invalidate()
            self._end(number, episode, ())
            return
        self._go_on(number, player.new_session(), self._episode(start, env, observation, info))

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
            self._go_on(number, session, episode, stepped)
        return bool(completions or waiting)

    def take_finished(self) -> list[tuple[int, FinishedEpisode]]:
        """Return the episodes finished since the last call, each with the index of its start."""
        finished, self._finished = self._finished, []
        return finished

    def cancel(self) -> None:
        """Cancel all unfinished episodes."""
        for session, (_, episode) in self._playing.items():
            self._player.sampler.close(session)
            self._player.environments.give_back(episode.env)
        for _, session, episode, stepped in self._stepping:
            self._player.sampler.close(session)
            if stepped.cancel() or stepped.exception() is None:
                self._player.environments.give_back(episode.env)
        self._playing.clear()
        self._stepping.clear()

    def _episode(self, start: Start, env: Any, observation: str, info: dict[str, Any]) -> LiveEpisode:
        player = self._player
        asked = (start.temperature, start.conditions.temperature, player.temperature)
        temperature = next(value for value in asked if value is not None)
        limits = start.limits or start.conditions.limits or player.limits
        return LiveEpisode(
            start,
            env,
            observation,
            info,
            player.renderer,
            limits,
            temperature,
            player.version,
            self._states,
            self._entropies,
        )

    def _step(self, number: int, session: int, episode: LiveEpisode) -> None:
        """Submit the environment's step to a thread if it has threads and the action is complete; else play on."""
        threads, step = self._player.environments.threads, episode.prepare_step()
        if threads is None or step is None:
            self._go_on(number, session, episode)
        else:
            self._stepping.append((number, session, episode, threads.submit(step)))

    def _go_on(self, number: int, session: int, episode: LiveEpisode, stepped: Future[None] | None = None) -> None:
        """Play until the sampler is needed or the episode is over."""
        try:
            if stepped is not None:
                stepped.result()
            request = episode.advance(session)
        except InputError:
            raise
        except Exception:
            _log.exception("an environment failed; the episode counts for nothing")
            episode.invalidate()
            request = None
        else:
            if request is None:
                self._player.environments.give_back(episode.env)
        if request is not None:
            if episode.begins_anew:
                self._player.sampler.close(session)
                session = self._player.new_session()
                request = replace(request, session=session)
            self._playing[session] = (number, episode)
            self._player.sampler.submit(request)
            return
        self._player.sampler.close(session)
        moments = (*episode.start.earlier, *episode.moments) if self._states else ()
        self._end(number, episode, moments)

    def _end(self, number: int, episode: LiveEpisode, moments: tuple[Moment, ...]) -> None:
        trajectory = episode.trajectory()
        if episode.overlong:
            self._player.overlong.add((episode.start.task.proposal, episode.start.task.seed))
        if episode.start.unaided:
            self._player.attempts.setdefault(episode.start.task.proposal, []).append(trajectory)
        self._finished.append((number, FinishedEpisode(trajectory, moments)))
