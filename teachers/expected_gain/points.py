"""Points: single tasks of a cube that are practised repeatedly, and varied.

Repeated practice of one task shows whether practice changes its return, which no comparison with neighbouring tasks
does. A point is one place whatever the number of axes, so that idle axes cost nothing. A point is repeated as long as
it improves; variations of it are tried in search of the next point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..sampling import pick
from ..saved_state import restore_array
from .gains import add_return, fit_gains

MOST = 32  # most points kept; a new point replaces the one with the least value
SCALES = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])  # scales of `fit_gains`, in outcomes of a point
SMALLEST, LARGEST = 0.02, 0.5  # length of a variation along an axis, on a logarithmic scale
LENGTHS = 6  # number of classes of lengths; a class is drawn by the squared share of its discoveries
FADE = 0.995  # decay of a class's statistics at each variation
FAINT = 0.01  # lower bound of a point's level in the draw of origins of variations
MOVED = 0.5  # probability that a variation moves the most relevant axis; lower for others, at least one moves
ALIKE = 0.05  # a variation with a return this near to its origin's level counts as the same task
SOLVED = 0.9  # return from which a task is no discovery
MEMORY = 0.5  # least weight of the newest return in a point's level
RECENT = 0.2  # least weight of the newest outcome in a point's share of mixed groups
FEWEST = 3  # least number of visits of a point to measure its noise or prove its gain
KEPT = 0.9999  # decay of the largest gain at each valuation (`Points.fit`)
NEWEST = 0.02  # weight of the newest valuation in the reliability
IDLE = 0.1  # least relevance of an axis for `MOVED`, relative to the most relevant axis
CERTAIN = 3.0  # standard errors by which a gain is proven
LIKELY = 2.0  # standard errors subtracted from a gain before it is compared with the largest


class Points:
    """Buffer of at most `MOST` points of the unit cube with their statistics.

    The value of a point with level l (recent mean return), gain g per visit (`fit_gains`), n visits and a share m of
    recent groups with mixed returns is

        v = (max(g, 0)^2 + 4 l (1 - l) G^2 / n) (1 - l) m^2,

    with G the largest likely recent gain. The value is high for improving points and for intermediate points with few
    visits, low for solved points, and 0 for points whose groups have equal returns. A single return counts as mixed.
    Points are repeated in proportion to v, and varied in proportion to l times the squared share of their
    variations that were discoveries (neither failed, nor solved, nor like the origin). Lengths of variations are drawn
    by the same rule.

    Attributes:
        gain_proven: True once the gain of some point has been proven (significantly above 0).
        reliability: intraclass correlation in [0, 1]: the share of the possible variance of returns that is not chance
            when a task is repeated; 1 without noise, 0 if every return is 0 or 1 by chance.
    """

    def __init__(self, dimension: int):
        self.tasks = np.zeros((MOST, dimension))
        self._sums = np.zeros((len(SCALES), 6, MOST))
        self._keep = np.exp(-1 / SCALES)
        self._ids = np.full(MOST, -1)
        self._visits, self._tries, self._hits = np.zeros(MOST), np.zeros(MOST), np.zeros(MOST)
        self.level, self.value, self._mixed = np.zeros(MOST), np.zeros(MOST), np.ones(MOST)
        self.size = self._born = 0
        self._lengths = np.zeros((2, LENGTHS))  # discoveries and variations by class of length
        self._record = 0.0
        self.gain_proven = False
        self._chance = np.array([0.5, 1.0])  # variance by chance, and possible variance; exponential averages

    @property
    def reliability(self) -> float:
        return float(min(max(1 - self._chance[0] / self._chance[1], 0.0), 1.0))

    def draw(
        self, k: int, share: float, matters: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw k tasks, a ``share`` of them variations; there must be a point.

        Args:
            matters: float64[d] in [0, 1], the dependence of the return on each axis.

        Returns:
            float64[k, d] tasks, int[k] ids of the points that the tasks repeat or vary, bool[k] True for variations.
        """
        m, d = self.size, self.tasks.shape[1]
        varied = rng.random(k) < share
        origins = (self._hits[:m] / self._tries[:m]) ** 2 * np.maximum(self.level[:m], FAINT)
        at = np.where(varied, pick(origins, k, rng), pick(self.value[:m] + 1e-9, k, rng))
        moved = rng.random((k, d)) < MOVED * np.maximum(matters / matters.max(initial=1e-9), IDLE)
        moved[np.arange(k), rng.integers(d, size=k)] |= ~moved.any(1)
        classes = pick(((self._lengths[0] + 1) / (self._lengths[1] + 2)) ** 2, k, rng)
        length = SMALLEST * (LARGEST / SMALLEST) ** ((classes + rng.random(k)) / LENGTHS)[:, None]
        step = np.where(rng.random((k, d)) < 0.5, -length, length) * (moved & varied[:, None])
        points = np.abs(self.tasks[at] + step)
        return np.minimum(points, 2 - points), self._ids[at], varied

    def add(self, point: Sequence[float], ret: float, origin: int, varied: bool, mixed: bool = True) -> None:
        """Add the outcome of a task.

        Args:
            origin: id of the point that the task repeats or varies; -1 for other tasks.
            varied: True for a variation.
            mixed: True if the returns of the task's group differ, or if it has a single return.
        """
        at = int(np.argmax(self._ids == origin)) if origin >= 0 else -1
        if at >= 0 and self._ids[at] != origin:
            at = -1  # it has been replaced in the meantime
        if at >= 0 and not varied:
            return self._visit(at, ret, mixed)
        if at >= 0:
            self._tries[at] += 1
            found = 0 < ret < SOLVED
            length = max(float(np.abs(point - self.tasks[at]).max()), SMALLEST)
            place = min(int(LENGTHS * math.log(length / SMALLEST) / math.log(LARGEST / SMALLEST)), LENGTHS - 1)
            self._lengths *= FADE
            self._lengths[:, place] += found, 1
            if abs(ret - self.level[at]) < ALIKE:
                return None
            self._hits[at] += found
        if ret <= 0 or (origin >= 0 and not varied):
            return None
        same = np.flatnonzero((self.tasks[: self.size] == point).all(1))
        if len(same):
            return self._visit(int(same[0]), ret, mixed)
        at = self.size if self.size < MOST else int((self.value + 1e-6 * self._hits / self._tries).argmin())
        self.size = max(self.size, at + 1)
        self.tasks[at], self._ids[at], self._born = point, self._born, self._born + 1
        self._sums[:, :, at], self._visits[at], self._tries[at], self._hits[at] = 0.0, 0, 1, 1
        self._visit(at, ret, mixed)
        self.value[at] = 4 * ret * (1 - ret) ** 2 * self._record**2
        return None

    def _visit(self, at: int, ret: float, mixed: bool) -> None:
        add_return(self._sums, at, ret, self._keep)
        self._visits[at] += 1
        self._mixed[at] += (mixed - self._mixed[at]) * max(1 / self._visits[at], RECENT)
        self.level[at] += (ret - self.level[at]) * (max(1 / self._visits[at], MEMORY))

    def fit(self) -> None:
        m = self.size
        if not m:
            return
        sums, level, visits = self._sums[:, :, :m], self.level[:m], self._visits[:m]
        known = fit_gains(sums)
        gain = np.maximum(known.gain, 0.0)
        error = np.sqrt(known.variance)
        self.gain_proven |= bool(((known.gain > CERTAIN * error) & (visits >= FEWEST)).any())
        self._record = max(KEPT * self._record, float((gain - LIKELY * error).max()))
        untried = 4 * level * (1 - level) * self._record**2 / visits
        self.value[:m] = (gain**2 + untried) * (1 - level) * self._mixed[:m] ** 2
        w, a, r, aa, ar, rr = sums[1]
        spread = np.maximum(aa - a * a / w, 1e-9)
        residual = np.maximum(rr - r * r / w - (a * r / w - ar) ** 2 / spread, 0.0) / np.maximum(w - 2, 0.5)
        weight = self.value[:m] * (visits >= FEWEST)
        if (total := weight.sum()) > 0:
            possible = r / w * (1 - r / w)
            self._chance += NEWEST * (np.array([weight @ np.minimum(residual, possible), weight @ possible]) / total)
            self._chance *= 1 - NEWEST

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of statistics of the points, by their names in the saved state."""
        arrays = {"tasks": self.tasks, "ids": self._ids, "visits": self._visits, "tries": self._tries}
        return arrays | {"hits": self._hits, "level": self.level, "value": self.value, "mixed": self._mixed}

    def save(self) -> dict[str, Any]:
        m = self.size
        return {
            **{name: array[:m].tolist() for name, array in self._arrays().items()},
            "sums": self._sums[:, :, :m].tolist(),
            "chance": self._chance.tolist(),
            "lengths": self._lengths.tolist(),
            "record": self._record,
            "born": self._born,
            "moves": self.gain_proven,
        }

    @classmethod
    def restore(cls, saved: Mapping[str, Any], dimension: int) -> Points:
        points = cls(dimension)
        m = points.size = len(saved["ids"])
        if m:
            for name, array in points._arrays().items():
                array[:m] = restore_array(saved[name], array[:m])
            points._sums[:, :, :m] = restore_array(saved["sums"], points._sums[:, :, :m])
        points._chance = restore_array(saved["chance"], points._chance)
        points._lengths = restore_array(saved["lengths"], points._lengths)
        points._record, points._born, points.gain_proven = (
            float(saved["record"]),
            int(saved["born"]),
            bool(saved["moves"]),
        )
        return points
