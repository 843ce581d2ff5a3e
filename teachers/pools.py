"""A task space seen as a list: arms of a bandit, cells of a grid, prompts of a data set.

`as_arms` and `as_pool` take a `ParamSpace`, a `FamilySpace`, a bounded Gymnasium `Box`, a `Discrete` or `FiniteTasks`.
`as_arms` cuts axes into few cells, because a bandit must try every arm, and makes one arm of each family. `as_pool`
makes a task of every combination of values if there are at most `DEFAULT_CELLS`, and joins the pools of families.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..errors import InputError
from .spaces import Cube, FamilySpaceLike, ParamSpaceLike, arm_index, as_cube

MAX_ARMS = 4096
MAX_TASKS = 1_000_000
DEFAULT_ARMS = 25
MAX_RUNGS = 16
DEFAULT_CELLS = 10_000  # a space with no more combinations of values than this is a pool of all of them


class Arms(ABC):
    """A task space seen as n arms.

    Attributes:
        n: number of arms.
        features: float64[n, d] in [0, 1], prior features of each arm.
        signature: JSON-able description.
    """

    n: int
    signature: Any

    @property
    @abstractmethod
    def features(self) -> np.ndarray: ...

    @property
    def difficulty(self) -> np.ndarray:
        """float64[n] in [0, 1]: assumed difficulty of each arm, by default the mean of its features."""
        return self.features.mean(1)

    @abstractmethod
    def task(self, arm: int, rng: np.random.Generator) -> Any:
        """Return a task of an arm, drawn uniformly if the arm holds several."""

    @abstractmethod
    def arm(self, task: Any) -> int:
        """Return the arm that a task belongs to. Raises InputError for a task outside the space."""

    @abstractmethod
    def name(self, arm: int) -> str:
        """Return a short name of an arm for logs."""


class DiscreteArms(Arms):
    """Arms of a Discrete: one per value, assumed to be in order of difficulty."""

    def __init__(self, space: gym.spaces.Discrete):
        self.n, self.start = int(space.n), int(space.start)
        self.signature = {"n": self.n, "start": self.start}

    @property
    def features(self) -> np.ndarray:
        return np.linspace(0.0, 1.0, self.n)[:, None]

    def task(self, arm: int, rng: np.random.Generator) -> int:
        return self.start + int(arm)

    def arm(self, task: Any) -> int:
        return arm_index(task, self.n, self.start)

    def name(self, arm: int) -> str:
        return str(self.start + arm)


def default_bins(dimension: int) -> int:
    """Return the number of cells along each axis that makes about `DEFAULT_ARMS` cells in all; 10 for a single axis."""
    return 10 if dimension == 1 else max(2, int(DEFAULT_ARMS ** (1 / dimension) + 1e-9))


class Grid(Arms):
    """A cube cut into cells of equal size, one arm each; tasks are drawn uniformly within a cell.

    On an axis of finitely many values, a cell holds the values whose coordinates lie in it. Cells without a value are
    left out, so that every arm has one; values may lie far apart, such as small integers on a logarithmic axis.

    Args:
        cube: the cube to cut.
        bins: cells along each axis: one number for all, or one per axis. None gives about `DEFAULT_ARMS` in all (10 on
            a single axis). An axis with fewer values than bins gets one cell per value.
        limit: largest number of cells allowed; more raise InputError.
    """

    def __init__(self, cube: Cube, bins: int | Sequence[int] | None = None, limit: int = MAX_ARMS):
        bins = default_bins(cube.dimension) if bins is None else bins
        per_axis = [bins] * cube.dimension if isinstance(bins, int | np.integer) else list(bins)
        if len(per_axis) != cube.dimension:
            raise InputError(f"bins={bins!r} has {len(per_axis)} entries; this space has {cube.dimension} axes.")
        for count in per_axis:
            check_count("bins", count, low=1)
        self.cube = cube
        self._places = [self._cells(axis, int(count)) for axis, count in enumerate(per_axis)]
        self.bins = tuple(int(b) if p is None else len(p) for b, p in zip(per_axis, self._places))
        # Upper ends of the cells on an axis of discrete values: half-way to the next value.
        self._ends = [
            None if p is None else np.array([(a[-1] + b[0]) / 2 for a, b in itertools.pairwise(p)])
            for p in self._places
        ]
        self.n = math.prod(self.bins)
        if self.n > limit:
            raise InputError(
                f"bins={bins!r} on {cube.dimension} axes makes {self.n} arms; at most {limit} are allowed."
            )
        self.signature = {"cube": cube.signature, "bins": list(self.bins)}

    def _cells(self, axis: int, count: int) -> list[np.ndarray] | None:
        """Return the coordinates of the values in each cell of an axis; None for an axis without `Cube.places`."""
        places = self.cube.places(axis)
        if places is None:
            return None
        if count >= len(places):
            return [places[i : i + 1] for i in range(len(places))]
        cell = np.minimum((places * count).astype(int), count - 1)
        return np.split(places, np.flatnonzero(np.diff(cell)) + 1)

    @property
    def features(self) -> np.ndarray:
        """float64[n, d], the centre of each cell; on an axis of values, the mean coordinate of its values."""
        centres = [
            (np.arange(b) + 0.5) / b if p is None else np.array([values.mean() for values in p])
            for b, p in zip(self.bins, self._places)
        ]
        return np.stack(np.meshgrid(*centres, indexing="ij"), axis=-1).reshape(self.n, -1)

    def task(self, arm: int, rng: np.random.Generator) -> Any:
        point = rng.random(self.cube.dimension)
        for axis, (i, bins, places) in enumerate(zip(np.unravel_index(arm, self.bins), self.bins, self._places)):
            u = point[axis]
            point[axis] = (i + u) / bins if places is None else places[i][int(u * len(places[i]))]
        return self.cube.decode(point)

    def arm(self, task: Any) -> int:
        cell = [
            min(int(u * bins), bins - 1) if ends is None else int(np.searchsorted(ends, u))
            for u, bins, ends in zip(self.cube.encode(task), self.bins, self._ends)
        ]
        return int(np.ravel_multi_index(tuple(cell), self.bins))

    def name(self, arm: int) -> str:
        cell = np.unravel_index(arm, self.bins)
        return ",".join(f"{n}[{i + 1}/{b}]" for n, i, b in zip(self.cube.names, cell, self.bins))


class FamilyArms(Arms):
    """Arms of several families, one family after another.

    If each family is one arm, the families are assumed to be in order of difficulty, like the values of a Discrete.
    Otherwise the features of an arm are the family's position in the list, followed by the features of all families,
    which are 0.5 for families to which the arm does not belong.

    Args:
        space: the families.
        arms: the arms of each family, in order.
    """

    def __init__(self, space: FamilySpaceLike, arms: Sequence[Arms]):
        self.space, self.parts = space, list(arms)
        self._families = list(space.families)
        self._starts = np.cumsum([0, *(part.n for part in self.parts)])
        self.n = int(self._starts[-1])
        if self.n > MAX_TASKS:
            raise InputError(f"these families have {self.n} arms together; at most {MAX_TASKS} are allowed.")
        self.signature = {"families": {name: part.signature for name, part in zip(self._families, self.parts)}}

    @property
    def features(self) -> np.ndarray:
        places = np.linspace(0.0, 1.0, len(self.parts))
        if self.n == len(self.parts):
            return places[:, None]
        tables = [part.features for part in self.parts]
        joined = np.full((self.n, 1 + sum(table.shape[1] for table in tables)), 0.5)
        column = 1
        for place, start, table in zip(places, self._starts, tables):
            joined[start : start + len(table), 0] = place
            joined[start : start + len(table), column : column + table.shape[1]] = table
            column += table.shape[1]
        return joined

    @property
    def difficulty(self) -> np.ndarray:
        if self.n == len(self.parts):
            return super().difficulty
        return np.concatenate([part.difficulty for part in self.parts])

    def _find(self, arm: int) -> tuple[int, int]:
        """Return the index of an arm's family, and the index of the arm within the family."""
        family = int(np.searchsorted(self._starts, arm, side="right")) - 1
        return family, int(arm - self._starts[family])

    def task(self, arm: int, rng: np.random.Generator) -> Any:
        family, own = self._find(arm)
        return self.parts[family].task(own, rng)

    def arm(self, task: Any) -> int:
        family = self._families.index(self.space.family_of(task))
        return int(self._starts[family]) + self.parts[family].arm(task)

    def name(self, arm: int) -> str:
        family, own = self._find(arm)
        return self._families[family] if self.parts[family].n == 1 else self.parts[family].name(own)


class FiniteTasks(Arms):
    """A list of tasks, such as the prompts of a data set.

    Args:
        tasks: inputs of the environment, JSON-able and distinct.
        features: float[n, d] in [0, 1], prior features (an embedding, a length ...); None takes the position in the
            list.
        difficulty: float[n] in [0, 1], assumed difficulty of each task; None takes the mean of the features.
        chances: float[n], success rate of guessing in each task, if known.

    Raises:
        InputError: no task, a duplicate, a task that is not JSON-able, or numbers of a wrong shape or outside [0, 1].
    """

    def __init__(
        self,
        tasks: Sequence[Any],
        *,
        features: Any | None = None,
        difficulty: Sequence[float] | None = None,
        chances: Sequence[float] | None = None,
    ):
        self.tasks = list(tasks)
        self.chances = chances
        self.n = len(self.tasks)
        if not 0 < self.n <= MAX_TASKS:
            raise InputError(f"{self.n} tasks were given; FiniteTasks takes 1 to {MAX_TASKS}.")
        keys = [task_key(task) for task in self.tasks]
        self._index = {key: index for index, key in enumerate(keys)}
        if len(self._index) < self.n:
            twice = next(task for index, task in enumerate(self.tasks) if self._index[keys[index]] != index)
            raise InputError(f"task {twice!r} is given twice; give every task once.")
        self._features = None if features is None else _check_array("features", features, (self.n, None))
        self._difficulty = None if difficulty is None else _check_array("difficulty", difficulty, (self.n,))
        digest = blake2b(digest_size=8)
        for part in (*keys, features is not None and self.features.tolist(), self.difficulty.tolist()):
            digest.update(json.dumps(part).encode())
        self.signature = {"tasks": self.n, "digest": digest.hexdigest()}

    @property
    def features(self) -> np.ndarray:
        return np.linspace(0.0, 1.0, self.n)[:, None] if self._features is None else self._features

    @property
    def difficulty(self) -> np.ndarray:
        return super().difficulty if self._difficulty is None else self._difficulty

    def task(self, arm: int, rng: np.random.Generator) -> Any:
        return self.tasks[arm]

    def arm(self, task: Any) -> int:
        index = self._index.get(task_key(task))
        if index is None:
            raise InputError(f"task {task!r} is not among the {self.n} tasks of this list.")
        return index

    def name(self, arm: int) -> str:
        return str(arm)


def fixed_tasks(space: ParamSpaceLike, n: int, seed: int = 0) -> FiniteTasks:
    """Draw n instances of an environment with a ParamSpace, for teachers that choose among given tasks.

    A task is ``{"params": ..., "seed": ...}`` (see `instance`) with parameters uniform over the space. The features of
    a task are its coordinates in the unit cube.
    """
    check_count("n", n, low=1)
    rng = np.random.default_rng(seed)
    params = [space.sample(rng) for _ in range(n)]
    seeds = rng.choice(2**31, size=n, replace=False).tolist()
    tasks = [{"params": p, "seed": s} for p, s in zip(params, seeds)]
    return FiniteTasks(tasks, features=np.clip([space.to_unit(p) for p in params], 0.0, 1.0))


def fixed_ladders(space: ParamSpaceLike, n: int, seed: int = 0) -> FiniteTasks:
    """Draw n instances of an environment, each with every value of the last axis, for teachers of answer formats.

    The other parameters are uniform over the space. The features of a task are the position of its instance in the
    list, scaled to [0, 1], and the coordinate of its value on the last axis.

    Raises:
        InputError: the last axis is continuous or has more than `MAX_RUNGS` values.
    """
    check_count("n", n, low=1)
    cube, axis = as_cube(space), list(space.names)[-1]
    places = cube.places(cube.dimension - 1) if cube.names[-1] == axis else None
    if places is None or len(places) > MAX_RUNGS:
        raise InputError(f"a ladder needs a last axis of at most {MAX_RUNGS} values; {axis} is none.")
    rng = np.random.default_rng(seed)
    points = rng.random((n, cube.dimension))
    seeds = rng.choice(2**31, size=n, replace=False).tolist()
    tasks, features = [], []
    for question, (point, own) in enumerate(zip(points, seeds)):
        for place in places.tolist():
            tasks.append({"params": cube.decode(np.array([*point[:-1], place])), "seed": own})
            features.append([question / max(n - 1, 1), place])
    rates = chances_of(space)
    chances = [rates.get(task["params"][axis], 0.0) for task in tasks] if rates else None
    return FiniteTasks(tasks, features=features, chances=chances)


def chances_of(space: Any) -> Mapping[Any, float]:
    """Return value -> success rate of guessing, for the last axis of a ParamSpace; {} if the axis states none."""
    axes = list(getattr(space, "axes", ()))
    return getattr(axes[-1], "chances", {}) if axes else {}


def instance(task: Any) -> tuple[Any, int | None]:
    """Split a task into the (params, seed) of an environment's reset.

    A task ``{"params": ..., "seed": ...}`` fixes the instance; any other task is the parameters, with seed None.
    """
    if isinstance(task, Mapping) and set(task) == {"params", "seed"}:
        return task["params"], int(task["seed"])
    return task, None


def task_key(task: Any) -> str:
    """Return a task as JSON text, the same for equal tasks. Raises InputError for a task that is not JSON-able."""
    try:
        return json.dumps(task, sort_keys=True, allow_nan=False, default=_to_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"task {task!r} is not JSON-able ({error}).") from None


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _check_array(name: str, values: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers ({error}).") from None
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape))
    if not fits or not array.size:
        raise InputError(f"{name} has shape {array.shape}; expected {tuple('d' if s is None else s for s in shape)}.")
    if not ((array >= 0) & (array <= 1)).all():
        raise InputError(f"{name} holds values outside [0, 1]; scale them, easiest to hardest.")
    return array


def as_arms(space: Any, bins: int | Sequence[int] | None = None) -> Arms:
    """Turn a space into arms. A Discrete or a list of tasks keeps its items; another space is cut into a grid by
    ``bins``. With several families, each family is one arm with uniform tasks, or one grid if ``bins`` is given."""
    if isinstance(space, Arms | gym.spaces.Discrete):
        if bins is not None:
            raise InputError(f"bins={bins!r} has no meaning here: the space already consists of arms; leave bins out.")
        return space if isinstance(space, Arms) else DiscreteArms(space)
    if isinstance(space, FamilySpaceLike):
        return FamilyArms(space, [Grid(as_cube(one), 1 if bins is None else bins) for one in space.families.values()])
    return Grid(as_cube(space), bins)


def as_pool(space: Any, bins: int | Sequence[int] | None = None) -> Arms:
    """Turn a space into a pool of tasks. A list of tasks keeps its items. Another space becomes all combinations of
    its axes' values if there are at most `DEFAULT_CELLS`, or else the grid that ``bins`` cuts."""
    if bins is not None or isinstance(space, Arms | gym.spaces.Discrete):
        return as_arms(space, bins)
    if isinstance(space, FamilySpaceLike):
        return FamilyArms(space, [as_pool(one) for one in space.families.values()])
    cube = as_cube(space)
    sizes = [size for size in cube.sizes if size is not None]
    if len(sizes) == cube.dimension and math.prod(sizes) <= DEFAULT_CELLS:
        return Grid(cube, sizes, DEFAULT_CELLS)
    return Grid(cube)


def discretise(space: Any, bins: int | Sequence[int] | None = None) -> Grid:
    """Cut a ParamSpace, Box or Discrete into a grid of arms: ``make("sec", discretise(space, bins=(4, 2)))``."""
    return Grid(as_cube(space), bins)
