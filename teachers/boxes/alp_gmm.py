"""ALP-GMM: sample where the student's return changes (Portelas, Colas, Hofmann, Oudeyer, CoRL 2019, arXiv 1910.07224).

Absolute learning progress of a task is how far its return differs from that of the nearest task tried before
(section 4). Every `fit_rate` tasks, Gaussian mixtures are fitted to the last `fit_rate` rows (task, progress); the one
with the lowest AIC is kept, and tasks are drawn from its components in proportion to their mean progress (algorithm 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...errors import InputError
from ..protocol import Common, Evidence, share, whole_number
from ..registry import register
from .base import BoxTeacher
from .gaussian_mixture import GaussianMixture, fit

FEWEST_NEIGHBOURS = 5  # progress is 0 until more tasks than this are stored, as in the authors' code


class TaskMemory:
    """Tasks with their returns, asked for the return at the nearest one.

    A matrix product over all rows beats a tree up to about 10^5 tasks in few dimensions, needs no rebuilding, and finds
    exactly the nearest. Rows are kept as (x, |x|^2), so that one product gives all squared distances up to a constant.

    Args:
        dimension: of a task.
        limit: rows kept, the oldest making way; None keeps all.
    """

    def __init__(self, dimension: int, limit: int | None = None):
        self.limit = limit
        self.count = 0  # tasks ever added
        self._rows = np.empty((dimension + 1, 256 if limit is None else limit))
        self._returns = np.empty(self._rows.shape[1])

    def __len__(self) -> int:
        return self.count if self.limit is None else min(self.count, self.limit)

    def nearest(self, x: np.ndarray) -> float:
        """The return at the stored task nearest to ``x`` (Euclidean, in the unit cube); at least one must be stored."""
        n = len(self)
        distance = np.append(-2.0 * x, 1.0) @ self._rows[:, :n]
        return float(self._returns[distance.argmin()])

    def add(self, x: np.ndarray, ret: float) -> None:
        if self.limit is None and self.count == self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
            self._returns = np.concatenate([self._returns, np.empty_like(self._returns)])
        at = self.count if self.limit is None else self.count % self.limit
        self._rows[:-1, at] = x
        self._rows[-1, at] = x @ x
        self._returns[at] = ret
        self.count += 1

    def save(self) -> dict[str, Any]:
        n = len(self)
        return {"count": self.count, "tasks": self._rows[:-1, :n].T.tolist(), "returns": self._returns[:n].tolist()}

    @classmethod
    def restore(cls, saved: Mapping[str, Any], dimension: int, limit: int | None) -> TaskMemory:
        memory = cls(dimension, limit)
        for task, ret in zip(saved["tasks"], saved["returns"], strict=True):
            memory.add(np.array(task, dtype=np.float64), float(ret))
        memory.count = int(saved["count"])
        return memory


@register("alp-gmm")
class ALPGMM(BoxTeacher):
    """Absolute learning progress, Gaussian mixture model.

    One outcome is one row, whatever the size of its group: the return is the group's mean. Tasks on integer or
    categorical axes are remembered as the continuous points that were drawn for them.

    Args:
        space: ParamSpace, Box or Discrete.
        fit_rate: tasks between fits, and rows in each fit.
        random_share: probability of a uniform task instead of one from the mixture.
        components: numbers of components tried.
        history: tasks among which the nearest is sought. None is the authors' default, all of them; a window such as
            250 forgets returns of long ago, which otherwise look like progress for ever, and costs constant memory.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "1910.07224"

    def __init__(
        self,
        space: Any,
        *,
        fit_rate: int = 250,
        random_share: float = 0.2,
        components: Sequence[int] = tuple(range(2, 11)),
        history: int | None = None,
        **common: Unpack[Common],
    ):
        whole_number("fit_rate", fit_rate, low=2)
        if history is not None:
            whole_number("history", history, low=FEWEST_NEIGHBOURS + 1)
        for k in components:
            whole_number("components", k, low=1)
        if not len(components) or max(components) > fit_rate:
            raise InputError(
                f"components={list(components)} must be one or more numbers of at most fit_rate={fit_rate}."
            )
        self.fit_rate = int(fit_rate)
        self.random_share = share("random_share", random_share)
        self.components = tuple(int(k) for k in components)
        super().__init__(
            space,
            settings={
                "fit_rate": self.fit_rate,
                "random_share": self.random_share,
                "components": list(self.components),
                "history": history,
            },
            **common,
        )
        self._memory = TaskMemory(self.cube.dimension, None if history is None else int(history))
        self._rows = np.zeros((self.fit_rate, self.cube.dimension + 1))  # a ring: row i is task i modulo fit_rate
        self._mixture: GaussianMixture | None = None
        self._sampler: GaussianMixture | None = None

    @property
    def mixture(self) -> GaussianMixture | None:
        """The mixture over (task, progress) now in use; None before the first fit."""
        return self._mixture

    @property
    def sampler(self) -> GaussianMixture | None:
        """The mixture over tasks (in the unit cube) from which the tasks that are not uniform come, before clipping."""
        return self._sampler

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        d = self.cube.dimension
        if self._sampler is None:
            return self._rng.random((k, d)), 1.0, "warmup"
        uniform = self._rng.random(k) < self.random_share
        points = self._rng.random((k, d))
        drawn = self._sampler.sample(k - int(uniform.sum()), self._rng)
        points[~uniform] = drawn.clip(0.0, 1.0)
        clipped = np.zeros(k, dtype=bool)
        clipped[~uniform] = (points[~uniform] != drawn).any(1)
        density = self.random_share + (1 - self.random_share) * np.exp(self._sampler.log_density(points))
        density[clipped] = np.nan  # the border carries a point mass, which no density describes
        return points, density, ["explore" if free else "exploit" for free in uniform]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            x, ret = np.array(item.record, dtype=np.float64), float(item.returns.mean())
            memory = self._memory
            progress = abs(ret - memory.nearest(x)) if len(memory) > FEWEST_NEIGHBOURS else 0.0
            row = self._rows[memory.count % self.fit_rate]
            row[:-1], row[-1] = x, progress
            memory.add(x, ret)
            if memory.count % self.fit_rate == 0:
                fitted = fit(self._rows, self.components, self._rng)
                self._use(min(fitted, key=lambda mixture: mixture.aic(self._rows)))

    def _use(self, mixture: GaussianMixture) -> None:
        # A component's mean progress cannot be negative but for rounding.
        progress = mixture.means[:, -1].clip(0.0)
        total = progress.sum()
        weights = progress / total if total > 0 else np.full(len(progress), 1 / len(progress))
        # Dropping the progress coordinate of a draw is drawing from the marginal over tasks.
        self._mixture = mixture
        self._sampler = GaussianMixture(weights, mixture.means[:, :-1], mixture.covariances[:, :-1, :-1])

    def _metrics(self) -> dict[str, float]:
        seen = min(self._memory.count, self.fit_rate)
        metrics = {"progress": float(self._rows[:seen, -1].mean()) if seen else 0.0}
        if self._sampler is not None:
            weights = self._sampler.weights
            positive = weights[weights > 0]
            metrics["components"] = float(len(weights))
            metrics["effective_components"] = float(np.exp(-(positive * np.log(positive)).sum()))
        return metrics

    def _save(self) -> dict[str, Any]:
        mixture = self._mixture
        return {
            "memory": self._memory.save(),
            "rows": self._rows.tolist(),
            "mixture": mixture and [a.tolist() for a in (mixture.weights, mixture.means, mixture.covariances)],
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        memory = TaskMemory.restore(own["memory"], self.cube.dimension, self._memory.limit)
        rows = np.array(own["rows"], dtype=np.float64)
        if rows.shape != self._rows.shape:
            raise ValueError(f"rows of shape {rows.shape}")
        self._memory, self._rows = memory, rows
        self._mixture = self._sampler = None
        if own["mixture"] is not None:
            self._use(GaussianMixture(*(np.array(part, dtype=np.float64) for part in own["mixture"])))
