"""Goals of intermediate difficulty by rejection: GoalGAN's curriculum without its generative network (Florensa et al.,
ICML 2018, arXiv 1705.06366).

GoalGAN trains a network to produce goals that the student reaches sometimes. Here a uniform candidate is accepted if
the mean success of the nearest recent tasks lies in a band, so that nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..signals import success_rate
from .box_teacher import BoxTeacher
from .recent import Recent


@register("goid")
class GOID(BoxTeacher):
    """Tasks whose success rate, judged by their nearest neighbours, is neither low nor high.

    The proposal is the first of `candidates` uniform points whose predicted success lies in the band, or else the point
    nearest to the band. A share of tasks repeats earlier goals, slightly moved, that were in or above the band, so that
    they are not forgotten.
    """

    paper = "1705.06366"
    when = (
        "A continuous space in which tasks that sometimes succeed can be found near others. No model is trained, and "
        "goals are replayed."
    )
    kept = ("_tried", "_goals")
    low: float = option(default=0.25, low=0, high=1, says="lower end of the band, included (0.1 in the paper).")
    high: float = option(default=0.75, low=0, high=1, says="upper end of the band, included (0.9 in the paper).")
    replay_share: float = option(
        default=0.2, low=0, high=1, says="share of old goals in the proposals (0.2 in TeachMyAgent)."
    )
    noise: float = option(
        default=0.05, low=0, says="standard deviation of the movement of old goals, as a share of each axis."
    )
    random_share: float = option(
        default=0.1,
        low=0,
        high=1,
        says="share of uniform tasks (ours; it detects success rates that fall back into the band).",
    )
    neighbours: int = option(
        default=10, low=1, says="number of nearest tasks whose mean success is the prediction (ours)."
    )
    memory: int = option(
        default=300, low=1, says="number of latest tasks searched for neighbours, and of old goals kept (ours)."
    )
    candidates: int = option(default=32, low=1, says="uniform points tried for one proposal (ours).")

    def setup(self) -> None:
        if self.low > self.high:
            raise InputError(f"low={self.low:g} must not be larger than high={self.high:g}.")
        if self.replay_share + self.random_share > 1:
            raise InputError(
                f"replay_share={self.replay_share:g} and random_share={self.random_share:g} sum to more than 1."
            )
        if self.memory < self.neighbours:
            raise InputError(f"memory={self.memory} must be at least neighbours={self.neighbours}.")
        super().setup()
        self._tried = Recent(self.memory, self.cube.dimension + 1)
        self._goals = Recent(self.memory, self.cube.dimension + 1)

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Return float64[m], the mean success rate of the recent tasks nearest to each of ``points`` [m, d]."""
        rows = self._tried.rows
        distance = np.square(rows[:, :-1]).sum(1) - 2.0 * (points @ rows[:, :-1].T)
        near = np.argpartition(distance, self.neighbours - 1, axis=1)[:, : self.neighbours]
        return rows[near, -1].mean(1)

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        d = self.cube.dimension
        if len(self._tried) < self.neighbours:
            return self._rng.random((k, d)), 1.0, "warmup"
        mode = self._rng.random(k)
        pool = self._rng.random((k, self.candidates, d))
        rates = self.predict(pool.reshape(-1, d)).reshape(k, -1)
        # Distance from the band; argmin takes the first point inside.
        outside = np.maximum(self.low - rates, 0.0) + np.maximum(rates - self.high, 0.0)
        outside[mode < self.random_share, 0] = -1.0
        points = pool[np.arange(k), outside.argmin(1)]
        origins = np.where(mode < self.random_share, "explore", "exploit")
        replayed = mode >= 1 - self.replay_share
        if len(self._goals) and replayed.any():
            m = int(replayed.sum())
            goals = self._goals.rows[self._rng.integers(len(self._goals), size=m), :-1]
            points[replayed] = (goals + self.noise * self._rng.standard_normal((m, d))).clip(0.0, 1.0)
            origins[replayed] = "replay"
        return points, np.nan, origins.tolist()

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            x, rate = np.array(item.record, dtype=np.float64), success_rate(item)
            self._tried.add(x, rate)
            if rate >= self.low:
                self._goals.add(x, rate)

    def _metrics(self) -> dict[str, float]:
        rates = self._tried.rows[:, -1]
        inside = (rates >= self.low) & (rates <= self.high)
        return {"goals": float(len(self._goals)), "in_band": float(inside.mean()) if len(rates) else 0.0}
