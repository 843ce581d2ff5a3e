"""Thompson sampling over arms: draw a value of each arm from its posterior and take the arm with the best draw.

`BetaThompson` has posteriors of success rates; the best is nearest to a target (BOTS, arXiv 2510.26374).
`GaussianThompson` has posteriors of learning progress; the best is largest (discounted Gaussian Thompson sampling,
arXiv 2305.10718).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..protocol import Draw, Evidence
from ..registration import register
from ..signals import PassRates, check_prior
from .arm_teacher import ArmTeacher
from .payoff import PayoffArms, PayoffKind

NUMBERS = 8192  # largest number of posterior draws for a batch


class Thompson(ArmTeacher):
    """Base of teachers that draw from a posterior; a subclass writes `_scores` and `_learn`.

    A batch of k proposals on n arms makes k independent draws of all arms if k n <= `NUMBERS`. Otherwise it makes fewer
    draws and takes the best few arms of each, as BOTS takes its whole batch from one draw. The probability of a
    proposal has no closed form and is NaN.
    """

    def _probabilities(self) -> np.ndarray:
        raise RuntimeError("a posterior draw has no distribution in closed form")

    def distribution(self) -> None:
        return None

    @abstractmethod
    def _scores(self, rows: int) -> np.ndarray:
        """Return float64[rows, n], independent posterior draws of each arm's score; the highest score is the best."""

    def _choose(self, k: int) -> np.ndarray:
        """Return int64[k], the arms of a batch."""
        rows = min(k, max(1, NUMBERS // self.arms.n))
        each = min(-(-k // rows), self.arms.n)
        scores = self._scores(rows)
        best = scores.argmax(1) if each == 1 else np.argpartition(-scores, each - 1, axis=1)[:, :each]
        return np.resize(best, k)

    def _draw(self, k: int) -> list[Draw]:
        drawn = self._choose(k)
        free = self._rng.random(k) < self.floor
        drawn[free] = self._rng.integers(self.arms.n, size=int(free.sum()))
        origins = np.where(free, "explore", "exploit").tolist()
        return [Draw(a, self.arms.task(a, self._rng), origin=o) for a, o in zip(drawn.tolist(), origins)]

    def _metrics(self) -> dict[str, float]:
        values = self._values()
        return {} if values is None else {"value_max": float(values.max())}


@register("thompson")
class BetaThompson(Thompson):
    """Thompson sampling of the arm whose success rate is nearest to a target.

    Arm i has a Beta posterior; a draw p_i from it has the score -|p_i - target|. With target 0.5 the scores have the
    order of the variances p_i (1 - p_i). The implicit evidence that BOTS interpolates for arms not observed is left
    out.
    """

    paper = "2510.26374"
    when = (
        "Arms whose success rate should be near a target, such as one half. It learns from a handful of outcomes per "
        "arm."
    )
    target: float = option(default=0.5, low=0, high=1, says="success rate to aim at.")
    decay: float = option(
        default=0.9,
        above=0,
        high=1,
        says="factor on the evidence in an arm's posterior at each observation of the arm. Our default remembers "
        "about ten observations. BOTS decays all arms at each training step instead, which would forget "
        "everything in a loop of single episodes.",
    )
    prior: tuple[float, float] = option(default=(1.0, 1.0), check=check_prior, says="(alpha, beta) of the Beta prior.")

    def setup(self) -> None:
        super().setup()
        self.rates = PassRates(self.arms.n, self.prior, self.decay)

    def _scores(self, rows: int) -> np.ndarray:
        drawn = self._rng.beta(self.rates.alpha, self.rates.beta, size=(rows, self.arms.n))
        return -np.abs(drawn - self.target)

    def _values(self) -> np.ndarray:
        return self.rates.mean

    def _learn(self, evidence: list[Evidence]) -> None:
        self.rates.learn(evidence)

    def _save(self) -> dict[str, Any]:
        return self.rates.save()

    def _restore(self, own: Mapping[str, Any]) -> None:
        self.rates.restore(own)


@register("thompson-progress")
class GaussianThompson(PayoffArms, Thompson):
    """Thompson sampling of the arm with the largest learning progress.

    With N_i and S_i the discounted number and sum of the rewards (`Payoff`) of arm i, a draw is from the normal
    distribution with mean S_i / (N_i + 1) and standard deviation scale / sqrt(N_i + 1). Each outcome multiplies all N
    and S by gamma, so that arms not tried for long are tried again.
    """

    paper = "2305.10718"
    when = (
        "Few arms, where progress rather than the success rate should decide, and arms left alone must be tried again."
    )
    kept = ("counts", "sums")
    payoff: PayoffKind = "change"
    gamma: float = option(
        default=0.99,
        above=0,
        high=1,
        says="discount. The default is ours; the paper's depends on how often the best arm changes.",
    )
    scale: float = option(
        default=0.2,
        above=0,
        says="posterior standard deviation of an untried arm. The paper uses 1, for rewards that fill [0, 1]; "
        "learning progress is smaller.",
    )

    def setup(self) -> None:
        super().setup()
        self.counts, self.sums = np.zeros(self.arms.n), np.zeros(self.arms.n)

    def _scores(self, rows: int) -> np.ndarray:
        deviation = self.scale / np.sqrt(self.counts + 1)
        return self._values() + deviation * self._rng.standard_normal((rows, self.arms.n))

    def _values(self) -> np.ndarray:
        return self.sums / (self.counts + 1)

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            reward = self._payoff.of(arm, item.returns)
            if reward is not None:
                self.counts *= self.gamma
                self.sums *= self.gamma
                self.counts[arm] += 1
                self.sums[arm] += reward
