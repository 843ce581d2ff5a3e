"""AdaRFT: a target difficulty moves with the success rate; the nearest prompts are next (arXiv 2504.05520).

The released code sorts by distance alone, so that a constant target repeats the same prompts for ever, and counts a
format reward as success. Here prompts near the target take turns, and only success counts.
"""

from __future__ import annotations

import math

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import Kept
from ..signals import success_counts
from .prompt_teacher import PromptTeacher
from .screening import Turns


@register("adarft")
class AdaRFT(PromptTeacher):
    """Adaptive curriculum: T <- clip(T + eta tanh(alpha (R - beta)), 0, 100), and prompts with difficulty near T.

    A prompt's difficulty is ``100 pool.difficulty``. R is the success rate of a batch, or its mean return in [0, 1]
    where the environment does not report success.
    """

    paper = "2504.05520"
    when = "Prompts with known difficulties, and one target for the success rate: cheap, without any screening."
    kept = (Kept("target", float), Kept(("_successes", "_episodes"), key="waiting"), "_turns")
    eta: float = option(default=50.0, above=0, says="largest step of T.")
    alpha: float = option(default=2.0, above=0, says="sensitivity to the success rate.")
    beta: float = option(default=0.5, low=0, high=1, says="success rate at which T does not move.")
    start: float = option(default=0.0, low=0, high=100, says="initial T.")
    batch: int = option(
        default=64,
        low=1,
        says="number of episodes that make one step of T. One call of `observe` makes at most one step, of all its "
        "episodes; smaller calls are collected (64 is our choice; the paper's batches hold more).",
    )
    reach: int = option(
        default=4,
        low=1,
        says="ratio of the number of nearest prompts that take turns to the number k of prompts requested; the "
        "least recently proposed come first (4 is our choice).",
    )
    repeat: bool = option(default=False, says="take the k nearest prompts each time, as the released code does.")

    def setup(self) -> None:
        super().setup()
        self.target = self.start
        self._difficulty = 100 * self.pool.difficulty
        self._turns = Turns(self.pool.n)
        self._successes, self._episodes = 0.0, 0  # since the last step

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        distance = np.abs(self._difficulty - self.target)
        if self.repeat:
            return np.argsort(distance, kind="stable")[:k], np.nan, "exploit"
        near = argsmallest(distance, self.reach * k, self._rng)
        chosen = near[np.argsort(self._turns.last[near], kind="stable")[:k]]
        return self._turns.mark(chosen), np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            successes, episodes = success_counts(item)
            self._successes += successes
            self._episodes += episodes
        if self._episodes >= self.batch:
            rate = self._successes / self._episodes
            step = self.eta * math.tanh(self.alpha * (rate - self.beta))
            self.target = min(max(self.target + step, 0.0), 100.0)
            self._successes, self._episodes = 0.0, 0

    def _metrics(self) -> dict[str, float]:
        return {"target": self.target}
