"""Tree of regions of RIAC: boxes of the unit cube that store their latest tasks, and their learning progress.

Each new task is added to all regions on the path from the root to its leaf. All data are arrays over regions, and
progress is computed on access, for all changed regions at once. A region that has been split stays full: each new task
replaces its oldest task.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..sampling import pick, proportional


class RegionTree:
    """A binary tree of boxes that tile [0, 1]^dimension; leaves are split on request.

    Args:
        dimension: dimension of a task.
        size: tasks that a leaf holds before it must be split; every region stores its last ``size + 1`` tasks.

    Attributes:
        n: number of regions, parents included; region 0 is the whole cube.
        low, high: float64[n, d], the boxes.
        progress: float64[n], absolute difference between the mean returns of the older and the newer half of the last
            ``size`` tasks; 0 for fewer than three.
        worst: float64[n, d], the task with the lowest return.
        axis: split axis of each region, -1 for a leaf. Points with x[axis] <= threshold belong to the first child, all
            others to the second.
    """

    def __init__(self, dimension: int, size: int):
        self.size = size
        self.n = 1
        self.axis, self.threshold, self.children = [-1], [0.0], [(0, 0)]
        self._low, self._high = np.zeros((1, dimension)), np.ones((1, dimension))
        self._added = [0]  # number of tasks ever added to a region; task i is stored in row i modulo (size + 1)
        self._tasks, self._returns = np.zeros((1, size + 1, dimension)), np.zeros((1, size + 1))
        self._progress, self._worst = np.zeros(1), np.full((1, dimension), 0.5)
        self._changed: set[int] = set()  # regions whose progress and worst are out of date

    @property
    def low(self) -> np.ndarray:
        return self._low[: self.n]

    @property
    def high(self) -> np.ndarray:
        return self._high[: self.n]

    @property
    def progress(self) -> np.ndarray:
        self._refresh()
        return self._progress[: self.n]

    @property
    def worst(self) -> np.ndarray:
        self._refresh()
        return self._worst[: self.n]

    @property
    def leaves(self) -> int:
        return self.axis.count(-1)

    @property
    def empty(self) -> bool:
        """True before the first task."""
        return not self._added[0]

    def tasks(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the stored tasks [m, d] and returns [m] of a region, oldest first."""
        added, block = self._added[region], self.size + 1
        if added <= block:
            return self._tasks[region, :added], self._returns[region, :added]
        places = np.arange(added, added + block) % block
        return self._tasks[region, places], self._returns[region, places]

    def path(self, x: list[float]) -> list[int]:
        """Return the regions that contain a point, from the root to the leaf."""
        axes, path, region = self.axis, [0], 0
        while (axis := axes[region]) >= 0:
            region = self.children[region][x[axis] > self.threshold[region]]
            path.append(region)
        return path

    def add(self, x: list[float], ret: float) -> int | None:
        """Add a task to all its regions. Return its leaf if the leaf now holds more than ``size`` tasks, else None."""
        path, added, block = self.path(x), self._added, self.size + 1
        at = np.array(path), np.array([added[region] % block for region in path])
        self._tasks[at], self._returns[at] = x, ret
        for region in path:
            added[region] += 1
        self._changed.update(path)
        return path[-1] if added[path[-1]] == block else None

    def drop(self, leaf: int, count: int) -> None:
        """Forget the oldest ``count`` tasks of a leaf."""
        tasks, returns = self.tasks(leaf)
        self._fill(leaf, tasks[count:].copy(), returns[count:].copy())

    def split(self, leaf: int, axis: int, threshold: float) -> None:
        """Cut a leaf in two; each stored task goes to the part in which it lies."""
        tasks, returns = self.tasks(leaf)
        left = tasks[:, axis] <= threshold
        parts = [(tasks[mask], returns[mask]) for mask in (left, ~left)]
        self.axis[leaf], self.threshold[leaf], self.children[leaf] = axis, threshold, (self.n, self.n + 1)
        for side, (own, rewards) in enumerate(parts):
            child = self._append(self._low[leaf], self._high[leaf])
            (self._low if side else self._high)[child, axis] = threshold
            self._fill(child, own, rewards)

    def save(self) -> list[dict[str, Any]]:
        saved = []
        for region in range(self.n):
            tasks, returns = self.tasks(region)
            cut = [self.axis[region], self.threshold[region], *self.children[region]]
            box = {"low": self._low[region].tolist(), "high": self._high[region].tolist()}
            saved.append({**box, "cut": cut, "tasks": tasks.tolist(), "returns": returns.tolist()})
        return saved

    @classmethod
    def restore(cls, saved: list[dict[str, Any]], dimension: int, size: int) -> RegionTree:
        tree = cls(dimension, size)
        for region, own in enumerate(saved):
            if region:
                tree._append(np.array(own["low"], dtype=np.float64), np.array(own["high"], dtype=np.float64))
            axis, threshold, left, right = own["cut"]
            if not -1 <= axis < dimension or not 0 <= min(left, right) <= max(left, right) < len(saved):
                raise ValueError(f"region {region} is cut along axis {axis} into {left} and {right}")
            tree.axis[region], tree.threshold[region] = int(axis), float(threshold)
            tree.children[region] = (int(left), int(right))
            tasks = np.array(own["tasks"], dtype=np.float64).reshape(-1, dimension)
            tree._fill(region, tasks, np.array(own["returns"], dtype=np.float64))
        return tree

    def _append(self, low: np.ndarray, high: np.ndarray) -> int:
        if self.n == len(self._low):
            for name in ("_low", "_high", "_tasks", "_returns", "_progress", "_worst"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        self._low[self.n], self._high[self.n] = low, high
        self._added.append(0)
        self.axis.append(-1)
        self.threshold.append(0.0)
        self.children.append((0, 0))
        self.n += 1
        return self.n - 1

    def _fill(self, region: int, tasks: np.ndarray, returns: np.ndarray) -> None:
        count = len(returns)
        self._tasks[region, :count], self._returns[region, :count] = tasks, returns
        self._added[region] = count
        if count:
            self._changed.add(region)

    def _refresh(self) -> None:
        full = [region for region in self._changed if self._added[region] > self.size]
        for region in self._changed.difference(full):
            tasks, returns = self.tasks(region)
            self._progress[region], self._worst[region] = half_difference(returns), tasks[returns.argmin()]
        self._changed.clear()
        if not full:
            return
        regions, block, half = np.array(full), self.size + 1, self.size // 2
        oldest = np.array([self._added[region] % block for region in full])
        places = oldest[:, None] + np.arange(block)
        places -= block * (places >= block)
        returns = self._returns[regions[:, None], places]
        self._worst[regions] = self._tasks[regions, places[np.arange(len(full)), returns.argmin(1)]]
        # Sums along rows are the same to the last bit whatever other rows there are; a matrix product's are not.
        newer, older = returns[:, block - half :].sum(1), returns[:, 1 : block - half].sum(1)
        self._progress[regions] = np.abs(older / (self.size - half) - newer / half)


def best_cut(
    tree: RegionTree,
    leaf: int,
    rng: np.random.Generator,
    *,
    attempts: int,
    fewest: int,
    min_side: float,
    by_population: bool,
) -> tuple[int, float] | None:
    """Draw random cuts of a leaf and return the axis and threshold of the best one.

    Args:
        tree, leaf: the leaf to cut.
        rng: draws an axis and a uniform threshold along it, among thresholds with enough tasks on both sides.
        attempts: number of cuts drawn; cuts with a side shorter than ``min_side`` are discarded.
        fewest: least number of tasks on either side.
        min_side: least length of a side.
        by_population: maximise n1 n2 |ALP1 - ALP2|, with n tasks and progress ALP on either side; else |ALP1 - ALP2|.

    Returns:
        (axis, threshold), or None if no cut is allowed.
    """
    tasks, returns = tree.tasks(leaf)
    low, high = tree.low[leaf], tree.high[leaf]
    if not 1 <= fewest <= len(returns) // 2:
        return None
    ordered = np.sort(tasks, axis=0)
    # Thresholds in [first, last) leave enough tasks on both sides. Drawing the axis by its share of such thresholds is
    # equivalent to rejection sampling, but also ends if all tasks are equal.
    first, last = ordered[fewest - 1], ordered[len(returns) - fewest]
    possible = (last - first) / (high - low)
    if not possible.sum() > 0:
        return None
    axes = pick(proportional(possible), attempts, rng)
    thresholds = first[axes] + rng.random(attempts) * (last - first)[axes]
    allowed = np.minimum(thresholds - low[axes], high[axes] - thresholds) >= min_side
    axes, thresholds = axes[allowed], thresholds[allowed]
    if not len(axes):
        return None
    left = (tasks[:, axes] <= thresholds).T
    score = np.abs(half_differences(left, returns) - half_differences(~left, returns))
    if by_population:
        score = score * left.sum(1) * (~left).sum(1)
    best = int(score.argmax())
    return int(axes[best]), float(thresholds[best])


def half_difference(returns: np.ndarray) -> float:
    """Compute |mean of the older half - mean of the newer half| of ``returns``, oldest first; 0 for fewer than three.
    The middle one of an odd number belongs to the older half."""
    n = len(returns)
    if n < 3:
        return 0.0
    half = n // 2
    newer = float(np.add.reduce(returns[n - half :]))
    older = float(np.add.reduce(returns[: n - half]))
    return abs(older / (n - half) - newer / half)


def half_differences(masks: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Return float64[m], the `half_difference` of the returns that each of ``masks`` [m, n] selects."""
    rank = np.cumsum(masks, axis=1)
    count = rank[:, -1]
    half = count // 2
    newer = masks & (rank > (count - half)[:, None])
    older = masks ^ newer
    difference = older @ returns / np.maximum(count - half, 1) - newer @ returns / np.maximum(half, 1)
    return np.where(count < 3, 0.0, np.abs(difference))
