"""Base of bonuses that are errors of networks, which learn from the steps that they reward.

Steps are collected into batches for gradient steps. Networks, optimiser, scales, random generator and collected steps
are saved, so that a resumed run gives the same bytes as an uninterrupted one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import declared, option
from ....errors import InputError, needs_extra
from ....rewards import Episode, Step, StepReward
from ....rewards.models.saved_tensors import pack_tensors, unpack_tensors
from .random_features import RandomFeatures


@declared
class LearnedBonus(StepReward):
    """Bonus of ``weight`` times an error of networks, by default divided by the error's root mean square so far.

    A subclass defines `build`, `inputs`, `error`, `learn` and `modules`. `bind` must be called before the first step;
    `Practice` does. The bonus of the first ``settle`` steps is 0; they determine the scale of the features.

    Raises:
        InputError: an option out of range.
        MissingExtra: torch is not installed.
    """

    weight: float = option(default=0.01, low=0, says="factor of the bonus.")
    rate: float = option(default=1e-3, above=0, says="learning rate of Adam.")
    hidden: int = option(default=64, low=1, says="units per layer.")
    size: int = option(default=64, low=1, says="number of features of an observation.")
    settle: int = option(default=500, low=1, says="steps that determine the scale of the features.")
    batch: int = option(default=32, low=2, says="number of steps per gradient step.")
    normalise: bool = option(
        default=True,
        says="divide the error by its root mean square so far. (RND's code divides by the standard deviation of the "
        "discounted returns of bonuses, for which the steps of each environment must be separate.)",
    )
    seed: int = option(default=0, says="seed of weights and random draws.")

    def setup(self) -> None:
        with needs_extra(f"the bonus {self.name}", "train"):
            import torch
        self.torch = torch
        self.features: RandomFeatures | None = None
        self._waiting: list[np.ndarray] = []
        self._errors, self._squares = 0, 0.0

    def bind(self, observations: gym.Space[Any], actions: gym.Space[Any]) -> None:
        """Make the networks for an environment's spaces. Raises InputError if a space is not supported."""
        self.features = RandomFeatures(observations, self.size, self.settle, np.random.default_rng([self.seed, 0]))
        self.generator = self.torch.Generator().manual_seed(self.seed)
        self.build(actions)

    # Of the subclass --------------------------------------------------------------------------------------------------

    def build(self, actions: gym.Space[Any]) -> None:
        """Make the networks and their optimisers; the weights must be drawn from ``self.generator``."""
        raise NotImplementedError

    def inputs(self, step: Step, observation: Any) -> np.ndarray:
        """Return the networks' input for a step as a float32 vector; ``observation`` is the next observation."""
        raise NotImplementedError

    def error(self, rows: Any) -> Any:
        """Return the errors [n] of the networks for rows [n, ...] of `inputs`."""
        raise NotImplementedError

    def learn(self, rows: Any) -> None:
        """Take a gradient step on a batch of rows of `inputs`."""
        raise NotImplementedError

    @property
    def modules(self) -> dict[str, Any]:
        """Modules whose ``state_dict`` is saved, by name."""
        raise NotImplementedError

    # Steps ------------------------------------------------------------------------------------------------------------

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float:
        features = self._bound()
        if not features.settled:
            features.observe(observation)
            return 0.0
        row = self.inputs(step, observation)
        with self.torch.no_grad():
            error = float(self.error(self.torch.from_numpy(row)[None])[0])
        self._waiting.append(row)
        if len(self._waiting) == self.batch:
            self.learn(self.torch.from_numpy(np.stack(self._waiting)))
            self._waiting = []
        if not self.normalise:
            return self.weight * error
        self._errors, self._squares = self._errors + 1, self._squares + error**2
        scale = (self._squares / self._errors) ** 0.5
        return self.weight * error / scale if scale else 0.0

    def values(self, episode: Episode) -> list[float] | None:
        # The observation after the last step is not recorded.
        following = [step.observation for step in episode.steps[1:]]
        if not episode.steps:
            return []
        following.append(episode.steps[-1].observation)
        return [self.step_reward_now(step, after, False) for step, after in zip(episode.steps, following, strict=True)]

    def _bound(self) -> RandomFeatures:
        if self.features is None:
            raise InputError(f"the bonus {self.name!r} has no spaces yet; call bind(observations, actions) first.")
        return self.features

    # Saving -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        torch = self.torch
        saved = {name: module.state_dict() for name, module in self.modules.items()}
        waiting = torch.from_numpy(np.stack(self._waiting)) if self._waiting else None
        tensors = {**saved, "generator": self.generator.get_state(), "waiting": waiting}
        return {
            "features": self._bound().state_dict(),
            "errors": self._errors,
            "squares": self._squares,
            "tensors": pack_tensors(tensors),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        wanted = {"features", "errors", "squares", "tensors"}
        if set(state) != wanted:
            raise InputError(f"the saved state of {self.name!r} holds {sorted(wanted)}, not {sorted(state)}.")
        self._bound().load_state_dict(state["features"])
        self._errors, self._squares = int(state["errors"]), float(state["squares"])
        saved = unpack_tensors(state["tensors"])
        for name, module in self.modules.items():
            module.load_state_dict(saved[name])
        self.generator.set_state(saved["generator"])
        self._waiting = [] if saved["waiting"] is None else list(saved["waiting"].numpy())


def layers(sizes: tuple[int, ...], generator: Any) -> Any:
    """Make linear layers of the given sizes with ReLU between them, random orthogonal weights, and biases 0."""
    from torch import nn

    found: list[Any] = []
    for wide, narrow in itertools.pairwise(sizes):
        linear = nn.Linear(wide, narrow)
        nn.init.orthogonal_(linear.weight, 2**0.5, generator=generator)
        nn.init.zeros_(linear.bias)
        found += [linear, nn.ReLU()]
    return nn.Sequential(*found[:-1])
