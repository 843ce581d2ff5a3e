"""PUDF (arXiv 2408.05326): train on prompts within the learner's ability, by one-parameter item response theory.

A prompt has a difficulty b, the learner an ability theta, and the probability of success is sigmoid(theta - b).
Difficulties are fitted beforehand to answers of a crowd of weaker learners (`fit_difficulties`), or come from
``pool.difficulty``; the ability is estimated from the latest outcomes.
"""

from __future__ import annotations

import math
from collections import deque
from hashlib import blake2b
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import Kept
from ..signals import check_band, success_counts
from .prompt_teacher import PromptTeacher

EDGE = 0.02  # difficulties are clipped to [EDGE, 1 - EDGE], so that logits are finite: |b| <= 3.9


@register("pudf")
class PUDF(PromptTeacher):
    """Draws uniformly from the prompts whose difficulty does not exceed the learner's estimated ability.

    Attributes:
        difficulties: float64[n], b of each prompt.
    """

    paper = "2408.05326"
    when = "Answers of several weaker models to the same prompts are at hand, from which difficulties can be fitted."
    kept = (Kept("_answers", deque[tuple[int, float, int]]), "ability")
    crowd: Any | None = option(
        default=None,
        saved=False,
        says="answers of weaker learners, float[learners, n], 1 right, 0 wrong, NaN not asked, from which "
        "difficulties are fitted; None takes the logit of ``pool.difficulty``.",
    )
    target: float = option(
        default=0.5,
        above=0,
        high=1,
        says="least probability of success of an admitted prompt: b <= theta + ln(1/target - 1). 1/2 gives the "
        "paper's rule b <= theta.",
    )
    band: tuple[float, float] | None = option(
        default=None,
        check=check_band,
        says="(lower, upper), to train on theta + lower <= b <= theta + upper instead; overrides ``target``.",
    )
    least: int = option(
        default=10,
        low=1,
        says="least number of prompts to choose from; if the rule admits fewer, the nearest other prompts join.",
    )
    window: int = option(
        default=256,
        low=1,
        says="number of latest outcomes from which the ability is estimated; the paper estimates it on a probe set "
        "before each epoch.",
    )

    def setup(self) -> None:
        if self.target == 1:
            raise InputError(f"target={self.target:g} must lie strictly between 0 and 1.")
        fitted = None if self.crowd is None else fit_difficulties(self.crowd)
        digest = None if fitted is None else blake2b(fitted.tobytes(), digest_size=8).hexdigest()
        self.settings = {"crowd": digest}
        super().setup()
        if fitted is not None and len(fitted) != self.pool.n:
            raise InputError(f"crowd has answers to {len(fitted)} tasks; the space has {self.pool.n}.")
        d = np.clip(self.pool.difficulty, EDGE, 1 - EDGE)
        self.difficulties = np.log(d / (1 - d)) if fitted is None else fitted
        self._answers: deque[tuple[int, float, int]] = deque(maxlen=self.window)  # task, successes, episodes
        self.ability = 0.0

    def _excess(self) -> np.ndarray:
        """Compute float64[n] >= 0, the distance of each difficulty from the admitted range."""
        gap = self.difficulties - self.ability
        if self.band is None:
            return np.maximum(gap - math.log(1 / self.target - 1), 0.0)
        return np.maximum(np.maximum(self.band[0] - gap, gap - self.band[1]), 0.0)

    def _admissible(self) -> np.ndarray:
        """Return bool[n], the prompts to draw from: at least `least`, more if difficulties are equal."""
        excess = self._excess()
        least = min(self.least, len(excess))
        return excess <= max(float(np.partition(excess, least - 1)[least - 1]), 0.0)

    def distribution(self) -> np.ndarray:
        admitted = self._admissible()
        return admitted / admitted.sum()

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, str]:
        admitted = self._admissible()
        chosen = argsmallest(np.where(admitted, 0.0, 1.0 + self._excess()), k, self._rng)
        return chosen, np.where(admitted[chosen], 1 / admitted.sum(), np.nan), "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        self._answers.extend((int(item.record), *success_counts(item)) for item in evidence)
        task, successes, episodes = (np.array(column) for column in zip(*self._answers, strict=True))
        self.ability = fit_ability(self.difficulties[task], successes, episodes)

    def _metrics(self) -> dict[str, float]:
        return {"ability": self.ability, "admitted": float(self._admissible().mean())}


def fit_ability(
    difficulties: np.ndarray, successes: np.ndarray, episodes: np.ndarray | float = 1, *, deviation: float = 1.0
) -> float:
    """Return the posterior mode of the ability given answers to items, under a normal prior around 0.

    Newton's method on a concave function; a step that leaves the bracket of the root is replaced by bisection.

    Args:
        difficulties: float[m], b of each item answered.
        successes, episodes: number of successes and of attempts at each item; fractions are allowed.
        deviation: standard deviation of the prior.
    """
    b, s = np.asarray(difficulties, dtype=np.float64), np.asarray(successes, dtype=np.float64)
    m = np.broadcast_to(np.asarray(episodes, dtype=np.float64), b.shape)
    precision = 1 / deviation**2
    high = float(m.sum()) / precision + 1e-9  # the likelihood pulls by no more than one per attempt
    low, theta = -high, 0.0
    for _ in range(200):
        p = _sigmoid(theta - b)
        slope = float((s - m * p).sum()) - precision * theta
        low, high = (theta, high) if slope > 0 else (low, theta)
        step = slope / (float((m * p * (1 - p)).sum()) + precision)
        if abs(step) < 1e-10:
            break
        theta = theta + step if low < theta + step < high else (low + high) / 2
    return theta


def fit_difficulties(crowd: Any, *, deviation: float = 3.0, tolerance: float = 1e-6) -> np.ndarray:
    """Fit the difficulties of items to a crowd's answers, by the one-parameter model.

    The result is the posterior mode over abilities (standard normal prior, as in the paper) and difficulties (normal
    prior of standard deviation ``deviation``, which is wide but keeps an item that nobody solves finite). Newton steps
    alternate between abilities and difficulties. The paper fits the same model by variational inference.

    Args:
        crowd: float[learners, n], 1 right, 0 wrong, NaN not asked.
        deviation: standard deviation of the prior of difficulties.
        tolerance: stop when no difficulty moves by more.

    Returns:
        float64[n], b of each item.

    Raises:
        InputError: ``crowd`` is no matrix of this form.
    """
    answers = np.asarray(crowd, dtype=np.float64)
    if answers.ndim != 2 or not answers.size or not (np.isnan(answers) | ((answers >= 0) & (answers <= 1))).all():
        raise InputError(f"crowd has shape {answers.shape}; give learners x tasks of answers in [0, 1], NaN for none.")
    asked = ~np.isnan(answers)
    right = np.where(asked, answers, 0.0)
    theta, b = np.zeros(len(answers)), np.zeros(answers.shape[1])
    for _ in range(500):
        # Steps of at most 1 keep Newton from overshooting where a sigmoid is flat.
        p = _sigmoid(theta[:, None] - b) * asked
        theta += np.clip(((right - p).sum(1) - theta) / ((p * (1 - p)).sum(1) + 1), -1, 1)
        p = _sigmoid(theta[:, None] - b) * asked
        move = np.clip(((p - right).sum(0) - b / deviation**2) / ((p * (1 - p)).sum(0) + 1 / deviation**2), -1, 1)
        b += move
        if np.abs(move).max() < tolerance:
            break
    return b


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))
