"""The parameters of a task family as named axes, each with a range and a direction in which tasks get harder.

One object serves everything that chooses tasks: an environment maps a difficulty in [0, 1] to parameters, a teacher
works in the unit cube (`from_unit`, `to_unit`) or in a Gymnasium space (`.space`), a user names values (`validate`).
Values are plain int, float and str, so that parameters are JSON-able and print alike in every process. All objects here
are immutable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ..errors import InputError, unknown_name
from .axes import Axis, ChoiceAxis, FloatAxis, IntAxis

__all__ = ["Axis", "ChoiceAxis", "FloatAxis", "IntAxis", "ParamSpace"]


class ParamSpace:
    """Named axes in a fixed order, and mappings between difficulty, unit cube and parameters.

    Args:
        axes: the axes; names must differ.
        spread: whether the steps of all axes are taken one by one, at equal distances, and the last at difficulty 1. By
            default each value of an axis has an equal part of [0, 1], so that the hardest one begins well before 1.

    Raises:
        InputError: two axes have the same name.
    """

    def __init__(self, axes: Sequence[Axis], spread: bool = False):
        self.axes: tuple[Axis, ...] = tuple(axes)
        self.spread = spread
        self.names: tuple[str, ...] = tuple(axis.name for axis in self.axes)
        self._by_name = dict(zip(self.names, self.axes))
        if len(self._by_name) < len(self.axes):
            raise InputError(f"axis names must differ, but {list(self.names)} has one twice.")
        self._free: tuple[Any, ...] = tuple(axis for axis in self.axes if not axis.is_constant)
        # A difficulty does not set a choice axis on which no choice is harder.
        self._graded = tuple(axis for axis in self.axes if axis.harder is not None or axis.is_constant)
        self._lowest: dict[str, Any] = {axis.name: axis.from_unit(0.0) for axis in self.axes}
        stepped = [axis for axis in self._free if axis.steps and axis.harder is not None]
        # Shift the axes by up to half a step, the first one ahead and the last one behind, so that they take turns.
        self._stagger = {
            axis.name: (0.5 - (index + 0.5) / len(stepped)) / axis.steps for index, axis in enumerate(stepped)
        }
        self._path: list[str] = []
        if spread:
            # Axes by the order of their steps; of axes with as many, the first goes first, and the last ends last.
            ways = [
                ((step + (index + 1) / len(stepped)) / (axis.steps - 1), index, axis.name)
                for index, axis in enumerate(stepped)
                for step in range(axis.steps - 1)
            ]
            self._path = [name for _, _, name in sorted(ways)]

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, name: str) -> Axis:
        if name not in self._by_name:
            raise unknown_name("axis", name, self.names)
        return self._by_name[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamSpace) and (self.axes, self.spread) == (other.axes, other.spread)

    def __hash__(self) -> int:
        return hash(self.axes)

    def __repr__(self) -> str:
        return f"ParamSpace({list(self.axes)!r}{', spread=True' * self.spread})"

    @property
    def dimension(self) -> int:
        """Number of axes, the d of the unit cube."""
        return len(self.axes)

    @property
    def space(self) -> gym.spaces.Dict:
        """The same ranges as a Gymnasium space: Discrete for int, Box for float, the index of a choice as Discrete."""
        return gym.spaces.Dict({axis.name: axis.space for axis in self.axes})

    @property
    def max_difficulty(self) -> float:
        """The highest difficulty that may be requested: 1, or more where an axis is open at its hard end."""
        return max((axis.hardest for axis in self.axes), default=1.0)

    def at(self, difficulty: float) -> dict[str, Any]:
        """Return the parameters at a difficulty; no axis ever gets easier as the difficulty grows.

        Axes with discrete values step in turn rather than all at once, so that two axes of two values make three
        levels. Axes with ``harder=None`` are left out.

        Args:
            difficulty: from 0 (easiest) to 1 (hardest within the ranges). Above 1, up to `max_difficulty`, each open
                axis continues in proportion up to its limit; the other axes stay at their hardest value.

        Raises:
            InputError: difficulty below 0 or above `max_difficulty`.
        """
        hardness = self.check_difficulty(difficulty)
        if hardness > 1.0:
            return {axis.name: axis.at(hardness) for axis in self._graded}
        taken = len(self._path)
        if hardness < 1.0:
            # Just above each of the distances but the last, with allowance for rounding errors.
            taken = max(math.ceil(hardness * taken - 1e-9) - 1, 0)
        counts = Counter(self._path[:taken])
        places = {axis.name: hardness for axis in self._graded}
        for name, shift in self._stagger.items():
            steps = self._by_name[name].steps
            places[name] = (counts[name] + 0.5) / steps if self.spread else min(max(hardness + shift, 0.0), 1.0)
        return {axis.name: axis.at(places[axis.name]) for axis in self._graded}

    def complete(
        self, params: Mapping[str, Any], rng: np.random.Generator, difficulty: float | None = None
    ) -> dict[str, Any]:
        """Return ``params`` with all missing axes filled in: at ``difficulty``, or drawn uniformly if ``difficulty`` is
        None or does not set the axis."""
        if len(params) == len(self):
            return dict(params)
        chosen = {} if difficulty is None else self.at(difficulty)
        if len(chosen) < len(self):
            chosen = {**self.sample(rng), **chosen}
        return {**chosen, **params}

    def check_difficulty(self, difficulty: Any) -> float:
        """Return ``difficulty`` as a float from 0 to `max_difficulty`. Raise InputError otherwise."""
        try:
            value = float(difficulty)
        except (TypeError, ValueError):
            value = float("nan")
        # Allow for a rounding error above the limit.
        if isinstance(difficulty, (bool, str)) or not 0.0 <= value <= self.max_difficulty + 1e-9:
            beyond = f"; up to {self.max_difficulty:g} on request" if self.max_difficulty > 1.0 else ""
            raise InputError(
                f"difficulty must be a number from 0 (easiest) to 1 (hardest){beyond}, not {difficulty!r}."
            )
        return value

    def difficulty(self, params: Mapping[str, Any]) -> float:
        """Return the difficulty of ``params``: the mean, over the axes that can vary, of the position in the axis's
        range.

        0 is easiest and 1 hardest within the ranges; values beyond the ranges count for more. Axes missing from
        ``params`` do not count. Return 0 when no axis is left.
        """
        total, count = 0.0, 0
        for axis in self._free:
            if axis.name in params and axis.harder is not None:
                unit = axis.to_unit(params[axis.name])
                total += unit if axis.harder == "up" else 1.0 - unit
                count += 1
        return total / count if count else 0.0

    def from_unit(self, u: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return the parameters at a point of the unit cube. Coordinates follow each axis from low to high and are
        clipped.

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
        """Return the point of the unit cube of full ``params``: array of shape [d], float64; `from_unit` maps it back.

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
        """Draw parameters uniformly over the unit cube, with one call of ``rng`` unless every axis is fixed."""
        if not self._free:
            return dict(self._lowest)
        return {axis.name: axis.from_unit(u) for axis, u in zip(self.axes, rng.random(len(self.axes)).tolist())}

    def validate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``params`` as plain int, float and str in axis order; missing axes stay missing.

        Raises:
            InputError: not a mapping, an unknown axis, or a value out of range (the message names axis and range).
        """
        self._check_names(params)
        return {axis.name: axis.validate(params[axis.name]) for axis in self.axes if axis.name in params}

    def ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Same as `validate`, for values requested explicitly: open axes accept any value up to their limits.

        Raises:
            InputError: not a mapping, an unknown axis, or a value beyond the limits (named in the message).
        """
        self._check_names(params)
        return {axis.name: axis.ask(params[axis.name]) for axis in self.axes if axis.name in params}

    def extend(self, **ends: Any) -> ParamSpace:
        """Return the space with other ranges of open axes: ``extend(variables=60)`` moves the hard end of an axis, a
        pair [low, high] both ends. The limits stay the same.

        Difficulty 0 to 1 then spans the new ranges.

        Raises:
            InputError: an unknown axis, a `ChoiceAxis`, or an end beyond the axis's limits.
        """
        self._check_names(ends)
        extended = [axis.extend(ends[axis.name]) if axis.name in ends else axis for axis in self.axes]
        return ParamSpace(extended, self.spread)

    def restrict(self, **ranges: Any) -> ParamSpace:
        """Return the space over the given ranges: ``restrict(digits=(1, 2), operations=["+", "+-"], terms=3)``.

        A pair [low, high] sets the range of an int or float axis, which may exceed the present range where the axis is
        open; a list of choices narrows a choice axis, and a single value fixes any axis. Difficulty 0 to 1 then spans
        these ranges. Axes named here are no longer open, and a fixed axis does not count in the difficulty.

        Raises:
            InputError: an unknown axis, or a range beyond the axis's limits.
        """
        if not ranges:
            return self
        self._check_names(ranges)
        restricted = [axis.restrict(ranges[axis.name]) if axis.name in ranges else axis for axis in self.axes]
        return ParamSpace(restricted, self.spread)

    def _check_names(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping):
            raise InputError(f"parameters must be a mapping from axis to value, not {params!r}.")
        for name in params:
            if name not in self._by_name:
                raise unknown_name("axis", str(name), self.names)
