"""The parameters of a task family as named axes, each with a range and a direction in which the task gets harder.

One object serves everybody who chooses tasks: an environment maps a difficulty in [0, 1] to parameters, a teacher works
in the unit cube (`from_unit`, `to_unit`) or in a Gymnasium space (`.space`), a person names values (`validate`). Values
are plain int, float and str, so that parameters are JSON-able and print alike in every process. Nothing here is
mutable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ..errors import InputError, unknown_name
from .axes import Axis, ChoiceAxis, FloatAxis, IntAxis

__all__ = ["Axis", "ChoiceAxis", "FloatAxis", "IntAxis", "ParamSpace"]


class ParamSpace:
    """Axes in a fixed order.

    Args:
        axes: the axes; names must differ.

    Raises:
        InputError: a name twice.
    """

    def __init__(self, axes: Sequence[Axis]):
        self.axes: tuple[Axis, ...] = tuple(axes)
        self.names: tuple[str, ...] = tuple(axis.name for axis in self.axes)
        self._by_name = dict(zip(self.names, self.axes))
        if len(self._by_name) < len(self.axes):
            raise InputError(f"axis names must differ, but {list(self.names)} has one twice.")
        self._free: tuple[Any, ...] = tuple(axis for axis in self.axes if not axis.is_constant)
        self._lowest: dict[str, Any] = {axis.name: axis.from_unit(0.0) for axis in self.axes}
        stepped = [axis for axis in self._free if axis.steps]
        # Up to half a step ahead for the first axis, half a step behind for the last.
        self._stagger = {
            axis.name: (0.5 - (index + 0.5) / len(stepped)) / axis.steps for index, axis in enumerate(stepped)
        }

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, name: str) -> Axis:
        if name not in self._by_name:
            raise unknown_name("axis", name, self.names)
        return self._by_name[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamSpace) and self.axes == other.axes

    def __hash__(self) -> int:
        return hash(self.axes)

    def __repr__(self) -> str:
        return f"ParamSpace({list(self.axes)!r})"

    @property
    def dimension(self) -> int:
        """Number of axes, the d of the unit cube."""
        return len(self.axes)

    @property
    def space(self) -> gym.spaces.Dict:
        """The same ranges as a Gymnasium space: Discrete for int, Box for float, the index of a choice as Discrete."""
        return gym.spaces.Dict({axis.name: axis.space for axis in self.axes})

    def at(self, difficulty: float) -> dict[str, Any]:
        """The parameters at a difficulty from 0 (easiest) to 1 (hardest); no axis ever gets easier as it grows.

        Axes with steps take them in turn rather than all at once, so that two axes of two values make three levels.

        Raises:
            InputError: difficulty outside [0, 1].
        """
        hardness = checked_difficulty(difficulty)
        params = {}
        for axis in self.axes:
            place = min(max(hardness + self._stagger.get(axis.name, 0.0), 0.0), 1.0)
            params[axis.name] = axis.from_unit(place if axis.harder == "up" else 1.0 - place)
        return params

    def difficulty(self, params: Mapping[str, Any]) -> float:
        """How hard ``params`` are, in [0, 1]: the mean over the axes that can vary of the place in the axis' range.

        Axes missing from ``params`` do not count; 0 when no axis is left.
        """
        total, count = 0.0, 0
        for axis in self._free:
            if axis.name in params:
                unit = axis.to_unit(params[axis.name])
                total += unit if axis.harder == "up" else 1.0 - unit
                count += 1
        return total / count if count else 0.0

    def from_unit(self, u: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """The parameters at a point of the unit cube. Coordinates follow each axis from low to high and are clipped.

        Args:
            u: array of shape [d]. A uniform point gives uniform values (log-uniform on a log axis).

        Raises:
            InputError: wrong shape, or NaN.
        """
        point = np.asarray(u, dtype=np.float64)
        if point.shape != (len(self.axes),):
            raise InputError(f"a point of the unit cube must have shape ({len(self.axes)},), not {point.shape}.")
        if np.isnan(point).any():
            raise InputError("a point of the unit cube must not contain NaN.")
        return {axis.name: axis.from_unit(value) for axis, value in zip(self.axes, point.tolist())}

    def to_unit(self, params: Mapping[str, Any]) -> np.ndarray:
        """The point of the unit cube of full ``params``: array of shape [d], float64; `from_unit` maps it back.

        Raises:
            InputError: not a mapping, an axis is missing, or a value is out of range.
        """
        if not isinstance(params, Mapping):
            raise InputError(f"parameters must be a mapping from axis to value, not {params!r}.")
        missing = [name for name in self.names if name not in params]
        if missing:
            raise InputError(f"to_unit needs every axis; {', '.join(missing)} is missing from {dict(params)!r}.")
        axes: tuple[Any, ...] = self.axes
        return np.array([axis.to_unit(axis.validate(params[axis.name])) for axis in axes], dtype=np.float64)

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn uniformly over the unit cube, with one call of ``rng`` unless every axis is fixed."""
        if not self._free:
            return dict(self._lowest)
        return {axis.name: axis.from_unit(u) for axis, u in zip(self.axes, rng.random(len(self.axes)).tolist())}

    def validate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """``params`` as plain int, float and str in axis order; missing axes stay missing.

        Raises:
            InputError: not a mapping, an unknown axis, or a value out of range (the message names axis and range).
        """
        if not isinstance(params, Mapping):
            raise InputError(f"parameters must be a mapping from axis to value, not {params!r}.")
        for name in params:
            if name not in self._by_name:
                raise unknown_name("axis", str(name), self.names)
        return {axis.name: axis.validate(params[axis.name]) for axis in self.axes if axis.name in params}

    def restrict(self, **ranges: Any) -> ParamSpace:
        """A smaller space: ``restrict(digits=(1, 2), operations=["+", "+-"], terms=3)``.

        A pair [low, high] narrows an int or float axis, a list of choices a choice axis, and a single value fixes any
        axis. Difficulty 0 to 1 then spans the narrowed range; a fixed axis no longer counts in it.

        Raises:
            InputError: an unknown axis, or a range outside the present one.
        """
        for name in ranges:
            if name not in self._by_name:
                raise unknown_name("axis", name, self.names)
        return ParamSpace([axis.restrict(ranges[axis.name]) if axis.name in ranges else axis for axis in self.axes])


def checked_difficulty(difficulty: Any) -> float:
    """``difficulty`` as a float in [0, 1]. Raises InputError otherwise."""
    try:
        value = float(difficulty)
    except (TypeError, ValueError):
        value = float("nan")
    if isinstance(difficulty, (bool, str)) or not 0.0 <= value <= 1.0:
        raise InputError(f"difficulty must be a number from 0 (easiest) to 1 (hardest), not {difficulty!r}.")
    return value
