"""`Episode` and `Step`: the records that rewards judge, with texts, token counts and the environment's own rewards.

The rollout code fills them; the objects in `reward.py` read them. Both dataclasses are frozen and picklable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from .answers import extract


@dataclass(frozen=True, slots=True)
class Step:
    """One turn: an observation, the agent's action, and the environment's response to the action.

    Args:
        observation: the agent's input before this action; text in most environments.
        action: the agent's output.
        reward: the environment's reward of this step; finite.
        terms: the environment's named reward terms, summing to ``reward``.
        tokens: length of the action in tokens.
        logps: log-probability of each sampled token of the action, nats; None if not recorded.
        action_error: reason why the environment could not use the action; None for a usable action.
        feedback: the environment's comment on the action.
        extras: measures of the state after the action, by the names in the environment's ``supplies``.
    """

    observation: Any
    action: str
    reward: float
    terms: Mapping[str, float]
    tokens: int
    logps: tuple[float, ...] | None = None
    action_error: str | None = None
    feedback: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not math.isfinite(self.reward):
            raise InputError(f"a step's reward must be finite, not {self.reward!r}.")
        if self.tokens < 0:
            raise InputError(f"a step's token count must be 0 or more, not {self.tokens!r}.")


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode, as rewards judge it.

    Args:
        task_id: the environment's ``info["task_id"]``.
        params: the task's parameters.
        steps: the turns in order.
        success: the environment's ``info["is_success"]`` at the end.
        progress: the environment's ``info["progress"]`` at the end, in [0, 1].
        valid: False if any step had ``reward_valid`` False.
        truncated: True if a limit on turns or tokens ended the episode.
        max_tokens: the limit on action tokens in force, or None.
        extras: further values ("extras") from the environment or the caller, by the names that rewards list in
            ``needs``.
    """

    task_id: str
    params: Mapping[str, Any]
    steps: tuple[Step, ...]
    success: bool
    progress: float
    valid: bool
    truncated: bool
    max_tokens: int | None
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.progress <= 1.0:
            raise InputError(f"an episode's progress must lie in [0, 1], not {self.progress!r}.")

    @property
    def reward(self) -> float:
        """Sum of the step rewards."""
        return math.fsum(step.reward for step in self.steps)

    @property
    def tokens(self) -> int:
        """Sum of the action tokens."""
        return sum(step.tokens for step in self.steps)

    @property
    def prompt(self) -> str:
        """The first observation as text; "" for an episode without steps."""
        return str(self.steps[0].observation) if self.steps else ""

    @property
    def response(self) -> str:
        """The last action as text; "" for an episode without steps."""
        return str(self.steps[-1].action) if self.steps else ""

    @property
    def answer(self) -> str | None:
        """The answer in the last action (box, tag or last line), or None."""
        return extract(self.response)

    @property
    def logps(self) -> tuple[float, ...]:
        """Log-probabilities of all sampled tokens, nats.

        Raises:
            InputError: a step has no log-probabilities.
        """
        parts = [step.logps for step in self.steps]
        if any(part is None for part in parts):
            raise InputError("this reward needs the log-probabilities of the actions; pass Step(..., logps=...).")
        return tuple(logp for part in parts for logp in part or ())

    def extra(self, name: str) -> Any:
        """Return ``extras[name]``.

        Raises:
            InputError: neither the environment nor the caller supplied ``name``.
        """
        if name not in self.extras:
            raise InputError(
                f"this reward needs {name!r} of every episode; pass Episode(..., extras={{{name!r}: ...}})."
            )
        return self.extras[name]
