"""Player of episodes: plays starts with a sampler and environments and returns trajectories. All rollouts use it.

Every episode is a session of the sampler. Once its action is complete, its environment steps and the next request is
queued, so no episode waits for another. Environments that run programs step in threads while the sampler decodes. Their
episodes resume in the order in which their actions were completed, even if another step ends first, so that samples
depend only on the seed. With workers (`environment_workers`) every environment is reset and stepped in a thread, and an
episode resumes as soon as its step ends. An invalid action is recorded as data; if the environment raises, the
trajectory is marked invalid.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...engines.noise import noise_seed
from ...engines.sampler import Completion, Request, Sampler
from ...language.renderer import Renderer
from ..batch.trajectory import Group, Trajectory, Turn
from .concurrent_episodes import ConcurrentEpisodes, OverlappedEpisodes
from .environments import Environments
from .episode_starts import FinishedEpisode, Start, TokenLimits


class Copies(Protocol):
    """Past copies of the policy, see `collection.past_policies`."""

    @property
    def names(self) -> list[str]: ...

    def add(self, name: str, most: int) -> None: ...

    def player(self, name: str) -> EpisodePlayer: ...


class EpisodePlayer:
    """Plays episodes with one policy.

    Args:
        environments: pool of environments to play in.
        sampler: samples from the policy; no one else may use its sessions while this player exists.
        renderer: converts between text and ids.
        limits: token budgets.
        temperature: sampling temperature; a task's conditions and a start can override it.
        rng: generator for choices of strategies (branch points, hints); sampling has separate seeds, see ``noise``.
        step, steps: updates done, and updates of the whole run, for schedules.
        version: number of optimiser batches that the policy has been trained on.
        judge: adds the recipe's rewards to groups, for strategies that need returns before credit is assigned (greedy
            episodes, values of states). Each episode is judged once, together with the episodes of its group, and keeps
            the verdict. The default leaves groups with the environment's returns.
        teacher: makes a player of the run's second model; None if the run has none.
        noise: root of the seeds of all requests.
        past: past copies of the policy, or None if the run keeps none.
        others: role -> player of another policy that has this role; this player has all other roles.
        policy: name of the policy, see `Trajectory.policy`.
        critic: returns the values of the states before each action token, by the critic that the run trains (see
            `components.auxiliaries.critic.state_values`); None if it trains none.
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
        judge: Callable[[Sequence[Group]], list[Group]] = list,
        teacher: Callable[[], EpisodePlayer] | None = None,
        noise: int = 0,
        past: Copies | None = None,
        others: Mapping[str, EpisodePlayer] | None = None,
        policy: str = "",
        timed: bool = False,
        critic: Callable[[Sequence[Trajectory]], list[Any]] | None = None,
    ):
        self.environments, self.sampler, self.renderer, self.limits = environments, sampler, renderer, limits
        self.temperature, self.rng, self.judge, self.teacher = temperature, rng, judge, teacher
        self.step, self.steps, self.version = step, steps, version
        self.past, self._others, self.policy, self.timed = past, others or {}, policy, timed
        self.critic = critic
        self.attempts: dict[int, list[Trajectory]] = {}
        """Proposal id -> unaided episodes of the task from its beginning (`Start.unaided`). All are reported to the
        teacher, even if a strategy drops or replaces some.
        """
        self.overlong: set[tuple[int, int]] = set()
        """(Proposal id, seed) of each task whose first observation, or question to a proposer, left no context for an
        action. Episodes of such a task are invalid and have no turns; a proposer of such a question proposes nothing.
        """
        self._sessions = self._episodes = self._questions = 0
        self._noise = noise

    @property
    def share_of_training(self) -> float:
        """Share of the run's updates that are done, in [0, 1]; 0 if the number of updates is unknown."""
        return min(1.0, self.step / self.steps) if self.steps else 0.0

    def for_role(self, role: str) -> EpisodePlayer:
        """Return the player of the policy that has a role."""
        return self._others.get(role, self)

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

        With workers, the sampled tokens do not depend on the order in which environments finish their steps. With
        ``enough``, the order in which episodes end does not depend on it either: episodes then resume in the order of
        their actions.

        Args:
            states: keep the `Moment` before each turn, from which other starts can continue.
            entropies: record the entropy at each sampled token.
            enough: called with the index of a start and its trajectory as soon as it ends; once it returns True, all
                unfinished episodes are cancelled.
            at_once: most episodes in progress; the next one begins when one ends. None: begin all at once.

        Returns:
            Episodes in the order of ``starts``, without cancelled ones.

        Raises:
            InputError: the environment lacks the snapshots or the oracle that a start needs.
        """
        workers, first = self.environments.workers, self.number_episodes(len(starts))
        if workers is None:
            episodes = ConcurrentEpisodes(self, states, entropies, first)
        else:
            episodes = OverlappedEpisodes(self, states, entropies, workers, first, ordered=enough is not None)
        finished: dict[int, FinishedEpisode] = {}
        try:
            waiting = deque(enumerate(starts))
            going_on = True
            while going_on or waiting:
                while waiting and (at_once is None or episodes.in_progress < at_once):
                    episodes.begin(*waiting.popleft())
                for number, played in episodes.take_finished():
                    finished[number] = played
                    if enough is not None and enough(number, played.trajectory):
                        return [finished[number] for number in sorted(finished)]
                going_on = episodes.collect_completions()
        finally:
            episodes.cancel()
        return [finished[number] for number in sorted(finished)]

    # Text outside episodes ------------------------------------------------------------------------------------------

    def room_to_answer(self, question: str) -> int:
        """Return the context tokens left for the answer to a question outside any environment; may be negative."""
        return self.limits.context - len(self.renderer.observation(question, first=True))

    def ask(self, questions: Sequence[str], most: int | None = None) -> list[Turn | None]:
        """Sample the policy's answers to questions outside any environment, each in a separate conversation.

        Args:
            most: most tokens of an answer; None: the limit of an action.

        Returns:
            An answer for each question; None for a question that leaves no context for an answer.
        """
        requests: list[Request | None] = []
        for question in questions:
            ids = self.renderer.observation(question, first=True)
            room = min(most or self.limits.action, self.limits.context - len(ids))
            noise = self.request_seed()
            requests.append(Request(self.new_session(), ids, room, self.temperature, seed=noise) if room > 0 else None)
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
        self, contexts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], temperature: float = 1.0
    ) -> list[tuple[float, ...]]:
        """Return the log-probability of each answer's tokens in its context; -inf if too long."""
        known = {}
        asked = []
        for number, (context, answer) in enumerate(zip(contexts, answers, strict=True)):
            if len(context) + len(answer) > self.limits.context:
                known[number] = (-np.inf,) * len(answer)
            else:
                asked.append(
                    (number, Request(self.new_session(), tuple(context), 0, temperature, forced=tuple(answer)))
                )
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

    def request_seed(self, *keys: int) -> int:
        """Return the sampling seed of a request: derived from ``keys`` for episodes, from a counter for other requests.

        Samples therefore depend neither on concurrent requests nor on the order in which episodes end.
        """
        if not keys:
            self._questions += 1
            keys = (0, self._questions)
        return noise_seed(self._noise, *keys)

    def number_episodes(self, count: int) -> int:
        """Count ``count`` further episodes; return the number of the first, which is part of their sampling seeds."""
        self._episodes += count
        return self._episodes - count

    def new_session(self) -> int:
        """Return a new session number."""
        self._sessions += 1
        return self._sessions - 1
