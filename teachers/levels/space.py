"""Spaces of levels, which can be generated, compared, edited and turned into tasks.

A level is a small JSON-able value from which a task is made: a point of the unit cube for axes, an index for lists, a
text for user-defined `Levels`. `as_levels` takes any space from which teachers choose. Two tasks with the same key are
the same level.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ..pools import Arms, instance, task_key
from ..sampling import pick
from ..spaces import Cube, FamilySpaceLike, as_cube

STEP = 0.1  # standard deviation of an edit on a continuous axis, as a share of its range (ours; papers give none)
SEEDS = 2**31


class LevelSpace(ABC):
    """Base of spaces of levels.

    Attributes:
        signature: JSON-able description.
        size: number of levels, or None if they cannot be counted.
        editable: True if `mutate` can be called.
    """

    signature: Any
    size: int | None = None
    editable: bool = True

    @abstractmethod
    def generate(self, rng: np.random.Generator) -> Any:
        """Return a new random level."""

    @abstractmethod
    def mutate(self, level: Any, edits: int, rng: np.random.Generator) -> Any:
        """Return a copy of the level after ``edits`` random edits."""

    @abstractmethod
    def task(self, level: Any, rng: np.random.Generator) -> Any:
        """Return the environment's task for a level."""

    @abstractmethod
    def level(self, task: Any) -> Any:
        """Return the level of a task from any source. Raises InputError for a task outside the space."""

    def key(self, task: Any) -> str:
        """Return a text that is equal for tasks of the same level."""
        return task_key(task)

    def cell(self, task: Any, bins: int) -> str:
        """Return a text that is equal for similar tasks: in the same of ``bins`` intervals on each continuous axis."""
        return self.key(task)


class Levels(LevelSpace):
    """A user-defined space of levels, made by a generator.

    Tasks are handed out as plain JSON values (dicts, lists, numbers, text), a fresh copy each time.

    Args:
        name: identifies the space in saved states; change it when the functions change.
        generate: ``generate(rng)`` returns a JSON-able task (NumPy arrays become lists).
        mutate: ``mutate(task, rng)`` returns the task after one edit; it may edit its argument, a copy, in place.
            Without it there are no edits.
        key: ``key(task)`` returns a text that is equal for equal levels; by default the task as JSON.
        size: number of levels that the generator can make, if known.

    Raises:
        InputError: size is no positive whole number. When used: a task that is not JSON-able.
    """

    def __init__(
        self,
        name: str,
        generate: Callable[[np.random.Generator], Any],
        mutate: Callable[[Any, np.random.Generator], Any] | None = None,
        key: Callable[[Any], str] | None = None,
        size: int | None = None,
    ):
        if size is not None:
            check_count("size", size, low=1)
        self.signature = {"levels": str(name), "size": size}
        self.size = size
        self.editable = mutate is not None
        self._generate, self._mutate, self._key = generate, mutate, key

    def generate(self, rng: np.random.Generator) -> str:
        return task_key(self._generate(rng))

    def mutate(self, level: str, edits: int, rng: np.random.Generator) -> str:
        if self._mutate is None:
            raise InputError("these Levels cannot be edited; give them mutate=, a function (task, rng) -> task.")
        task = json.loads(level)
        for _ in range(edits):
            task = self._mutate(task, rng)
        return task_key(task)

    def task(self, level: str, rng: np.random.Generator) -> Any:
        return json.loads(level)

    def level(self, task: Any) -> str:
        return task_key(task)

    def key(self, task: Any) -> str:
        return task_key(task) if self._key is None else str(self._key(task))


class CubeLevels(LevelSpace):
    """Points of a cube; a new level is uniform.

    An edit changes one random axis: a finite axis by one value up or down (reflected at the ends), a continuous axis by
    a normal step of standard deviation 0.1, clipped to the range. Several edits change different axes if there are
    enough.
    """

    def __init__(self, cube: Cube):
        self.cube = cube
        self.signature = {"levels": cube.signature}
        counted = [size for size in cube.sizes if size is not None]
        self._axes = [axis for axis, size in enumerate(cube.sizes) if size != 1]
        self._places = [cube.places(axis) for axis in range(cube.dimension)]
        self.size = math.prod(counted) if len(counted) == cube.dimension else None

    def generate(self, rng: np.random.Generator) -> list[float]:
        return rng.random(self.cube.dimension).tolist()

    def mutate(self, level: list[float], edits: int, rng: np.random.Generator) -> list[float]:
        point = list(level)
        own = self.cube.encode(self.cube.decode(np.array(level)))  # centre of the interval of each value
        for start in range(0, edits, len(self._axes) or edits):
            for axis in rng.permutation(self._axes)[: edits - start].tolist():
                point[axis] = own[axis] = _step(point[axis], float(own[axis]), self._places[axis], rng)
        return point

    def task(self, level: list[float], rng: np.random.Generator) -> Any:
        return self.cube.decode(np.array(level))

    def level(self, task: Any) -> list[float]:
        return self.cube.encode(task).tolist()

    def cell(self, task: Any, bins: int) -> str:
        if self.size is not None:
            return self.key(task)
        counts = np.array([bins if size is None else size for size in self.cube.sizes])
        return str(np.minimum((self.cube.encode(task) * counts).astype(int), counts - 1).tolist())


def _step(u: float, own: float, places: np.ndarray | None, rng: np.random.Generator) -> float:
    if places is None:
        return float(min(max(u + STEP * rng.standard_normal(), 0.0), 1.0))
    at = int(np.abs(places - own).argmin()) + (1 if rng.random() < 0.5 else -1)
    return float(places[{-1: 1, len(places): len(places) - 2}.get(at, at)])


class FamilyLevels(LevelSpace):
    """Levels of several families: a new level's family is drawn by its share, and edits stay in the family."""

    def __init__(self, space: FamilySpaceLike):
        self.space = space
        self.parts = {name: as_levels(family) for name, family in space.families.items()}
        self.signature = {"families": {name: part.signature for name, part in self.parts.items()}}
        sizes = [part.size for part in self.parts.values()]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)

    def generate(self, rng: np.random.Generator) -> list[Any]:
        shares = self.space.shares
        family = list(shares)[int(pick(np.array(list(shares.values())), 1, rng)[0])]
        return [family, self.parts[family].generate(rng)]

    def mutate(self, level: list[Any], edits: int, rng: np.random.Generator) -> list[Any]:
        return [level[0], self.parts[level[0]].mutate(level[1], edits, rng)]

    def task(self, level: list[Any], rng: np.random.Generator) -> Any:
        return self.parts[level[0]].task(level[1], rng)

    def level(self, task: Any) -> list[Any]:
        family = self.space.family_of(task)
        return [family, self.parts[family].level(task)]

    def cell(self, task: Any, bins: int) -> str:
        family = self.space.family_of(task)
        return f"{family} {self.parts[family].cell(task, bins)}"


class ArmLevels(LevelSpace):
    """Entries of a list; an edit replaces a level by another entry, drawn uniformly."""

    def __init__(self, arms: Arms):
        self.arms = arms
        self.signature = {"levels": arms.signature}
        self.size = arms.n

    def generate(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.arms.n))

    def mutate(self, level: int, edits: int, rng: np.random.Generator) -> int:
        return level if self.arms.n == 1 else int((level + 1 + rng.integers(self.arms.n - 1)) % self.arms.n)

    def task(self, level: int, rng: np.random.Generator) -> Any:
        return self.arms.task(level, rng)

    def level(self, task: Any) -> int:
        return self.arms.arm(task)

    def key(self, task: Any) -> str:
        return str(self.arms.arm(task))


class Instances(LevelSpace):
    """Instances of an environment: tasks ``{"params": ..., "seed": ...}``, so that replay repeats the identical episode
    start and not another one with the same parameters. An edit changes parameters and keeps the seed.

    Args:
        space: space of the parameters, anything that `as_levels` takes.
    """

    def __init__(self, space: Any):
        self.params = as_levels(space)
        self.signature = {"instances": self.params.signature}
        self.editable = self.params.editable

    def generate(self, rng: np.random.Generator) -> list[Any]:
        return [self.params.generate(rng), int(rng.integers(SEEDS))]

    def mutate(self, level: list[Any], edits: int, rng: np.random.Generator) -> list[Any]:
        return [self.params.mutate(level[0], edits, rng), level[1]]

    def task(self, level: list[Any], rng: np.random.Generator) -> dict[str, Any]:
        return {"params": self.params.task(level[0], rng), "seed": level[1]}

    def level(self, task: Any) -> list[Any]:
        params, seed = instance(task)
        if seed is None:
            raise InputError(f'task {task!r} must be {{"params": ..., "seed": ...}}.')
        return [self.params.level(params), seed]


def as_levels(space: Any) -> LevelSpace:
    """Return the levels of a ParamSpace, FamilySpace, bounded Box, Discrete or list of tasks; a `LevelSpace` is
    returned unchanged. Raises InputError for anything else."""
    if isinstance(space, LevelSpace):
        return space
    if isinstance(space, FamilySpaceLike):
        return FamilyLevels(space)
    return ArmLevels(space) if isinstance(space, Arms) else CubeLevels(as_cube(space))
