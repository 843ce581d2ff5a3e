"""Random projection of observations of any space to short vectors of about unit scale.

The networks of bonuses on these vectors stay small for any observation space. Categorical numbers, such as in
MiniGrid's view, are projected as one-hot vectors. Only the statistics of the scale are saved; the projection follows
from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..observations import CODES, ObservationCode

_BOUND = 5.0
"""Number of standard deviations to which features are clipped, as in RND (arXiv 1810.12894, section 2.4)."""


class RandomFeatures:
    """Random projection of observations to float32[size].

    Mean and standard deviation of each feature are computed over the first ``settle`` observations and then fixed. If
    they kept changing, as in RND's code, the targets of the networks would change, too.

    Args:
        space: observation space.
        size: length of the vectors.
        settle: number of observations that determine the scale.
        rng: generator of the projection.

    Raises:
        InputError: `ObservationCode` does not support the space.
    """

    def __init__(self, space: gym.Space[Any], size: int, settle: int, rng: np.random.Generator):
        self.size, self.settle = size, settle
        self._code = ObservationCode(space)
        self._tables = {
            name: rng.standard_normal(
                (int(np.prod(shape)), CODES, size) if name.startswith("cells") else (int(np.prod(shape)), size)
            ).astype(np.float32)
            for name, shape in self._code.shapes.items()
        }
        self._count = 0
        self._mean, self._squares = np.zeros(size), np.zeros(size)

    @property
    def settled(self) -> bool:
        return self._count >= self.settle

    def project(self, observation: Any) -> np.ndarray:
        """Return the unscaled features, float32[size]."""
        total = np.zeros(self.size, dtype=np.float32)
        for name, array in self._code.encode([observation]).items():
            table, values = self._tables[name], array.ravel()
            if name.startswith("cells"):
                total += table[np.arange(len(values)), np.minimum(values, CODES - 1)].sum(0)
            else:
                total += (values / 255.0 if name.startswith("pixels") else values).astype(np.float32) @ table
        return total

    def observe(self, observation: Any) -> None:
        """Add an observation to the statistics of the scale; to be called until `settled` is True."""
        found = self.project(observation).astype(np.float64)
        self._count += 1
        before = found - self._mean
        self._mean += before / self._count
        self._squares += before * (found - self._mean)

    def __call__(self, observation: Any) -> np.ndarray:
        deviation = np.sqrt(self._squares / max(self._count, 1))
        # Avoids a division by 0 for constant features; the mean deviation is a bound, as all features have one unit.
        scale = np.maximum(deviation, max(float(deviation.mean()), 1e-6))
        scaled = (self.project(observation) - self._mean) / scale
        return np.clip(scaled, -_BOUND, _BOUND).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self._count, "mean": self._mean.tolist(), "squares": self._squares.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._count = int(state["count"])
        self._mean, self._squares = np.array(state["mean"]), np.array(state["squares"])
