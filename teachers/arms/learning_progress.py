"""Learning progress in both directions (Kanitscheider et al. 2021, arXiv 2106.14876).

Two running averages of an arm's success rate, a fast one and a slow one that follows the fast one, differ while the
rate rises or falls. Arms are drawn in proportion to a sigmoid of the standardised difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import check_share, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import proportional
from ..signals import success_counts
from .arm_teacher import ArmTeacher

LARGEST_BASELINE = 0.75  # leaves enough room above the baseline to measure progress


def reweight(p: np.ndarray, theta: float) -> np.ndarray:
    """Return f(p) = p (1 - theta) / (p + theta (1 - 2 p)), float64, which maps 0 to 0, theta to 1/2 and 1 to 1.

    With theta < 1/2 it magnifies changes of small probabilities (section 3).
    """
    return p * (1 - theta) / (p + theta * (1 - 2 * p))


def focus(progress: np.ndarray, quantile: float | None, steepness: float) -> np.ndarray:
    """Return float64[n] in (0, 1): a sigmoid of the z-scores of ``progress`` (float64[n], n >= 1), centred at their
    quantile, or at their mean if ``quantile`` is None."""
    deviation = progress.std()
    z = (progress - progress.mean()) / (deviation if deviation > 0 else 1.0)
    centre = 0.0 if quantile is None else np.quantile(z, quantile)
    return 1 / (1 + np.exp(-np.clip(steepness * (z - centre), -500, 500)))


@register("bidirectional-lp")
class BidirectionalLP(ArmTeacher):
    """Learning progress as the gap between a fast and a slow average of an arm's success rate.

    Each `observe` is one batch: for every arm in it with success rate p, above its baseline b,

        fast <- alpha p' + (1 - alpha) fast,   slow <- alpha fast + (1 - alpha) slow,   p' = max(p - b, 0) / (1 - b),

    and progress is |f(fast) - f(slow)| with `reweight` f. Arms with progress or success share the probability by
    `focus`; arms that were tried and never succeeded have `floor` only; untried arms count as much as the best arm.
    Arms not in the batch keep their averages. An arm that is not drawn is not evaluated, so only draws by the floor
    detect that it has become solvable or has been forgotten.

    If outcomes carry no successes, their returns in [0, 1] are used instead.

    Attributes:
        fast, slow: float64[n].
        tried: bool[n].
    """

    paper = "2106.14876"
    when = (
        "Many arms, most of them impossible at first, on which the student also forgets: both gains and losses count."
    )
    kept = ("fast", "slow", "tried")
    alpha: float = option(default=0.1, above=0, high=1, says="step size of both averages.")
    theta: float = option(default=0.1, above=0, high=1, says="success rate that the reweighting maps to 1/2, below 1.")
    quantile: float | None = option(
        default=0.9,
        low=0,
        high=1,
        says="quantile of the z-scores at which the sigmoid is centred. The paper uses a high quantile; None takes "
        "the mean, as in OMNI's and Syllabus' code, where the largest share is a few times the smallest.",
    )
    steepness: float = option(default=1.0, above=0, says="slope of the sigmoid.")
    baselines: Sequence[float] | None = option(
        default=None,
        check=lambda name, value: [check_share(name, rate) for rate in value],
        says="success rate of a random policy on each arm, clipped to 0.75; None is 0.",
    )
    floor: float = 0.1

    def setup(self) -> None:
        if self.theta == 1:
            raise InputError(f"theta={self.theta:g} must lie strictly between 0 and 1.")
        super().setup()
        n = self.arms.n
        given = np.zeros(n) if self.baselines is None else np.array(self.baselines)
        if given.shape != (n,):
            raise InputError(f"{len(given)} baselines were given for {n} arms; give one for each.")
        self._baselines = given.clip(0.0, LARGEST_BASELINE)
        self.fast, self.slow, self.tried = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)

    def progress(self) -> np.ndarray:
        """Return float64[n], |f(fast) - f(slow)| of each arm."""
        return np.abs(reweight(self.fast, self.theta) - reweight(self.slow, self.theta))

    def _probabilities(self) -> np.ndarray:
        progress = self.progress()
        moving = (progress > 0) | (self.fast > 0)
        if not moving.any():
            return proportional((~self.tried).astype(np.float64))
        weights = np.zeros(self.arms.n)
        weights[moving] = focus(progress[moving], self.quantile, self.steepness)
        weights[~self.tried] = weights.max()
        return weights / weights.sum()

    def _values(self) -> np.ndarray:
        return self.progress()

    def _learn(self, evidence: list[Evidence]) -> None:
        totals: dict[int, tuple[float, int]] = {}
        for item in evidence:
            successes, episodes = success_counts(item)
            before = totals.get(int(item.record), (0.0, 0))
            totals[int(item.record)] = (before[0] + successes, before[1] + episodes)
        arms = np.array(list(totals))
        rates = np.array([successes / episodes for successes, episodes in totals.values()])
        above = np.maximum(rates - self._baselines[arms], 0.0) / (1 - self._baselines[arms])
        self.fast[arms] += self.alpha * (above - self.fast[arms])
        self.slow[arms] += self.alpha * (self.fast[arms] - self.slow[arms])
        self.tried[arms] = True
