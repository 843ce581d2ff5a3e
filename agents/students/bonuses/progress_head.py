"""Bonus for predicted progress: a network learns to predict the finished share of the task from observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import option
from ....errors import InputError, needs_extra
from ....rewards.models.saved_tensors import pack_tensors, unpack_tensors
from .bonus import register
from .learned_bonus import layers
from .random_features import RandomFeatures
from .slot_bonus import StateBonus


@register("progress-head")
class ProgressHeadBonus(StateBonus):
    """Progress that a network predicts from observations and learns from the environment's progress (after SC-VLA).
    form="plain" adds the prediction itself instead of potential differences (see `StateBonus`).

    The network is trained on the squared error to the environment's ``info["extras"]["completion"]``, one gradient step
    for every ``batch`` steps of all environments together. During the first ``settle`` observations, V is 0. SC-VLA
    publishes no formula, and its second head, for displacements of a robot's arm, has no counterpart in a gridworld.

    Raises:
        InputError: an option out of range.
        MissingExtra: torch is not installed.
    """

    paper = "after SC-VLA's progress head (no formula is published)"
    needs = frozenset({"completion"})
    weight: float = 0.5
    rate: float = option(default=1e-3, above=0, says="learning rate of Adam.")
    hidden: int = option(default=64, low=1, says="units per layer.")
    size: int = option(default=64, low=1, says="number of features of an observation.")
    settle: int = option(default=500, low=1, says="observations that determine the scale of the features.")
    batch: int = option(default=32, low=1, says="number of observations per gradient step.")
    seed: int = option(default=0, says="seed of features and weights.")

    def setup(self) -> None:
        super().setup()
        with needs_extra(f"the bonus {self.name}", "train"):
            import torch
        self.torch = torch
        self.features: RandomFeatures | None = None
        self._waiting: list[tuple[np.ndarray, float]] = []

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        space = envs[0].observation_space
        self.features = RandomFeatures(space, self.size, self.settle, np.random.default_rng([self.seed, 0]))
        generator = self.torch.Generator().manual_seed(self.seed)
        self.head = layers((self.size, self.hidden, self.hidden, 1), generator)
        self.optimiser = self.torch.optim.Adam(self.head.parameters(), lr=self.rate)

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        if self.features is None:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(envs) first.")
        if not self.features.settled:
            self.features.observe(observation)
            return 0.0
        row = self.features(observation)
        completion = extras["completion"]
        self._waiting.append((row, float(completion[-1]) if len(completion) else 0.0))
        if len(self._waiting) == self.batch:
            rows, progress = zip(*self._waiting, strict=True)
            self._waiting = []
            predicted = self.head(self.torch.from_numpy(np.stack(rows)))[:, 0]
            self.optimiser.zero_grad()
            (predicted - self.torch.tensor(progress)).square().mean().backward()
            self.optimiser.step()
        with self.torch.no_grad():
            return float(self.head(self.torch.from_numpy(row)))

    def shared(self) -> dict[str, Any]:
        assert self.features is not None
        rows = [self.torch.from_numpy(row) for row, _ in self._waiting]
        state = {"head": self.head.state_dict(), "adam": self.optimiser.state_dict(), "rows": rows}
        return {
            "features": self.features.state_dict(),
            "progress": [progress for _, progress in self._waiting],
            "tensors": pack_tensors(state),
        }

    def load_shared(self, state: Mapping[str, Any]) -> None:
        assert self.features is not None
        self.features.load_state_dict(state["features"])
        saved = unpack_tensors(state["tensors"])
        self.head.load_state_dict(saved["head"])
        self.optimiser.load_state_dict(saved["adam"])
        rows = [row.numpy() for row in saved["rows"]]
        self._waiting = list(zip(rows, map(float, state["progress"]), strict=True))
