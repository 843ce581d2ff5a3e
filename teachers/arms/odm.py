"""Online data mixing: an EXP3 whose reward is averaged over time (Albalak, Pan, Raffel, Wang 2023, arXiv 2312.02406).

The paper's reward is the training loss of a domain. Here it is a `Payoff` computed from returns, by default the mean
|advantage|, which is also large for arms with much left to learn.
"""

from __future__ import annotations

import math

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import softmax
from .payoff import ImportanceWeightedArms


@register("odm")
class ODM(ImportanceWeightedArms):
    """Online data mixing.

    Each `observe` is one step t: for every arm i in the batch, R_i <- alpha R_i + (1 - alpha) r_i / p_i, with r_i / p_i
    averaged over the arm's outcomes and p_i the probability of the draw. Then

        p_i = (1 - n e_t) exp(e_{t-1} R_i) / sum_j exp(e_{t-1} R_j) + e_t,   e_t = min(1 / n, sqrt(ln n / (n t))).
    """

    paper = "2312.02406"
    when = (
        "A mixture of data sets whose shares are to adapt smoothly: the bandit averages over time, and with "
        "`per_cost` it counts progress per token."
    )
    kept = ("estimates", "t")
    alpha: float = option(
        default=0.9, low=0, high=1, says="share of R that is kept in a step, as in the released code."
    )

    def setup(self) -> None:
        super().setup()
        self.estimates = np.zeros(self.arms.n)
        self.t = 0

    def exploration(self, t: int) -> float:
        """Return e_t, the least probability of an arm after t steps."""
        n = self.arms.n
        return min(1 / n, math.sqrt(math.log(n) / (n * t))) if t else 1 / n

    def _probabilities(self) -> np.ndarray:
        least = self.exploration(self.t)
        before = self.exploration(max(self.t - 1, 0))
        weights = softmax(before * self.estimates, 1.0)
        return max(1 - self.arms.n * least, 0.0) * weights + least

    def _values(self) -> np.ndarray:
        return self.estimates

    def _learn(self, evidence: list[Evidence]) -> None:
        rewards: dict[int, list[float]] = {}
        for arm, probability, reward in filter(None, map(self._reward, evidence)):
            rewards.setdefault(arm, []).append(reward / probability)
        for arm, values in rewards.items():
            self.estimates[arm] = self.alpha * self.estimates[arm] + (1 - self.alpha) * sum(values) / len(values)
        self.t += bool(rewards)
