"""EXP3.S on learning progress (Graves, Bellemare, Menick, Munos, Kavukcuoglu 2017, arXiv 1704.03003).

An adversarial bandit keeps a log-weight for each arm and adds to it the reward divided by the probability of the draw.
Every arm also receives a small share of the other arms' weights, so that an arm that becomes useful late is found
again. The bandit's reward is a `Payoff`, not the environment's reward, and is rescaled by the 20th and 80th percentile
of earlier ones.
"""

from __future__ import annotations

from bisect import insort
from typing import Literal

import numpy as np

from ...checks import check_share, option
from ..protocol import Evidence
from ..registration import Preset, register
from ..sampling import softmax
from ..saved_state import Kept, SavedState
from .payoff import ImportanceWeightedArms, PayoffKind

LOW, HIGH = 0.2, 0.8  # quantiles of the reservoir that are mapped to -1 and 1 (section 3.2)


class RewardRescaler(SavedState):
    """Maps rewards to [-1, 1] by percentiles of a uniform sample (a reservoir) of all rewards so far.

    Args:
        size: largest number of rewards in the reservoir.
    """

    kept = ("seen", Kept("_sorted", list[float]))

    def __init__(self, size: int):
        self.size = size
        self.seen = 0
        self._sorted: list[float] = []

    def __call__(self, reward: float, rng: np.random.Generator) -> float:
        """Add ``reward`` to the reservoir and return it rescaled; 0 while all rewards in the reservoir are equal."""
        self.seen += 1
        if len(self._sorted) < self.size:
            insort(self._sorted, reward)
        elif (place := int(rng.integers(self.seen))) < self.size:  # in sorted order a random place is a random member
            del self._sorted[place]
            insort(self._sorted, reward)
        low, high = self._quantile(LOW), self._quantile(HIGH)
        return min(max(2 * (reward - low) / (high - low) - 1, -1.0), 1.0) if high > low else 0.0

    def _quantile(self, q: float) -> float:
        position = q * (len(self._sorted) - 1)
        below = int(position)
        above = min(below + 1, len(self._sorted) - 1)
        return self._sorted[below] + (position - below) * (self._sorted[above] - self._sorted[below])


@register("exp3.s")
class Exp3S(ImportanceWeightedArms):
    """Exponential weights with sharing, rewarded by learning progress.

    The t-th outcome, of arm a with reward r in [-1, 1], sets

        w_i <- log((1 - alpha_t) e^v_i + alpha_t / (n - 1) sum_{j != i} e^v_j),   v_i = w_i + eta r [i = a] / p_a,

    and arms are drawn from p = (1 - floor) softmax(w) + floor / n. The paper's exploration bonus beta is left out, as
    it is 0 in its experiments.
    """

    paper = "1704.03003"
    when = (
        "Few arms, rewards that drift, and no assumption on how: an arm that becomes useful late is found again. It "
        "needs many outcomes."
    )
    kept = ("w", "t", "_rescaling")
    payoff: PayoffKind = "change"
    floor: float = 0.05  # the paper's epsilon
    eta: float = option(
        default=1e-3,
        above=0,
        says="step size. The paper's 1e-3 is meant for hundreds of thousands of steps; released curricula for "
        "reinforcement learning use 0.025.",
    )
    sharing: float | Literal["harmonic"] = option(
        default="harmonic",
        check=lambda name, value: value if value == "harmonic" else check_share(name, value),
        says='alpha_t; "harmonic" is the paper\'s 1 / t, a number in [0, 1] is constant, 0 makes it EXP3.',
    )
    importance: Literal["mixed", "unmixed"] = option(
        default="mixed",
        says='probability p in the importance weight 1 / p: "mixed" is the true probability of the draw; "unmixed" '
        "ignores the floor, as some released code does, and makes the weight unbounded.",
    )
    rescale: bool = option(default=True, says="map rewards to [-1, 1] by percentiles; False uses them unchanged.")
    reservoir: int = option(
        default=1000,
        low=2,
        says="number of rewards from which the percentiles are computed. The paper gives no number.",
    )

    def setup(self) -> None:
        super().setup()
        self.w = np.zeros(self.arms.n)
        self.t = 0
        self._rescaling = RewardRescaler(self.reservoir)

    def _probabilities(self) -> np.ndarray:
        return softmax(self.w, 1.0)

    def _importance(self) -> np.ndarray:
        return self.distribution() if self.importance == "mixed" else self._probabilities()

    def _values(self) -> np.ndarray:
        return self.w

    def _learn(self, evidence: list[Evidence]) -> None:
        for arm, probability, reward in filter(None, map(self._reward, evidence)):
            self._step(arm, (self._rescaling(reward, self._rng) if self.rescale else reward) / probability)

    def _step(self, arm: int, weighted: float) -> None:
        self.t += 1
        v = self.w.copy()
        v[arm] += self.eta * weighted
        v -= v.max()  # only differences count
        alpha = 1 / self.t if self.sharing == "harmonic" else self.sharing
        if alpha and len(v) > 1:
            weights = np.exp(v)
            others = (weights.sum() - weights) / (len(v) - 1)
            v = np.log(np.maximum((1 - alpha) * weights + alpha * others, np.finfo(float).tiny))
        self.w = v


Preset(
    "exp3",
    Exp3S,
    "Exponential weights without sharing, for arms whose use does not change.",
    "Auer, Cesa-Bianchi, Freund, Schapire, SIAM J. Comput. 32(1), 2002",
    when="Few arms, whose usefulness does not change in the run. Where it does, as it usually does in learning, "
    "take `exp3.s`.",
    sharing=0.0,
)
