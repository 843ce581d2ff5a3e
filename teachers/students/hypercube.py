"""The toy student of ALP-GMM's authors, extended by noise, irrelevant axes, regions that are never learned, forgetting,
axes of different grain and students of different speed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import gymnasium as gym
import numpy as np

from ...checks import Declared, check_count, check_share, keyword_declared, option
from ...errors import InputError

UNLOCK = 75  # competence at which a cube unlocks its successors, and above which it counts as mastered
CAP = 100
LOCKED, LEARNABLE, MASTERED, UNLEARNABLE = range(4)

Boxes = Sequence[tuple[Sequence[float], Sequence[float]]]


@keyword_declared
class HypercubeStudent(Declared):
    """The toy student of ALP-GMM's authors (Portelas et al. 2019, arXiv 1910.07224, section 5.1 and released code).

    The unit cube is cut into ``cubes ** dimensions`` cubes. A task in an unlocked cube raises the cube's competence by
    1 (``gain``), up to 100. The start is unlocked. Another cube is unlocked once the competence of a neighbour nearer
    to the start reaches 75, that is, of another cube whose index along every axis is equal or one nearer to the start.
    The return is the competence after the task, as a share of 100. ``irrelevant`` further axes have no effect.

    Unlike in the released code, a coordinate of exactly 1 always lies in the last cube.

    Attributes:
        shape: number of cubes along each axis.
        reachable: number of cubes that can be learned at all.
        space: the tasks, a Box.
        practised: number of episodes so far.
        visits: number of episodes each in cubes that were locked, learnable, mastered and unlearnable at the time.
    """

    dimensions: int = option(default=2, low=1, kw_only=False, says="number of relevant axes.")
    cubes: int | Sequence[int] = option(
        default=10, kw_only=False, says="cubes along each axis, one number for all axes or one per axis."
    )
    irrelevant: int = option(default=0, kw_only=False, says="number of further axes without effect.")
    gain: int = option(
        default=1, low=1, says="points of competence per task: with 5, a cube takes 15 tasks instead of 75."
    )
    noise: Literal["none", "gaussian", "bernoulli"] = option(
        default="none",
        says='noise of the return: "gaussian" adds N(0, scale^2) and clips to [0, 1]; "bernoulli" is 1 with the '
        "competence as probability, else 0.",
    )
    scale: float = option(default=0.1, low=0, says="standard deviation of the Gaussian noise.")
    start: Sequence[int] | None = option(
        default=None,
        says="index of the cube that is unlocked at first; None is the origin (other starts: Portelas et al. 2020, "
        "arXiv 2011.08463).",
    )
    unlearnable: float | Boxes = option(
        default=0.0,
        says="cubes that are never learned: a share of all cubes, drawn by the seed; or boxes (low corner, high "
        "corner) in the unit cube of the relevant axes, which cover the cubes whose centres they contain. The "
        "start is always learnable.",
    )
    unlearnable_return: Literal["zero", "coin"] = option(
        default="zero", says='return of unlearnable cubes: "zero", or "coin" for 0 or 1 with probability 1/2.'
    )
    forget_at: int | None = option(
        default=None, says="number of episodes after which all competence is lost once; None disables forgetting."
    )
    seed: int = option(default=0, says="seed of the noise and of the random unlearnable cubes.")

    def setup(self) -> None:
        self.shape = shape = (self.cubes,) * self.dimensions if isinstance(self.cubes, int) else tuple(self.cubes)
        for along in shape:
            check_count("cubes", along, low=1)
        if len(shape) != self.dimensions:
            raise InputError(f"cubes={self.cubes!r} must be one number, or one for each of {self.dimensions} axes.")
        start = (0,) * self.dimensions if self.start is None else tuple(self.start)
        if len(start) != len(shape) or not all(isinstance(i, int) and 0 <= i < n for i, n in zip(start, shape)):
            raise InputError(
                f"start={start!r} must be {self.dimensions} whole numbers below {', '.join(map(str, shape))}."
            )
        # float64, so that a teacher's point is the student's point to the last bit
        self.space = gym.spaces.Box(0.0, 1.0, (self.dimensions + self.irrelevant,), dtype=np.float64)
        self._rng = np.random.default_rng(self.seed)
        self._grain = np.array(shape)
        self._strides = np.append(self._grain[:0:-1].cumprod()[::-1], 1)
        self._start = int(self._strides @ start)
        self._dead = self._unlearnable(self.unlearnable)
        self._successors = _successors(shape, start, self._strides.tolist())
        self._goals = self._reachable()
        self.practised = 0
        self.visits = [0, 0, 0, 0]
        self.wipe()

    def wipe(self) -> None:
        """Reset all competence and unlocked cubes; the random generator and the counts of episodes are unchanged."""
        self._competence = [0] * len(self._dead)
        self._unlocked = [False] * len(self._dead)
        self._unlocked[self._start] = True

    def episode(self, task: np.ndarray) -> float:
        """Practise ``task`` (float[dimensions + irrelevant] in [0, 1]) once. Return the return, in [0, 1]."""
        return float(self.episodes(np.asarray(task)[None])[0])

    def episodes(self, tasks: np.ndarray) -> np.ndarray:
        """Practise ``tasks`` (float[k, dimensions + irrelevant]) one after the other, as by `episode`. Return
        float64[k], the returns."""
        return np.array([self._practise(cube) for cube in self._indices(tasks).tolist()], dtype=np.float64)

    def _practise(self, cube: int) -> float:
        if self.practised == self.forget_at:
            self.wipe()
        self.practised += 1
        level = self._competence[cube]
        if self._dead[cube]:
            self.visits[UNLEARNABLE] += 1
            return float(self._rng.random() < 0.5) if self.unlearnable_return == "coin" else 0.0
        if not self._unlocked[cube]:
            self.visits[LOCKED] += 1
        else:
            self.visits[MASTERED if level > UNLOCK else LEARNABLE] += 1
            if level < CAP:
                before, level = level, min(level + self.gain, CAP)
                self._competence[cube] = level
                if before < UNLOCK <= level:
                    for successor in self._successors[cube]:
                        self._unlocked[successor] = True
        if self.noise == "none":
            return level / CAP
        if self.noise == "gaussian":
            return min(max(level / CAP + self.scale * float(self._rng.standard_normal()), 0.0), 1.0)
        return float(self._rng.random() < level / CAP)

    def cube(self, task: np.ndarray) -> tuple[int, ...]:
        """Return the index of the cube that contains ``task``."""
        return tuple(int(i) for i in np.unravel_index(self._indices(np.asarray(task)[None])[0], self.shape))

    def mastered(self) -> float:
        """Return the share of mastered cubes (competence above 75) among the cubes that can ever be learned."""
        return sum(self._competence[cube] > UNLOCK for cube in self._goals) / len(self._goals)

    @property
    def reachable(self) -> int:
        return len(self._goals)

    @property
    def competence(self) -> np.ndarray:
        """int64[cubes, ...], a copy of the competence of every cube."""
        return np.array(self._competence).reshape(self.shape)

    @property
    def learnable(self) -> np.ndarray:
        """bool[cubes, ...], True for unlocked cubes that are not unlearnable, mastered ones included."""
        return (np.array(self._unlocked) & ~np.array(self._dead)).reshape(self.shape)

    @property
    def frontier(self) -> np.ndarray:
        """int64[m, dimensions], indices of the cubes that can be learned now and are not mastered yet."""
        return np.argwhere(self.learnable & (self.competence <= UNLOCK))

    def _indices(self, tasks: np.ndarray) -> np.ndarray:
        along = np.asarray(tasks, dtype=np.float64)[:, : self.dimensions] * self._grain
        return np.minimum(along.astype(np.int64), self._grain - 1) @ self._strides

    def _unlearnable(self, regions: float | Boxes) -> list[bool]:
        dead = np.zeros(self._grain.prod(), dtype=bool)
        if isinstance(regions, int | float):
            count = round(check_share("unlearnable", regions) * len(dead))
            others = np.delete(np.arange(len(dead)), self._start)
            dead[self._rng.permutation(others)[:count]] = True
        else:
            centres = (np.indices(self.shape).reshape(self.dimensions, -1).T + 0.5) / self._grain
            for low, high in regions:
                if len(low) != self.dimensions or len(high) != self.dimensions:
                    raise InputError(f"unlearnable box ({low}, {high}) must have corners of {self.dimensions} axes.")
                dead |= ((centres >= low) & (centres <= high)).all(1)
        dead[self._start] = False
        return dead.tolist()

    def _reachable(self) -> list[int]:
        """Return the flat indices of the cubes that a student who practises everything learns in the end."""
        found, waiting = {self._start}, [self._start]
        while waiting:
            for successor in self._successors[waiting.pop()]:
                if not self._dead[successor] and successor not in found:
                    found.add(successor)
                    waiting.append(successor)
        return sorted(found)


def _successors(shape: tuple[int, ...], start: Sequence[int], strides: list[int]) -> list[list[int]]:
    """List for every cube (flat index) the cubes that it unlocks: equal or one further from the start on each axis."""
    # Per axis and index: the same index, and the indices one further from the start, which lie on both sides of it.
    steps = [
        [[w * i, *(w * j for j in (i - 1, i + 1) if 0 <= j < n and abs(j - s) > abs(i - s))] for i in range(n)]
        for n, s, w in zip(shape, start, strides)
    ]
    return [
        [sum(step) for step in itertools.product(*(along[i] for along, i in zip(steps, index)))][1:]
        for index in np.ndindex(shape)
    ]
