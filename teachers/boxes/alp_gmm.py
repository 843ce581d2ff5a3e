"""ALP-GMM: sample where the student's return changes (Portelas, Colas, Hofmann, Oudeyer, CoRL 2019, arXiv 1910.07224).

Absolute learning progress of a task is how far its return differs from that of the nearest task tried before
(section 4). Every `fit_rate` tasks, Gaussian mixtures are fitted to the last `fit_rate` rows (task, progress); the one
with the lowest AIC is kept, and tasks are drawn from its components in proportion to their mean progress (algorithm 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ..protocol import Common, whole_number
from ..registry import Preset, register
from .gaussian_mixture import GaussianMixture
from .mixture_teacher import MixtureTeacher

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
class ALPGMM(MixtureTeacher):
    """Absolute learning progress, Gaussian mixture model.

    Args:
        space: ParamSpace, Box or Discrete.
        fit_rate, random_share, components, criterion: see `MixtureTeacher`; the authors' code has 250, 0.2, 2 to 10
            components and AIC.
        history: tasks among which the nearest is sought. None is the authors' default, all of them; a window such as
            250 forgets returns of long ago, which otherwise look like progress for ever, and costs constant memory.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "1910.07224"
    columns = 1

    def __init__(
        self,
        space: Any,
        *,
        fit_rate: int = 250,
        random_share: float = 0.2,
        components: Sequence[int] = tuple(range(2, 11)),
        criterion: Literal["aic", "bic", "aicc"] = "aic",
        history: int | None = None,
        **common: Unpack[Common],
    ):
        if history is not None:
            whole_number("history", history, low=FEWEST_NEIGHBOURS + 1)
            history = int(history)
        super().__init__(
            space,
            fit_rate=fit_rate,
            random_share=random_share,
            components=components,
            criterion=criterion,
            settings={"history": history},
            **common,
        )
        self._memory = TaskMemory(self.cube.dimension, history)

    def _measure(self, x: np.ndarray, ret: float) -> Sequence[float]:
        memory = self._memory
        progress = abs(ret - memory.nearest(x)) if len(memory) > FEWEST_NEIGHBOURS else 0.0
        memory.add(x, ret)
        return [progress]

    def _utility(self, mixture: GaussianMixture) -> np.ndarray:
        return mixture.means[:, -1].clip(0.0)  # a mean progress is negative by rounding only

    def _metrics(self) -> dict[str, float]:
        seen = min(self._count, self.fit_rate)
        return {"progress": float(self._rows[:seen, -1].mean()) if seen else 0.0, **super()._metrics()}

    def _save(self) -> dict[str, Any]:
        return {"memory": self._memory.save(), **super()._save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        memory = TaskMemory.restore(own["memory"], self.cube.dimension, self._memory.limit)
        super()._restore(own)
        self._memory = memory


Preset(
    "alp-gmm-windowed",
    ALPGMM,
    "ALP-GMM that looks for progress among the last 250 tasks only.",
    "1910.07224",
    history=250,
)
Preset(
    "alp-gmm-tma",
    ALPGMM,
    "ALP-GMM with the defaults of the TeachMyAgent benchmark.",
    "2103.09815",
    fit_rate=150,
    random_share=0.05,
    components=tuple(range(2, 10)),
)
