"""Hand-made baseline of ALP-GMM's authors: a small window that moves towards harder tasks as the student succeeds
(Portelas et al., arXiv 1910.07224, section 4, "Oracle")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from .box_teacher import BoxTeacher
from .ladder import SMALLEST, directions, per_axis, take_per_axis


@register("oracle-window")
class OracleWindow(BoxTeacher):
    """Draws uniformly in a window, which starts at the easiest corner; each good batch of tasks moves the window."""

    paper = "1910.07224"
    when = "You know which way is harder on every axis: the curriculum by hand that learning teachers should beat."
    kept = ("low", "_total", "_seen")
    width: float | Sequence[float] = option(
        default=1 / 6,
        check=take_per_axis,
        says="sides of the window as shares of the axes, one or one per axis (1/6 in the authors' code).",
    )
    step: float | Sequence[float] = option(
        default=1 / 30,
        check=take_per_axis,
        says="distance of a move, as shares of the axes; 0 keeps an axis fixed, and a negative number moves "
        "towards the easier end of the axis. The authors chose 1/30 for their obstacles.",
    )
    tasks: int = option(default=50, low=1, says="outcomes in a batch (50 in the authors' code).")
    threshold: float = option(
        default=0.76,
        low=0,
        high=1,
        says="mean return, mapped to [0, 1], above which the window moves: 0.76 is the authors' 230 between -150 "
        "and 350.",
    )

    def setup(self) -> None:
        super().setup()
        d = self.cube.dimension
        self._width = per_axis("width", self.width, d)
        if not ((self._width > 0) & (self._width <= 1)).all():
            raise InputError(f"width={self.width!r} must lie in (0, 1].")
        self._step = per_axis("step", self.step, d) * directions(self.cube)
        self.low = np.where(self._step >= 0, 0.0, 1.0 - self._width)
        self._total, self._seen = 0.0, 0

    def _points(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        points = self.low + self._rng.random((k, self.cube.dimension)) * self._width
        volume = float(self._width.prod())
        density = 1 / volume if volume > SMALLEST else math.nan
        return points.clip(0.0, 1.0), density, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            self._total += float(item.returns.mean())
            self._seen += 1
            if self._seen == self.tasks:
                if self._total / self.tasks > self.threshold + 1e-9:  # equal means differ by rounding
                    self.low = np.clip(self.low + self._step, 0.0, 1.0 - self._width)
                self._total, self._seen = 0.0, 0

    def _metrics(self) -> dict[str, float]:
        return {f"low/{name}": float(low) for name, low in zip(self.cube.names, self.low)}
