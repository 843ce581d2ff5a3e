"""A task space seen as points of the unit cube.

`as_cube` takes a `ParamSpace`, a bounded Gymnasium `Box` or a `Discrete`, and converts both ways between its tasks and
points. Anything with the five members of `ParamSpaceLike` counts as a ParamSpace, as teachers do not depend on the
environments; anything with the members of `FamilySpaceLike` is a space of several families. For task spaces seen as a
list, see `pools`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from ..errors import InputError

MOST_VALUES = 10_000  # an axis with more values than this is treated as continuous


@runtime_checkable
class ParamSpaceLike(Protocol):
    """The part of `palaestra.envs.ParamSpace` that teachers use."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def space(self) -> gym.spaces.Dict: ...
    def from_unit(self, u: Any) -> dict[str, Any]: ...
    def to_unit(self, params: Any) -> np.ndarray: ...
    def sample(self, rng: np.random.Generator) -> dict[str, Any]: ...


@runtime_checkable
class FamilySpaceLike(ParamSpaceLike, Protocol):
    """The part of `palaestra.envs.family_space.FamilySpace` that teachers use.

    Attributes:
        families: name -> space of the family.
        shares: name -> current probability of the family.
    """

    @property
    def families(self) -> Mapping[str, ParamSpaceLike]: ...
    @property
    def shares(self) -> Mapping[str, float]: ...
    def family_of(self, params: Any) -> str: ...


class Cube(ABC):
    """A task space seen as [0, 1]^dimension.

    Attributes:
        dimension: number of axes.
        names: one name per axis.
        sizes: number of values of each axis, or None for a continuous axis.
        signature: JSON-able description.
    """

    dimension: int
    names: tuple[str, ...]
    sizes: tuple[int | None, ...]
    signature: Any

    def places(self, axis: int) -> np.ndarray | None:
        """Return float64[size], the coordinate of each value of an axis, ascending.

        None for a continuous axis, and for one with more than `MOST_VALUES` values, which is treated as continuous.
        """
        size = self.sizes[axis]
        return None if size is None or size > MOST_VALUES else (np.arange(size) + 0.5) / size

    @abstractmethod
    def decode(self, u: np.ndarray) -> Any:
        """Return the task at ``u`` (float64[dimension] in [0, 1])."""

    def decode_all(self, points: np.ndarray) -> list[Any]:
        """Return the tasks at ``points``, float64[k, dimension] in [0, 1], in order."""
        return list(map(self.decode, points))

    @abstractmethod
    def encode(self, task: Any) -> np.ndarray:
        """Return the point of a task, float64[dimension] in [0, 1]. Raises InputError for a task outside the space."""


class ParamCube(Cube):
    """Unit cube of a `ParamSpace`, without the axes that are fixed to one value."""

    def __init__(self, space: ParamSpaceLike):
        names = tuple(space.names)
        if not names:
            raise InputError("the ParamSpace has no axes; a teacher needs at least one to choose from.")
        sizes = [_size(space.space[name]) for name in names]
        # If every axis is fixed, keep one, so that points have a coordinate.
        free = [i for i, size in enumerate(sizes) if size != 1] or [0]
        self.space = space
        self.names = tuple(names[i] for i in free)
        self.dimension = len(free)
        self.sizes = tuple(sizes[i] for i in free)
        self._free = np.array(free)
        self._point = np.full(len(names), 0.5)
        # Tasks at three points of the diagonal tell ranges and choices apart, whatever the axes are made of.
        probes = [space.from_unit(np.full(len(names), value)) for value in (0.0, 0.5, 1.0)]
        self.signature = {"names": list(names), "probes": probes}

    def decode(self, u: np.ndarray) -> dict[str, Any]:
        point = self._point.copy()
        point[self._free] = u
        return self.space.from_unit(point)

    def places(self, axis: int) -> np.ndarray | None:
        places, name, at = super().places(axis), self.names[axis], self._free[axis]
        ends = [self.space.from_unit(np.full(len(self._point), u)) for u in (0.0, 1.0)]
        if places is None or not all(isinstance(end[name], int) for end in ends):
            return places
        low, high = sorted(end[name] for end in ends)
        if high - low + 1 != len(places):
            return places
        # Whole numbers on a logarithmic axis lie closer together the larger they are; and hard may be low.
        return np.sort([self.space.to_unit({**ends[0], name: value})[at] for value in range(low, high + 1)])

    def encode(self, task: Any) -> np.ndarray:
        point = np.asarray(self.space.to_unit(task), dtype=np.float64)
        if not np.isfinite(point).all():
            raise InputError(f"task {task!r} has no place in the unit cube: {point}.")
        return np.clip(point, 0.0, 1.0)[self._free]


class FamilyCube(Cube):
    """Unit cube of several families. The first axis selects the family, in intervals of equal width. The axes of all
    families follow; a task has the coordinate 0.5 on the axes of families to which it does not belong."""

    def __init__(self, space: FamilySpaceLike):
        self.space = space
        self.families = list(space.families)
        self.cubes = [ParamCube(family) for family in space.families.values()]
        self.names = ("family", *(name for cube in self.cubes for name in cube.names))
        self.sizes = (len(self.cubes), *(size for cube in self.cubes for size in cube.sizes))
        self.dimension = len(self.names)
        ends = np.cumsum([1, *(cube.dimension for cube in self.cubes)]).tolist()
        self._slices = [slice(start, end) for start, end in pairwise(ends)]
        self.signature = {"families": {name: cube.signature for name, cube in zip(self.families, self.cubes)}}

    def decode(self, u: np.ndarray) -> dict[str, Any]:
        index = min(int(u[0] * len(self.cubes)), len(self.cubes) - 1)
        return self.cubes[index].decode(u[self._slices[index]])

    def places(self, axis: int) -> np.ndarray | None:
        for cube, part in zip(self.cubes, self._slices):
            if part.start <= axis < part.stop:
                return cube.places(axis - part.start)
        return super().places(axis)

    def encode(self, task: Any) -> np.ndarray:
        index = self.families.index(self.space.family_of(task))
        point = np.full(self.dimension, 0.5)
        point[0] = (index + 0.5) / len(self.cubes)
        point[self._slices[index]] = self.cubes[index].encode(task)
        return point


class BoxCube(Cube):
    """Unit cube of a bounded Gymnasium Box of any shape, flattened; each integer is an interval of equal width."""

    def __init__(self, space: gym.spaces.Box):
        low, high = (np.asarray(bound, dtype=np.float64).ravel() for bound in (space.low, space.high))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InputError(f"{space} is unbounded; a teacher needs a Box with finite low and high.")
        if not low.size:
            raise InputError(f"{space} has no elements; a teacher needs at least one axis to choose from.")
        self.space = space
        self.dimension = low.size
        self.names = tuple(f"x{i}" for i in range(low.size))
        self.integer = bool(np.issubdtype(space.dtype or np.float64, np.integer))
        self._low, self._high = low, high
        self._width = high - low + (1.0 if self.integer else 0.0)
        self.sizes = tuple(int(w) if self.integer else None for w in self._width)
        self.signature = {"low": low.tolist(), "high": high.tolist(), "dtype": str(space.dtype)}

    def decode(self, u: np.ndarray) -> np.ndarray:
        x = self._low + u * self._width
        x = np.minimum(np.maximum(np.floor(x) if self.integer else x, self._low), self._high)
        # The bounds are exact in the Box's dtype, so that rounding to it cannot pass them.
        return x.astype(self.space.dtype).reshape((*u.shape[:-1], *self.space.shape))

    def decode_all(self, points: np.ndarray) -> list[np.ndarray]:
        tasks = self.decode(points)
        return [tasks[i, ...] for i in range(len(tasks))]  # the dots keep a task without axes an array

    def encode(self, task: Any) -> np.ndarray:
        try:
            x = np.asarray(task, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"task {task!r} must be an array of shape {self.space.shape}.") from error
        if x.shape != self.space.shape:
            raise InputError(f"task {task!r} has shape {x.shape}; this Box has shape {self.space.shape}.")
        x = x.ravel()
        if not ((x >= self._low) & (x <= self._high)).all():
            raise InputError(f"task {task!r} lies outside {self.space}.")
        centred = x - self._low + (0.5 if self.integer else 0.0)
        flat = self._width == 0  # an axis without width has one value; any coordinate stands for it
        return np.where(flat, 0.5, centred / np.where(flat, 1.0, self._width))


class DiscreteCube(Cube):
    """Unit interval of a Discrete: each of its n values is an interval of equal width."""

    def __init__(self, space: gym.spaces.Discrete):
        self.space = space
        self.n, self.start = int(space.n), int(space.start)
        self.dimension, self.names, self.sizes = 1, ("arm",), (self.n,)
        self.signature = {"n": self.n, "start": self.start}

    def decode(self, u: np.ndarray) -> int:
        return self.start + min(int(u[0] * self.n), self.n - 1)

    def encode(self, task: Any) -> np.ndarray:
        return np.array([(arm_index(task, self.n, self.start) + 0.5) / self.n])


def as_cube(space: Any) -> Cube:
    """Return the unit cube of a ParamSpace, FamilySpace, bounded Box or Discrete; a Cube is returned unchanged. Raises
    InputError for anything else."""
    if isinstance(space, Cube):
        return space
    if isinstance(space, gym.spaces.Box):
        return BoxCube(space)
    if isinstance(space, gym.spaces.Discrete):
        return DiscreteCube(space)
    if isinstance(space, FamilySpaceLike):
        return FamilyCube(space)
    if isinstance(space, ParamSpaceLike):
        return ParamCube(space)
    raise InputError(
        f"this teacher cannot choose from {space!r}; pass a ParamSpace, a Gymnasium Box or a Discrete, or take a "
        "teacher of arms or prompts for FiniteTasks."
    )


def _size(space: gym.Space[Any]) -> int | None:
    """Return the number of values of one axis, or None for a continuous one."""
    if isinstance(space, gym.spaces.Discrete):
        return int(space.n)
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype or np.float64, np.integer):
        return int(np.ravel(space.high)[0]) - int(np.ravel(space.low)[0]) + 1
    if isinstance(space, gym.spaces.Box) and np.array_equal(space.low, space.high):
        return 1
    return None


def arm_index(task: Any, n: int, start: int) -> int:
    """Return the zero-based position of a Discrete's value (n values from ``start``). Raises InputError for others."""
    # Environments hand arms around as Python ints, NumPy scalars and arrays without dimensions alike.
    value = task.item() if isinstance(task, np.generic | np.ndarray) and np.ndim(task) == 0 else task
    if isinstance(value, bool) or not isinstance(value, int) or not start <= value < start + n:
        raise InputError(f"task {task!r} must be a whole number from {start} to {start + n - 1}.")
    return value - start
