"""MoPPS, model predictive prompt selection: posteriors of success rates pick the next batch (arXiv 2507.04632).

Each prompt has a Beta posterior that forgets. A draw from it (Thompson sampling) predicts the prompt's success rate,
and the prompts with draws nearest to a target are practised. No rollouts are spent on screening.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import check_share, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import SavedState
from ..signals import PassRates, success_counts
from .prompt_teacher import PromptTeacher


class KalmanRates(SavedState):
    """A Gaussian posterior of the success rate of each of n tasks, which drifts between observations.

    Every batch adds ``drift`` to all variances, up to 1/12, the variance of a uniform rate. A rate r of m episodes is
    modelled as r = p + noise of variance max(p (1 - p), 0.01) / m at the posterior mean p; the bound 0.01 keeps a
    posterior with mean 0 or 1 from becoming certain (our choice).

    Attributes:
        mean, variance: float64[n]; initially 0.5 and 1/12.
    """

    kept = ("mean", "variance")

    def __init__(self, n: int, drift: float):
        self.drift = drift
        self.mean, self.variance = np.full(n, 0.5), np.full(n, 1 / 12)

    def learn(self, evidence: list[Evidence]) -> None:
        self.variance = np.minimum(self.variance + self.drift, 1 / 12)
        for item in evidence:
            task, (successes, episodes) = int(item.record), success_counts(item)
            mean, variance = self.mean[task], self.variance[task]
            trust = variance / (variance + max(mean * (1 - mean), 0.01) / episodes)
            self.mean[task] = mean + trust * (successes / episodes - mean)
            self.variance[task] = (1 - trust) * variance

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        return np.clip(rng.normal(self.mean, np.sqrt(self.variance)), 0.0, 1.0)


def _check_band(name: str, value: Any) -> list[float]:
    band = [check_share(name, value[0]), check_share(name, value[1])]
    if band[0] > band[1]:
        raise InputError(f"{name}={value} must give the lower bound first.")
    return band


@register("mopps")
class MoPPS(PromptTeacher):
    """Thompson sampling over posteriors of the success rate: the prompts whose draws lie nearest to a target."""

    paper = "2507.04632"
    when = (
        "A fixed data set of prompts with right or wrong answers. It needs no screening; a good first choice for "
        "prompts."
    )
    target: float = option(default=0.5, low=0, high=1, says="success rate to aim at.")
    decay: float = option(
        default=0.5,
        above=0,
        high=1,
        says="decay of the Beta posterior: s successes in m episodes set alpha <- decay alpha + (1 - "
        "decay) + s. The released scripts use 0.5; 1 forgets nothing.",
    )
    band: tuple[float, float] | None = option(
        default=None,
        check=_check_band,
        says="(low, high): choose uniformly among the prompts whose draw lies inside, then the nearest to the band "
        'if these are too few (the released "threshold" strategy); ``target`` is then ignored. None takes '
        "the prompts nearest to ``target``.",
    )
    candidates: int | None = option(
        default=None,
        low=1,
        says="number of random candidates per chosen prompt, of which the best are taken; None considers all prompts.",
    )
    posterior: Literal["beta", "kalman"] = option(
        default="beta", says='"beta", or "kalman" for Gaussian posteriors that drift (`KalmanRates`).'
    )
    drift: float = option(
        default=1e-3, above=0, says="variance added to every Gaussian posterior with each batch (our choice)."
    )

    def setup(self) -> None:
        super().setup()
        n = self.pool.n
        self.beliefs = PassRates(n, decay=self.decay) if self.posterior == "beta" else KalmanRates(n, self.drift)

    @property
    def rates(self) -> np.ndarray:
        """float64[n], the posterior mean of each prompt's success rate."""
        return self.beliefs.mean

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        draws = self.beliefs.sample(self._rng)
        low, high = self.band or (self.target, self.target)
        cost = np.maximum(low - draws, 0) + np.maximum(draws - high, 0)
        if self.candidates is None:
            return argsmallest(cost, k, self._rng), np.nan, "exploit"
        among = self._rng.permutation(len(cost))[: min(self.candidates * k, len(cost))]
        return among[argsmallest(cost[among], k, self._rng)], np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        self.beliefs.learn(evidence)

    def _metrics(self) -> dict[str, float]:
        rates = self.rates
        return {"rate_mean": float(rates.mean()), "near_target": float((np.abs(rates - self.target) < 0.25).mean())}

    def _save(self) -> dict[str, Any]:
        return self.beliefs.save()

    def _restore(self, own: Mapping[str, Any]) -> None:
        self.beliefs.restore(own)
