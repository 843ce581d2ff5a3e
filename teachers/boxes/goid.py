"""Goals of intermediate difficulty by rejection: GoalGAN's curriculum without its generative network (Florensa et al.,
ICML 2018, arXiv 1705.06366).

GoalGAN trains a network to produce goals that the student reaches sometimes. Here uniform candidates are kept where the
mean success of the nearest tasks tried lately lies in that band: the same idea with nothing to train.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_count, check_number, check_share
from ...errors import InputError
from ..protocol import Common, Evidence
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

    Args:
        space: ParamSpace, Box or Discrete.
        low, high: the band, both ends included (0.25 and 0.75 in TeachMyAgent; 0.1 and 0.9 in the paper).
        replay_share: share of old goals (0.2 in TeachMyAgent).
        noise: standard deviation of the movement of old goals, as a share of each axis.
        random_share: share of uniform tasks (ours; it detects success rates that fall back into the band).
        neighbours: number of nearest tasks whose mean success is the prediction (ours).
        memory: number of latest tasks searched for neighbours, and of old goals kept (ours).
        candidates: uniform points tried for one proposal (ours).
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "1705.06366"

    def __init__(
        self,
        space: Any,
        *,
        low: float = 0.25,
        high: float = 0.75,
        replay_share: float = 0.2,
        noise: float = 0.05,
        random_share: float = 0.1,
        neighbours: int = 10,
        memory: int = 300,
        candidates: int = 32,
        **common: Unpack[Common],
    ):
        self.low, self.high = check_share("low", low), check_share("high", high)
        if self.low > self.high:
            raise InputError(f"low={low:g} must not be larger than high={high:g}.")
        self.replay_share = check_share("replay_share", replay_share)
        self.random_share = check_share("random_share", random_share)
        if self.replay_share + self.random_share > 1:
            raise InputError(f"replay_share={replay_share:g} and random_share={random_share:g} sum to more than 1.")
        self.noise = check_number("noise", noise)
        if self.noise < 0:
            raise InputError(f"noise={noise:g} must not be negative.")
        check_count("neighbours", neighbours, low=1)
        check_count("memory", memory, low=1)
        check_count("candidates", candidates, low=1)
        if memory < neighbours:
            raise InputError(f"memory={memory} must be at least neighbours={neighbours}.")
        self.neighbours, self.memory, self.candidates = int(neighbours), int(memory), int(candidates)
        super().__init__(
            space,
            settings={
                "low": self.low,
                "high": self.high,
                "replay_share": self.replay_share,
                "noise": self.noise,
                "random_share": self.random_share,
                "neighbours": self.neighbours,
                "memory": self.memory,
                "candidates": self.candidates,
            },
            **common,
        )
        self._tried = Recent(self.memory, self.cube.dimension + 1)
        self._goals = Recent(self.memory, self.cube.dimension + 1)

    def predict(self, points: np.ndarray) -> np.ndarray:
        """float64[m]: the mean success rate of the nearest tasks tried to each of ``points`` [m, d]."""
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

    def _save(self) -> dict[str, Any]:
        return {"tried": self._tried.save(), "goals": self._goals.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        tried, goals = (Recent(self.memory, self.cube.dimension + 1) for _ in range(2))
        tried.restore(own["tried"])
        goals.restore(own["goals"])
        self._tried, self._goals = tried, goals
