"""What a rollout leaves behind: turns, trajectories and groups, as plain immutable data without tensors.

Ids and log-probabilities are kept exactly as sampled; text is carried for people, never fed back to the learner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ...rewards import Episode, Step


@dataclass(frozen=True)
class Turn:
    """One exchange with the environment.

    Attributes:
        obs_ids: the tokens appended before this action (the delta, never a re-rendered history).
        act_ids: the sampled tokens, the stop token included where one was sampled.
        logps: behaviour log-probability of each sampled token, nats.
        finish: "stop" or "length" (the token budget ended the action).
        reward, reward_terms: what the environment paid for the action.
    """

    obs_ids: tuple[int, ...]
    act_ids: tuple[int, ...]
    logps: tuple[float, ...]
    finish: Literal["stop", "length"]
    reward: float
    observation: str = ""
    action: str = ""
    reward_terms: Mapping[str, float] = field(default_factory=dict)
    action_error: str | None = None

    def __post_init__(self) -> None:
        if len(self.act_ids) != len(self.logps):
            raise ValueError(f"{len(self.act_ids)} sampled ids but {len(self.logps)} log-probabilities.")
        if not self.obs_ids:
            raise ValueError("a turn needs at least one observation token before its action.")


@dataclass(frozen=True)
class Trajectory:
    """One episode.

    Attributes:
        valid: False where the machinery failed (sandbox down, verifier timeout); such an episode is neither trained nor
            counted in any baseline or normaliser.
        truncated: the turn limit or the token budget ended it, not the task.
        shaping: reward terms of the learner's shaping stage.
        replaced: whether those terms stand for the environment's rewards instead of being added to them.
        max_tokens: budget of action tokens for the whole episode.
    """

    task_id: str
    params: Mapping[str, Any]
    difficulty: float
    turns: tuple[Turn, ...]
    success: bool
    progress: float
    truncated: bool
    valid: bool
    max_tokens: int
    shaping: Mapping[str, float] = field(default_factory=dict)
    replaced: bool = False

    @property
    def env_return(self) -> float:
        """Sum of the environment's rewards."""
        return sum(turn.reward for turn in self.turns)

    @property
    def outcome(self) -> float:
        """What credit is assigned from: environment rewards plus shaping; shaping alone where it replaces them."""
        return sum(self.shaping.values()) + (0.0 if self.replaced else self.env_return)

    @property
    def action_tokens(self) -> int:
        """Number of sampled tokens."""
        return sum(len(turn.act_ids) for turn in self.turns)

    @cached_property
    def episode(self) -> Episode:
        """The view that rewards score."""
        steps = tuple(
            Step(t.observation, t.action, t.reward, t.reward_terms, len(t.act_ids), t.logps) for t in self.turns
        )
        return Episode(
            self.task_id, self.params, steps, self.success, self.progress, self.valid, self.truncated, self.max_tokens
        )


@dataclass(frozen=True)
class Group:
    """Samples of one task. Their number may differ between groups; ``proposal`` is the teacher's id of the task."""

    proposal: int
    trajectories: tuple[Trajectory, ...]

    @property
    def valid(self) -> tuple[Trajectory, ...]:
        """The trajectories that count."""
        return tuple(t for t in self.trajectories if t.valid)

    @property
    def has_variance(self) -> bool:
        """Whether the valid outcomes differ, so that the group says something about what to do."""
        outcomes = [t.outcome for t in self.valid]
        return bool(outcomes) and max(outcomes) - min(outcomes) > 1e-9

    def invalidate(self, lost: Sequence[bool]) -> Group:
        """The group with the marked trajectories invalid."""
        if not any(lost):
            return self
        marked = (replace(t, valid=False) if gone else t for t, gone in zip(self.trajectories, lost, strict=True))
        return replace(self, trajectories=tuple(marked))
