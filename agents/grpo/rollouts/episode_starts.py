"""Tasks to play, token budgets, and starts of episodes: the beginning of a task, or a moment of an earlier episode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..batch.trajectory import Origin, Trajectory, Turn


@dataclass(frozen=True)
class TokenLimits:
    """Token budgets of one action, of all actions of an episode, and of a whole conversation (context)."""

    action: int
    episode: int
    context: int


@dataclass(frozen=True)
class Insert:
    """Given tokens in place of sampled ones within an action.

    Attributes:
        at: number of action tokens before the insert; an action that stops earlier does not get it.
        ids: token ids, at least one.
        origins: `Origin` of each token.
        logps: behaviour log-probability of tokens that the policy sampled in another episode, nats; 0 for others.
        entropies: entropy at tokens that the policy sampled in another episode, nats; () if not recorded.
    """

    at: int
    ids: tuple[int, ...]
    origins: tuple[int, ...]
    logps: tuple[float, ...]
    entropies: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.ids or not len(self.ids) == len(self.origins) == len(self.logps):
            raise ValueError(
                f"an insert needs ids and as many origins and log-probabilities, not {len(self.ids)}, "
                f"{len(self.origins)} and {len(self.logps)}."
            )

    @classmethod
    def of(cls, at: int, ids: tuple[int, ...], origin: Origin) -> Insert:
        """Make an insert of tokens of one origin that the policy did not sample."""
        return cls(at, ids, (int(origin),) * len(ids), (0.0,) * len(ids))


@dataclass(frozen=True)
class Conditions:
    """Conditions, requested by a teacher's proposal, under which the policy plays every episode of a task.

    Attributes:
        temperature, limits: override the player's; a `Start`'s values override both. None: no override.
        system: system text of the conversation; "": the run's own.
        prompt: text shown instead of the task's first observation; "": the observation is shown.
        note: text appended to the prompt.
        hint: text appended to prompt and note; left out if it would leave no context for an action.
        inserts: given tokens of the first action.
        oracle_turns: number of first turns that the environment's oracle plays.
        guided: share of the solution that is revealed to the policy, in [0, 1].
    """

    temperature: float | None = None
    limits: TokenLimits | None = None
    system: str = ""
    prompt: str = ""
    note: str = ""
    hint: str = ""
    inserts: tuple[Insert, ...] = ()
    oracle_turns: float = 0
    guided: float = 0.0

    def show(self, observation: str) -> str:
        """Return the first observation as the policy sees it, without the hint."""
        prompt = self.prompt or observation
        return f"{prompt}\n{self.note}" if self.note else prompt


@dataclass(frozen=True)
class RolloutTask:
    """One task instance of the environment, and the number of episodes to sample.

    Attributes:
        params: environment parameters.
        seed: seed of the task instance, given the parameters.
        samples: number of episodes to play.
        proposal: id of the teacher's proposal; -1 for a task that the teacher did not propose.
        conditions: conditions under which the policy plays it.
    """

    params: Mapping[str, Any]
    seed: int
    samples: int
    proposal: int = -1
    conditions: Conditions = Conditions()


@dataclass(frozen=True)
class Moment:
    """State of an episode just before one of its actions.

    Attributes:
        state: snapshot of the environment.
        observation: the observation that the action answers.
        info: ``info`` of the environment's reset.
        turns: the turns played before.
        fresh: True if the context restarts with the observation.
    """

    state: Any
    observation: str
    info: Mapping[str, Any]
    turns: tuple[Turn, ...] = ()
    fresh: bool = False


@dataclass(frozen=True)
class Start:
    """An episode to play: a task, the moment to begin at, and help given to the policy.

    Attributes:
        task: the task; its ``samples`` are ignored.
        moment: the moment to continue from; None starts at the beginning of the task.
        earlier: the moments before ``moment``.
        inserts: given tokens of the first action; override those of the task's conditions.
        hint: text appended to the first observation.
        keep_hint: train with the hint in the context; if False, the trained context leaves it out, and importance
            ratios are relative to the policy at the beginning of the update.
        oracle_turns: number of first turns that the environment's oracle plays, questions with their worked solution.
        actions: texts of the first turns, written by someone else; the oracle plays only turns after them.
        oracle_origin: origin of the tokens of the oracle and of ``actions``.
        guided: share of the solution that is revealed to the policy, in [0, 1].
        temperature, limits: override those of the task's conditions and of the player; None: no override.
        role: see `Trajectory.role`.
        noise: keys of the sampling noise; (): the number of the episode among all that the player plays.
    """

    task: RolloutTask
    moment: Moment | None = None
    earlier: tuple[Moment, ...] = ()
    inserts: tuple[Insert, ...] = ()
    hint: str = ""
    keep_hint: bool = True
    oracle_turns: float = 0
    actions: tuple[str, ...] = ()
    oracle_origin: Origin = Origin.HINT
    guided: float = 0.0
    temperature: float | None = None
    limits: TokenLimits | None = None
    role: str = ""
    noise: tuple[int, ...] = ()

    @property
    def conditions(self) -> Conditions:
        """The task's conditions; empty ones if the oracle plays the whole episode."""
        return Conditions() if math.isinf(self.oracle_turns) else self.task.conditions

    @property
    def unaided(self) -> bool:
        """True for an attempt from the beginning of the task, without a role, and without help or temperature other
        than those of the task's conditions."""
        helped = self.moment is not None or self.inserts or self.hint or self.oracle_turns or self.actions
        return not helped and self.temperature is None and not self.role


@dataclass(frozen=True)
class FinishedEpisode:
    """Finished episode, with the moments from which others can branch off.

    Attributes:
        trajectory: the episode.
        moments: the moment before each turn, if requested, and one more if a token budget ended the episode; else ().
    """

    trajectory: Trajectory
    moments: tuple[Moment, ...] = ()


def branch(
    task: RolloutTask, played: FinishedEpisode, turn: int, tokens: int = 0, trained: bool = False, **changes: Any
) -> Start:
    """Make a start that continues an earlier episode after the first ``tokens`` tokens of the action of turn ``turn``.

    The tokens before that point are copied with their log-probabilities.

    Args:
        trained: train the copied tokens in the new episode too; if False, their origin is `Origin.COPY`, and only the
            episode that sampled them trains them.
        changes: other fields of the `Start`.
    """
    moment = played.moments[turn]
    moment = replace(moment, turns=tuple(t if trained else _mark_copied(t) for t in moment.turns))
    inserts: tuple[Insert, ...] = ()
    if tokens:
        left = played.trajectory.turns[turn]
        left = left if trained else _mark_copied(left)
        origins = left.token_origins[:tokens]
        inserts = (Insert(0, left.act_ids[:tokens], origins, left.logps[:tokens], left.entropies[:tokens]),)
    return Start(task, moment, played.moments[:turn], inserts, **changes)


def _mark_copied(turn: Turn) -> Turn:
    origins = (Origin.COPY if origin == Origin.POLICY else origin for origin in turn.token_origins)
    return replace(turn, origins=tuple(int(origin) for origin in origins))
