"""Bonuses by random network distillation and random distribution distillation: large for rare observations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import option
from ....rewards import Step
from .bonus import register
from .learned_bonus import LearnedBonus, layers


@register("rnd")
class NetworkDistillation(LearnedBonus):
    """Error of a network that learns the output of a fixed random one (RND, arXiv 1810.12894). The bonus is the mean
    squared error at the next observation."""

    paper = "RND, arXiv 1810.12894"
    optimum = "changes the optimal policies until its network has learned what is visited"

    def build(self, actions: gym.Space[Any]) -> None:
        self.target = layers((self.size, self.hidden, self.size), self.generator).requires_grad_(False)
        self.predictor = layers((self.size, self.hidden, self.hidden, self.size), self.generator)
        self.optimiser = self.torch.optim.Adam(self.predictor.parameters(), lr=self.rate)

    def inputs(self, step: Step, observation: Any) -> np.ndarray:
        return self._bound()(observation)

    def error(self, rows: Any) -> Any:
        return (self.predictor(rows) - self.target(rows)).square().mean(-1)

    def draw(self, rows: Any) -> Any:
        """Return the predictor's targets for rows of `inputs`."""
        return self.target(rows)

    def learn(self, rows: Any) -> None:
        self.optimiser.zero_grad()
        (self.predictor(rows) - self.draw(rows)).square().mean().backward()
        self.optimiser.step()

    @property
    def modules(self) -> dict[str, Any]:
        return {"predictor": self.predictor, "optimiser": self.optimiser}


@register("rdd")
class DistributionDistillation(NetworkDistillation):
    """Error of a network that learns the mean of a random distribution from samples (RDD, arXiv 2505.11044).

    The bonus is the mean squared distance between prediction and mean; each visit gives a new sample. A table that
    averages n samples would have the error ``deviation**2 / n`` (see the reward "rdd"). A network adds an optimisation
    error: it averages over at most the samples of about 1 / rate gradient steps.
    """

    paper = "RDD, arXiv 2505.11044"
    deviation: float = option(
        default=1.0, low=0, says="standard deviation of the samples; a fixed random network gives their mean."
    )

    def draw(self, rows: Any) -> Any:
        mean = self.target(rows)
        return mean + self.deviation * self.torch.randn(mean.shape, generator=self.generator)
