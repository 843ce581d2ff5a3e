"""Simulated students, whose dynamics are known and cost nothing, to test and compare teachers on."""

from __future__ import annotations

from typing import Literal

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ..protocol import finite, whole_number

NOISES = ("none", "gaussian", "bernoulli")
UNLOCK = 75  # visits after which a cube lets its successors be learned, and beyond which it counts as mastered
CAP = 100


class HypercubeStudent:
    """The toy student of ALP-GMM's authors (Portelas et al. 2019, arXiv 1910.07224, section 5.1 and released code).

    The unit cube is cut into ``cubes ** dimensions`` cubes. A task in a cube raises its competence by 1, up to 100, if
    the cube is the origin's, or if any other cube among those whose index is the same or one lower along every axis has
    reached 75. The return is the competence, as a share of 100, after that. Further axes are irrelevant.

    Unlike the released code, cubes are found by arithmetic, so that a coordinate of exactly 1 lies in the last one
    whatever their number.

    Args:
        dimensions: axes that matter.
        cubes: cubes along each.
        irrelevant: further axes without effect.
        noise: "none"; "gaussian", which adds N(0, scale^2) and clips to [0, 1]; "bernoulli", 1 with that probability,
            else 0.
        scale: standard deviation of the Gaussian noise.
        seed: of the noise.

    Raises:
        InputError: an argument out of range.
    """

    def __init__(
        self,
        dimensions: int = 2,
        cubes: int = 10,
        irrelevant: int = 0,
        *,
        noise: Literal["none", "gaussian", "bernoulli"] = "none",
        scale: float = 0.1,
        seed: int = 0,
    ):
        whole_number("dimensions", dimensions, low=1)
        whole_number("cubes", cubes, low=1)
        whole_number("irrelevant", irrelevant, low=0)
        whole_number("seed", seed, low=0)
        if noise not in NOISES:
            raise InputError(f"noise={noise!r} must be one of {', '.join(map(repr, NOISES))}.")
        if finite([scale], "scale")[0] < 0:
            raise InputError(f"scale={scale:g} must not be negative.")
        self.dimensions, self.cubes, self.noise, self.scale = dimensions, cubes, noise, float(scale)
        self.competence = np.zeros((cubes,) * dimensions, dtype=np.int64)
        self._rng = np.random.default_rng(seed)
        # float64, so that a teacher's point is the student's point to the last bit
        self.space = gym.spaces.Box(0.0, 1.0, (dimensions + irrelevant,), dtype=np.float64)

    def episode(self, task: np.ndarray) -> float:
        """Practise ``task`` (float[dimensions + irrelevant] in [0, 1]) once; the return in [0, 1]."""
        cube = self.cube(task)
        if self._learnable(cube):
            self.competence[cube] = min(self.competence[cube] + 1, CAP)
        level = float(self.competence[cube]) / CAP
        if self.noise == "gaussian":
            return min(max(level + self.scale * float(self._rng.standard_normal()), 0.0), 1.0)
        if self.noise == "bernoulli":
            return float(self._rng.random() < level)
        return level

    def cube(self, task: np.ndarray) -> tuple[int, ...]:
        """Index of the cube in which ``task`` lies."""
        last = self.cubes - 1
        return tuple(min(int(x * self.cubes), last) for x in task[: self.dimensions].tolist())

    def mastered(self) -> float:
        """Share of cubes with a competence above 75."""
        return float((self.competence > UNLOCK).mean())

    def _learnable(self, cube: tuple[int, ...]) -> bool:
        if not any(cube):
            return True
        block = self.competence[tuple(slice(max(i - 1, 0), i + 1) for i in cube)]
        # The cube itself is in the block too; it would not have reached 75 had it not been learnable before.
        return bool((block >= UNLOCK).any())
