"""ALP-GMM: sample where the student's return changes (Portelas, Colas, Hofmann, Oudeyer, CoRL 2019, arXiv 1910.07224).

The absolute learning progress of a task is the absolute difference between its return and the return of the nearest
earlier task (section 4). Every `fit_rate` tasks, Gaussian mixtures are fitted to the last `fit_rate` rows (task,
progress). The mixture with the lowest AIC is kept, and tasks are drawn from its components in proportion to their mean
progress (algorithm 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..registration import Preset, register
from .gaussian_mixture import GaussianMixture
from .mixture_teacher import MixtureTeacher, check_tasks

FEWEST_NEIGHBOURS = 5  # until more tasks than this are stored, progress is 0, as in the authors' code
BLOCK = 2**18  # distances in memory at once, 2 MB


class TaskMemory:
    """Stores tasks with their returns and finds the return at the nearest stored task.

    The search is exact: a matrix product over all rows, which is faster than a tree up to about 10^5 tasks in few
    dimensions. Rows are stored as (x, |x|^2), so that one product gives all squared distances up to a constant.

    Args:
        dimension: number of coordinates of a task.
        limit: number of latest tasks to keep; None keeps all.
    """

    def __init__(self, dimension: int, limit: int | None = None):
        self.limit = limit
        self.count = 0  # tasks ever added
        self._rows = np.zeros((dimension + 1, 256 if limit is None else limit))
        self._returns = np.zeros(self._rows.shape[1])

    def __len__(self) -> int:
        return min(self.count, self._rows.shape[1])

    def add(self, points: np.ndarray, returns: np.ndarray) -> np.ndarray:
        """Store tasks [m, d] and their returns [m], one after the other.

        Returns:
            float64[m]: for each task the return of the nearest task stored before it (Euclidean distance in the unit
            cube); NaN for the first task.
        """
        self._make_room(len(points))
        most = max(1, min(BLOCK // (len(self) + len(points)), self._rows.shape[1]))
        parts = [self._add(points[i : i + most], returns[i : i + most]) for i in range(0, len(points), most)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _add(self, points: np.ndarray, returns: np.ndarray) -> np.ndarray:
        size, filled, step = self._rows.shape[1], len(self), np.arange(len(points))
        slots = (self.count + step) % size
        new = _with_squares(points)
        query = np.concatenate([-2.0 * points.T, np.ones((1, len(points)))]).T
        distance = np.empty((len(points), min(self.count + len(points), size)))
        np.matmul(query, self._rows[:, :filled], out=distance[:, :filled])
        distance[:, filled:] = np.inf
        if len(points) == 1:
            found = self._returns[distance.argmin(1)]
        else:
            apart = query @ new
            for i, slot in enumerate(slots[:-1].tolist(), 1):
                distance[i:, slot] = apart[i:, i - 1]
            nearest = distance.argmin(1)
            place = (nearest - self.count) % size  # in this batch, if it comes before the task itself
            found = np.where(place < step, returns[np.minimum(place, len(points) - 1)], self._returns[nearest])
        if not self.count:
            found[0] = np.nan
        self._rows[:, slots], self._returns[slots] = new, returns
        self.count += len(points)
        return found

    def _make_room(self, more: int) -> None:
        while self.limit is None and self.count + more > self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)], axis=1)
            self._returns = np.concatenate([self._returns, np.zeros_like(self._returns)])

    def save(self) -> dict[str, Any]:
        n = len(self)
        return {"count": self.count, "tasks": self._rows[:-1, :n].T.tolist(), "returns": self._returns[:n].tolist()}

    @classmethod
    def restore(cls, saved: Mapping[str, Any], dimension: int, limit: int | None) -> TaskMemory:
        memory = cls(dimension, limit)
        returns = np.array(saved["returns"], dtype=np.float64)
        points = np.array(saved["tasks"], dtype=np.float64).reshape(len(returns), dimension)
        memory._make_room(len(points))
        memory._rows[:, : len(points)] = _with_squares(points)
        memory._returns[: len(points)] = returns
        memory.count = int(saved["count"])
        return memory


def _with_squares(points: np.ndarray) -> np.ndarray:
    """Return float64[d + 1, m], the tasks [m, d] as columns (x, |x|^2)."""
    return np.concatenate([points.T, np.square(points).sum(1)[None]])


@register("alp-gmm")
class ALPGMM(MixtureTeacher):
    """Teacher by absolute learning progress and Gaussian mixture models (ALP-GMM).

    The defaults of `fit_rate`, `random_share`, `components` and `criterion` are those of the authors' code.
    """

    paper = "1910.07224"
    when = (
        "A large continuous space of which much is too easy or impossible, with only returns as feedback. It needs a "
        "few hundred outcomes before it acts."
    )
    columns = 1
    history: float | None = option(
        default=None,
        check=lambda name, value: check_tasks(name, value, FEWEST_NEIGHBOURS + 1),
        says="number of latest tasks among which the nearest is sought. None is the authors' default, all tasks: "
        "then the comparison with a return from before the student improved keeps looking like progress. A "
        "window of, say, 250 drops old returns and uses constant memory. Below 1 it is a share of the run.",
    )

    def _expect(self, outcomes: int) -> None:
        super()._expect(outcomes)
        limit = None if self.history is None else self._tasks(self.history, 4 * max(self.components))
        self._memory = TaskMemory(self.cube.dimension, limit)

    @property
    def _follows_run(self) -> bool:
        return super()._follows_run or (self.history is not None and self.history < 1)

    def _measure(self, points: np.ndarray, returns: np.ndarray) -> np.ndarray:
        before = self._memory.count + np.arange(len(points))
        nearest = self._memory.add(points, returns)
        return np.where(before > FEWEST_NEIGHBOURS, np.abs(returns - nearest), 0.0)[:, None]

    def _utility(self, mixture: GaussianMixture) -> np.ndarray:
        return mixture.means[:, -1].clip(0.0)  # a mean progress is negative by rounding only

    def _metrics(self) -> dict[str, float]:
        seen = min(self._count, self.period)
        return {"progress": float(self._rows[:seen, -1].mean()) if seen else 0.0, **super()._metrics()}

    def _save(self) -> dict[str, Any]:
        return {"memory": self._memory.save(), **super()._save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        memory = TaskMemory.restore(own["memory"], self.cube.dimension, self._memory.limit)
        self._memory = memory


Preset(
    "alp-gmm-windowed",
    ALPGMM,
    "ALP-GMM that looks for progress among the last 250 tasks only.",
    "1910.07224",
    when="As `alp-gmm`, in long runs: old returns no longer look like progress, and memory and time stay constant.",
    history=250,
)
Preset(
    "alp-gmm-tma",
    ALPGMM,
    "ALP-GMM with the defaults of the TeachMyAgent benchmark.",
    "2103.09815",
    when="Runs that are to be compared with figures of the TeachMyAgent benchmark.",
    fit_rate=150,
    random_share=0.05,
    components=tuple(range(2, 10)),
)
