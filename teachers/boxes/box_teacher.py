"""Base of teachers that choose points of the unit cube."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..protocol import Draw, Teacher
from ..spaces import as_cube


@keyword_declared
class BoxTeacher(Teacher):
    """Base of teachers that choose points of a cube; a subclass writes `_points` and `_learn`.

    ``Evidence.record`` is the point drawn, a list of floats in [0, 1]. On integer or categorical axes the record is the
    continuous point drawn for the task, not the coordinate to which the task is encoded.

    Attributes:
        cube: the task space as [0, 1]^dimension.
    """

    kind = "box"
    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box or Discrete.")

    def setup(self) -> None:
        self.cube = self.domain = as_cube(self.space)
        self.begin(self.cube.signature)

    @abstractmethod
    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        """Return k >= 1 points, float64[k, dimension] in [0, 1], their densities over the cube and their origins.

        An unknown density is NaN. A single density or origin applies to all points.
        """

    def _draw(self, k: int) -> list[Draw]:
        points, density, origins = self._points(k)
        densities = density.tolist() if isinstance(density, np.ndarray) else [float(density)] * k
        origins = [origins] * k if isinstance(origins, str) else origins
        tasks = self.cube.decode_all(points)
        return [Draw(*parts) for parts in zip(points.tolist(), tasks, densities, origins, strict=True)]

    def _record(self, task: Any) -> list[float]:
        return self.cube.encode(task).tolist()
