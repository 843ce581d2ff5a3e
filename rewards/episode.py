"""What a reward sees of an episode: texts, token counts and the environment's own rewards, without any model.

The rollout code fills these records; the objects in `reward.py` read them. Both dataclasses are frozen and picklable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class Step:
    """One turn.

    Args:
        observation: what the agent read before acting.
        action: what it wrote.
        reward: what the environment paid for it; finite.
        terms: the environment's named reward terms, summing to ``reward``.
        tokens: length of the action in tokens.
    """

    observation: str
    action: str
    reward: float
    terms: Mapping[str, float]
    tokens: int

    def __post_init__(self) -> None:
        if not math.isfinite(self.reward):
            raise InputError(f"a step's reward must be finite, not {self.reward!r}.")
        if self.tokens < 0:
            raise InputError(f"a step's token count must be 0 or more, not {self.tokens!r}.")


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode.

    Args:
        task_id: the environment's ``info["task_id"]``.
        params: the task's parameters.
        steps: the turns in order.
        success: the environment's ``info["is_success"]`` at the end.
        progress: the environment's ``info["progress"]`` at the end, in [0, 1].
        valid: False when any step had ``reward_valid`` False.
        truncated: the episode was cut off by a limit on turns or tokens.
        max_tokens: the limit on action tokens in force, or None.
    """

    task_id: str
    params: Mapping[str, Any]
    steps: tuple[Step, ...]
    success: bool
    progress: float
    valid: bool
    truncated: bool
    max_tokens: int | None

    def __post_init__(self) -> None:
        if not 0.0 <= self.progress <= 1.0:
            raise InputError(f"an episode's progress must lie in [0, 1], not {self.progress!r}.")

    @property
    def reward(self) -> float:
        """Sum of the step rewards."""
        return float(sum(step.reward for step in self.steps))

    @property
    def tokens(self) -> int:
        """Sum of the action tokens."""
        return sum(step.tokens for step in self.steps)
