"""The hand-made baseline of ALP-GMM's authors: a small window that moves towards harder tasks as the student succeeds
(Portelas et al., arXiv 1910.07224, section 4, "Oracle")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_count, check_share
from ...errors import InputError
from ..protocol import Common, Evidence, restore_array
from ..registration import register
from .box_teacher import BoxTeacher
from .ladder import SMALLEST, directions, per_axis


@register("oracle-window")
class OracleWindow(BoxTeacher):
    """Uniform in a window that starts at the easiest corner and moves on after every good batch of tasks.

    Args:
        space: ParamSpace, Box or Discrete.
        width: sides of the window as shares of the axes, one or one per axis (1/6 in the authors' code).
        step: distance of a move, as shares of the axes; 0 keeps an axis fixed, and a negative number moves towards the
            easier end of the axis. The authors chose 1/30 for their obstacles.
        tasks: outcomes in a batch (50 in the authors' code).
        threshold: mean return, mapped to [0, 1], above which the window moves: 0.76 is their 230 between -150 and 350.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "1910.07224"

    def __init__(
        self,
        space: Any,
        *,
        width: float | Sequence[float] = 1 / 6,
        step: float | Sequence[float] = 1 / 30,
        tasks: int = 50,
        threshold: float = 0.76,
        **common: Unpack[Common],
    ):
        check_count("tasks", tasks, low=1)
        self.tasks, self.threshold = int(tasks), check_share("threshold", threshold)
        widths, steps = (np.atleast_1d(np.asarray(v, dtype=np.float64)).tolist() for v in (width, step))
        settings = {"width": widths, "step": steps, "tasks": self.tasks, "threshold": self.threshold}
        super().__init__(space, settings=settings, **common)
        d = self.cube.dimension
        self.width = per_axis("width", width, d)
        if not ((self.width > 0) & (self.width <= 1)).all():
            raise InputError(f"width={width!r} must lie in (0, 1].")
        self.step = per_axis("step", step, d) * directions(self.cube)
        self.low = np.where(self.step >= 0, 0.0, 1.0 - self.width)
        self._total, self._seen = 0.0, 0

    def _points(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        points = self.low + self._rng.random((k, self.cube.dimension)) * self.width
        volume = float(self.width.prod())
        density = 1 / volume if volume > SMALLEST else math.nan
        return points.clip(0.0, 1.0), density, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            self._total += float(item.returns.mean())
            self._seen += 1
            if self._seen == self.tasks:
                if self._total / self.tasks > self.threshold + 1e-9:  # equal means differ by rounding
                    self.low = np.clip(self.low + self.step, 0.0, 1.0 - self.width)
                self._total, self._seen = 0.0, 0

    def _metrics(self) -> dict[str, float]:
        return {f"low/{name}": float(low) for name, low in zip(self.cube.names, self.low)}

    def _save(self) -> dict[str, Any]:
        return {"low": self.low.tolist(), "total": self._total, "seen": self._seen}

    def _restore(self, own: Mapping[str, Any]) -> None:
        low, total, seen = restore_array(own["low"], self.low), float(own["total"]), int(own["seen"])
        self.low, self._total, self._seen = low, total, seen
