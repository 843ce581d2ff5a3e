"""Rewards made of the scores of steps: a process reward model's, a judge's or a rule's (see `palaestra.rewards.steps`).

One base asks a scorer, or reads the extra "step_scores", and checks what it gets; each reward shapes the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...checks import check_number
from ...errors import InputError
from .. import steps
from ..episode import Episode
from ..reward import StepReward, register

Scorer = Callable[[Episode], "Sequence[float] | None"]
"""Scores of an episode's steps, in order, or None where they could not be determined."""


def per_turn(values: np.ndarray, episode: Episode, what: str) -> list[float]:
    """``values`` if there is one a turn; their sum, if the episode has a single turn with several steps in its text.

    Raises:
        InputError: neither.
    """
    turns = len(episode.steps)
    if len(values) == turns:
        return values.tolist()
    if turns == 1:
        return [float(values.sum())]
    raise InputError(f"an episode of {turns} turns needs as many {what}, not {len(values)}.")


def finite(values: Any, what: str) -> np.ndarray | None:
    """``values`` as an array of one dimension; None where any is not finite, for then the scorer failed."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{what} must be a sequence of numbers, not of shape {array.shape}.")
    return array if np.isfinite(array).all() else None


class ScoredSteps(StepReward):
    """Base: a subclass implements ``shape(scores, episode)``.

    Args:
        scorer: from an episode to the scores of its steps; None reads the extra "step_scores". There is one score a
            turn; an episode of one turn may have any number (the steps within its text).
    """

    needs = frozenset({"step_scores"})

    def __init__(self, scorer: Scorer | None = None):
        self.scorer = scorer
        self.needs = frozenset() if scorer else frozenset({"step_scores"})

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        raise NotImplementedError

    def shaped(self, episode: Episode) -> np.ndarray | None:
        """One number a score, for credit finer than a turn; None where the scorer failed."""
        scores = self.scorer(episode) if self.scorer else episode.extra("step_scores")
        array = None if scores is None else finite(scores, "step scores")
        return None if array is None else self.shape(array, episode)

    def values(self, episode: Episode) -> list[float] | None:
        shaped = self.shaped(episode)
        return None if shaped is None else per_turn(shaped, episode, "step scores")


@register("clip-delta")
class ClipDelta(ScoredSteps):
    """Step scores clipped from above and differenced, so that more or repeated steps earn nothing.

    Args:
        weight: of the term.
        threshold: scores at or above it count as 0 and those below as what they lack; choose it so that most steps
            reach it. None does not clip.
        delta: pay differences to the next step; then the whole episode is worth its first score, whatever its length.
        scorer: see `ScoredSteps`.
    """

    paper = "Clip and Delta, arXiv 2410.15115"

    def __init__(
        self, weight: float = 1.0, threshold: float | None = 0.5, delta: bool = True, scorer: Scorer | None = None
    ):
        super().__init__(scorer)
        self.weight = check_number("weight", weight)
        self.threshold = None if threshold is None else check_number("threshold", threshold)
        self.delta = delta

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if self.threshold is not None:
            scores = steps.clip_steps(scores, self.threshold)
        return self.weight * (steps.delta_steps(scores) if self.delta else scores)


@register("min-form")
class MinForm(ScoredSteps):
    """The episode is worth (softly) its worst step, which alone is paid: good steps cannot make up for a bad one.

    Args:
        weight: of the term.
        temperature: of the soft minimum; 0 takes the minimum.
        scorer: see `ScoredSteps`; scores in [-1, 1] by custom (probability of good less that of bad).
    """

    paper = "PURE, arXiv 2504.15275"

    def __init__(self, weight: float = 1.0, temperature: float = 0.1, scorer: Scorer | None = None):
        super().__init__(scorer)
        self.weight = check_number("weight", weight)
        self.temperature = check_number("temperature", temperature, low=0.0)

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        return self.weight * steps.min_form(scores, self.temperature)


@register("renorm")
class ReNorm(ScoredSteps):
    """Each step is worth its score plus the outcome (1 for success, 0 otherwise) less one.

    A success has no negative step and a failure no positive one, whence no failure outranks a success. A middling step
    adds nothing, so turns cannot be padded.

    Args:
        scorer: see `ScoredSteps`; scores in [0, 1].

    Raises:
        InputError: when called, a score outside [0, 1].
    """

    paper = "PPR with ReNorm, arXiv 2509.25598"
    complete = True
    ranks_success = True

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if ((scores < 0) | (scores > 1)).any():
            raise InputError(f"step scores must lie in [0, 1]; scale those from {scores.min():g} to {scores.max():g}.")
        return steps.renormed(scores, float(episode.success))
