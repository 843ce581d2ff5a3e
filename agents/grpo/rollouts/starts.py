"""What to play, and from where: tasks, budgets, and starts in the middle of an episode that was played before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..batch.trajectory import Origin, Trajectory, Turn


@dataclass(frozen=True)
class RolloutTask:
    """What to play: environment parameters, the seed that fixes the instance, and how many samples.

    ``proposal`` is the teacher's number for it.
    """

    params: Mapping[str, Any]
    seed: int
    samples: int
    proposal: int = -1


@dataclass(frozen=True)
class TokenLimits:
    """Budgets in tokens: of one action, of all actions of an episode, and of a whole conversation."""

    action: int
    episode: int
    context: int


@dataclass(frozen=True)
class Insert:
    """Tokens that are put into an action at position ``at``, in place of sampling them.

    Attributes:
        at: tokens of the action before them; an action that stops earlier does without them.
        ids: at least one.
        origins: who wrote each.
        logps: behaviour log-probabilities of those that the policy sampled elsewhere, 0 for others.
        entropies: likewise; () where not recorded.
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
        """Tokens of one origin that the policy did not sample."""
        return cls(at, ids, (int(origin),) * len(ids), (0.0,) * len(ids))


@dataclass(frozen=True)
class Moment:
    """An episode just before one of its actions.

    Attributes:
        state: the environment's snapshot.
        observation: what it says.
        info: what its reset said.
        turns: what has been played.
    """

    state: Any
    observation: str
    info: Mapping[str, Any]
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Start:
    """One episode to play.

    Attributes:
        task: the task; its ``samples`` are not read.
        moment: where to go on from; None begins the task.
        earlier: the moments before that one.
        inserts: tokens put into the first action that is played.
        hint: text added to the first observation that is seen.
        keep_hint: whether the hint stays in the context that is trained; otherwise the trained context is the one
            without it, and ratios start from the policy at the beginning of the update.
        oracle_turns: the environment's oracle plays this many of the first turns.
        oracle_origin: origin of the oracle's tokens.
        guided: share of the solution given away, in [0, 1].
        temperature, limits: the player's own where None.
        role: see `Trajectory.role`.
    """

    task: RolloutTask
    moment: Moment | None = None
    earlier: tuple[Moment, ...] = ()
    inserts: tuple[Insert, ...] = ()
    hint: str = ""
    keep_hint: bool = True
    oracle_turns: float = 0
    oracle_origin: Origin = Origin.HINT
    guided: float = 0.0
    temperature: float | None = None
    limits: TokenLimits | None = None
    role: str = ""

    @property
    def unaided(self) -> bool:
        """Whether this is an attempt of the task itself: from its beginning, without help, as the policy samples."""
        helped = self.moment is not None or self.inserts or self.hint or self.oracle_turns
        return not helped and self.temperature is None and not self.role


@dataclass(frozen=True)
class PlayedEpisode:
    """A played episode, and the moment before each of its turns where they were asked for (one more where the budgets
    ended it).
    """

    trajectory: Trajectory
    moments: tuple[Moment, ...] = ()


def branch(
    task: RolloutTask, played: PlayedEpisode, turn: int, tokens: int = 0, trained: bool = False, **changes: Any
) -> Start:
    """Go on from an earlier episode, ``tokens`` tokens into its action ``turn``.

    What precedes is copied with its log-probabilities. It is trained where it was sampled, not here (`Origin.COPY`),
    unless ``trained``.

    Args:
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
