"""Levels of difficulty of a task space, and the base of teachers that climb them.

A level is a slice of one named axis, or, without a name, of the whole cube along its diagonal from the easiest corner
to the hardest. Axes of a `ParamSpace` declare which end is hard; on other spaces larger is harder.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_count, check_numbers, keyword_declared, option
from ...errors import InputError, unknown_name
from ..protocol import Draw, Teacher
from ..spaces import Cube, as_cube

DEFAULT_LEVELS = 10  # number of levels of continuous axes
MOST_LEVELS = 100  # default number of levels for an axis with more values
SMALLEST = 1e-290  # volume below which 1 / volume could overflow, in hundreds of dimensions


def directions(cube: Cube) -> np.ndarray:
    """Return float64[d]: 1 for an axis that gets harder upwards, -1 for one that gets harder downwards."""
    axes = {axis.name: getattr(axis, "harder", "up") for axis in getattr(getattr(cube, "space", None), "axes", ())}
    return np.array([-1.0 if axes.get(name) == "down" else 1.0 for name in cube.names])


def from_hardness(cube: Cube, hardness: np.ndarray) -> np.ndarray:
    """Return the points at ``hardness`` [..., d] along each axis (0 easiest, 1 hardest), or the hardness of points."""
    return np.where(directions(cube) > 0, hardness, 1.0 - hardness)


def per_axis(name: str, value: Any, dimension: int) -> np.ndarray:
    """Return float64[d] from one number for all axes or one for each. Raises InputError for other lengths."""
    numbers = take_per_axis(name, value)
    if len(numbers) not in (1, dimension):
        raise InputError(f"{name}={value!r} must be one number or one for each of the {dimension} axes.")
    return np.broadcast_to(np.array(numbers), dimension).copy()


def take_per_axis(name: str, value: Any) -> list[float]:
    """Return the numbers of an option that is one number for all axes, or one for each (see `per_axis`)."""
    return list(check_numbers(name, np.ravel(value)))


class Ladder:
    """Slices of a cube in order of difficulty.

    Args:
        cube: the cube.
        axis: name of the axis to slice, one of ``cube.names``; None slices all axes at once.
        levels: number of slices; None takes the number of values of the axis (of several axes, the largest), at most
            100, or 10 if all are continuous.

    Attributes:
        n: number of levels.
    """

    def __init__(self, cube: Cube, axis: str | None = None, levels: int | None = None):
        if axis is not None and axis not in cube.names:
            raise unknown_name("axis", axis, cube.names)
        self.cube, self.axis = cube, axis
        self._axes = np.arange(cube.dimension) if axis is None else np.array([cube.names.index(axis)])
        sizes = [size for i in self._axes if (size := cube.sizes[i]) is not None]
        if levels is not None:
            check_count("levels", levels, low=1)
        self.n = int(levels) if levels is not None else min(max(sizes, default=DEFAULT_LEVELS), MOST_LEVELS)

    def points(self, levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return float64[k, d], a uniform point in the slice of each of ``levels`` [k]; other axes are uniform, too."""
        hardness = rng.random((len(levels), self.cube.dimension))
        hardness[:, self._axes] = (levels[:, None] + hardness[:, self._axes]) / self.n
        return from_hardness(self.cube, hardness)

    def level(self, point: np.ndarray) -> int:
        """Return the level of a point of the cube, by its mean hardness along the sliced axes."""
        hardness = float(from_hardness(self.cube, point)[self._axes].mean())
        return min(int(hardness * self.n + 1e-9), self.n - 1)

    @property
    def density(self) -> float:
        """Density over the cube of a uniform point of one level; NaN if it is too large for a float."""
        return float(self.n ** len(self._axes)) if len(self._axes) * math.log(self.n) < 700 else math.nan


@keyword_declared
class LadderTeacher(Teacher):
    """Base of teachers that choose levels of difficulty; a subclass writes `_levels` and `_learn`.

    ``Evidence.record`` is [level of the task, value of `self.level` at the time of the draw].

    Attributes:
        level: the present level, 0 being the easiest.
    """

    kind = "box"
    kept = ("level",)
    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box or Discrete.")
    axis: str | None = option(default=None, says="the axis that is cut into levels; None cuts all axes at once.")
    levels: int | None = option(
        default=None, low=1, says="number of levels; None takes the number of values of the axis (see `Ladder`)."
    )
    start: int = option(default=0, says="the first level.")

    def setup(self) -> None:
        self.cube = self.domain = as_cube(self.space)
        self.ladder = Ladder(self.cube, self.axis, self.levels)
        self.levels = self.ladder.n
        if self.start >= self.ladder.n:
            raise InputError(f"start={self.start} must be one of the {self.ladder.n} levels, 0 to {self.ladder.n - 1}.")
        self.begin(self.cube.signature)
        self.level = self.start

    @abstractmethod
    def _levels(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        """Return int[k] levels, the probability of each, and the origin of each."""

    def _draw(self, k: int) -> list[Draw]:
        levels, mass, origins = self._levels(k)
        points = self.ladder.points(levels, self._rng)
        densities = (np.full(k, mass) * self.ladder.density).tolist()
        origins = [origins] * k if isinstance(origins, str) else origins
        decode, now = self.cube.decode, self.level
        return [
            Draw([level, now], decode(u), p, origin)
            for level, u, p, origin in zip(levels.tolist(), points, densities, origins, strict=True)
        ]

    def _record(self, task: Any) -> list[int]:
        return [self.ladder.level(self.cube.encode(task)), self.level]

    def _metrics(self) -> dict[str, float]:
        return {"level": float(self.level)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if not 0 <= self.level < self.ladder.n:
            raise ValueError(f"level {self.level} of {self.ladder.n}")
