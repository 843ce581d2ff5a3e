"""Random network distillation and random distribution distillation: rarely seen observations are badly predicted."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import check_number
from ....rewards import Step, StepReward
from .bonus import BONUSES
from .learned_bonus import LearnedBonus, layers


class NetworkDistillation(LearnedBonus):
    """Mean squared error of a network that learns the output of a fixed random network at the next observation.

    Args:
        weight, options: see `LearnedBonus`.
    """

    name = "rnd"
    paper = "RND, arXiv 1810.12894"

    def build(self, actions: gym.Space[Any]) -> None:
        self.target = layers((self.size, self.hidden, self.size), self.generator).requires_grad_(False)
        self.predictor = layers((self.size, self.hidden, self.hidden, self.size), self.generator)
        self.optimiser = self.torch.optim.Adam(self.predictor.parameters(), lr=self.rate)

    def inputs(self, step: Step, observation: Any) -> np.ndarray:
        return self._bound()(observation)

    def error(self, rows: Any) -> Any:
        return (self.predictor(rows) - self.target(rows)).square().mean(-1)

    def draw(self, rows: Any) -> Any:
        """Draw the predictor's targets at rows."""
        return self.target(rows)

    def learn(self, rows: Any) -> None:
        self.optimiser.zero_grad()
        (self.predictor(rows) - self.draw(rows)).square().mean().backward()
        self.optimiser.step()

    @property
    def modules(self) -> dict[str, Any]:
        return {"predictor": self.predictor, "optimiser": self.optimiser}


class DistributionDistillation(NetworkDistillation):
    """Mean squared distance between a network's prediction and the mean of a random distribution, from which each visit
    gives a new sample.

    A table that averages n samples has the error ``deviation**2 / n`` (see the reward "rdd"). A network adds an
    optimisation error: it cannot average over more samples than about 1 / rate gradient steps contain.

    Args:
        deviation: deviation of the samples around the mean, which a fixed random network computes.
        weight, options: see `LearnedBonus`.
    """

    name = "rdd"
    paper = "RDD, arXiv 2505.11044"

    def __init__(self, weight: float, deviation: float = 1.0, **options: Any):
        super().__init__(weight, **options)
        self.deviation = check_number("deviation", deviation, low=0.0)

    def draw(self, rows: Any) -> Any:
        mean = self.target(rows)
        return mean + self.deviation * self.torch.randn(mean.shape, generator=self.generator)


@BONUSES.register("rnd")
def rnd(
    discount: float,
    weight: float = 0.01,
    rate: float = 1e-3,
    settle: int = 500,
    batch: int = 32,
    normalise: bool = True,
    seed: int = 0,
) -> tuple[StepReward, str]:
    """Error of a network that learns the output of a fixed random one (RND, arXiv 1810.12894)."""
    del discount
    reward = NetworkDistillation(weight, rate=rate, settle=settle, batch=batch, normalise=normalise, seed=seed)
    return reward, "changes the optimal policies until its network has learned what is visited"


@BONUSES.register("rdd")
def rdd(
    discount: float,
    weight: float = 0.01,
    deviation: float = 1.0,
    rate: float = 1e-3,
    settle: int = 500,
    batch: int = 32,
    normalise: bool = True,
    seed: int = 0,
) -> tuple[StepReward, str]:
    """Error of a network that learns the mean of a random distribution from its draws (RDD, arXiv 2505.11044)."""
    del discount
    options = {"rate": rate, "settle": settle, "batch": batch, "normalise": normalise, "seed": seed}
    reward = DistributionDistillation(weight, deviation, **options)
    return reward, "changes the optimal policies until its network has learned what is visited"
