"""`Verdict`: the judgement of one answer or episode, which every verifier and every reward returns.

A verdict keeps three things apart: the quality of the result (``score``), whether it solves the task (``success``), and
whether the judging worked (``valid``). A learner masks invalid verdicts and takes success from ``success`` alone,
never from a positive reward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError


class VerdictError(InputError):
    """Error for a verdict with unusable numbers."""


@dataclass(frozen=True, slots=True)
class RewardSpan:
    """Reward of a part of an action, such as one thought.

    Args:
        turn: index of the turn.
        start, stop: character positions of the part in the action.
        reward: reward of the part. It is already included in the turn's reward in `Verdict.steps`, or in the verdict's
            reward if there are no steps.
    """

    turn: int
    start: int
    stop: int
    reward: float

    def __post_init__(self) -> None:
        if not (self.turn >= 0 and 0 <= self.start <= self.stop and math.isfinite(self.reward)):
            raise VerdictError(f"a part of an action needs a turn, 0 <= start <= stop and a finite reward, not {self}.")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Judgement of one answer or one episode.

    Args:
        score: quality in [0, 1].
        success: True if the task is solved. Partial credit is a score without success.
        valid: False if the judging failed (sandbox down, time limit of the verifier); such a verdict is masked.
        terms: named parts of the reward; if given, the reward is their sum instead of the score.
        feedback: one sentence on the result, suitable for the agent; for an invalid verdict, the failure.
        malformed: True if the answer does not have the required form at all; ``feedback`` then names the fault.
        extras: further results of the judging as plain data, by the names in the ``needs`` of rewards.
        steps: term name -> reward of every turn, for terms that are sums over turns.
        spans: rewards of parts of actions, where a reward is finer than a turn.

    Raises:
        VerdictError: score outside [0, 1], a term that is not finite, steps that do not sum to the term of the same
            name, or success claimed by an invalid verdict.
    """

    score: float
    success: bool
    valid: bool = True
    terms: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""
    malformed: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    spans: tuple[RewardSpan, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:  # also refuses NaN
            raise VerdictError(f"a verdict's score must lie in [0, 1], not {self.score!r}.")
        if self.success and not self.valid:
            raise VerdictError("a verdict with valid=False cannot be a success; set success=False.")
        for name, value in self.terms.items():
            if not math.isfinite(value):
                raise VerdictError(f"the reward term {name!r} must be finite, not {value!r}.")
        for name, values in self.steps.items():
            total = math.fsum(values)
            if name not in self.terms or not math.isclose(total, self.terms[name], rel_tol=1e-6, abs_tol=1e-9):
                raise VerdictError(
                    f"the rewards of turns of {name!r} sum to {total:g}, but its term is {self.terms.get(name)!r}; "
                    "name them after the term that they sum to."
                )

    @property
    def reward(self) -> float:
        """Sum of the terms, or the score if there are no terms."""
        return math.fsum(self.terms.values()) if self.terms else float(self.score)

    @property
    def by_turn(self) -> tuple[float, ...]:
        """Reward of every turn, summed over all terms that have steps; () if none has."""
        return tuple(map(sum, zip(*self.steps.values(), strict=True)))
