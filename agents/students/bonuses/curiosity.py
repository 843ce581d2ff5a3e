"""Curiosity bonuses: the error of a prediction of the next observation, optionally given a code of the noise in it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import option
from ....errors import InputError
from ....rewards import Step
from .bonus import register
from .learned_bonus import LearnedBonus, layers


@register("prediction")
class PredictionCuriosity(LearnedBonus):
    """Error of a prediction of the next observation (arXiv 1808.04355); never fades for random observations.

    The bonus is the mean squared error of a model that predicts the features of the next observation from observation
    and action. Random observations stay unpredictable, so their bonus never fades: the noisy-television problem.
    """

    paper = "Burda et al., arXiv 1808.04355 (random features)"
    optimum = "changes the optimal policies, and for good where what is observed next is random"

    def build(self, actions: gym.Space[Any]) -> None:
        if not isinstance(actions, gym.spaces.Discrete):
            raise InputError(f"the bonus {self.name!r} looks at Discrete actions, not {actions}; take 'rnd'.")
        self.actions, self._first = int(actions.n), int(actions.start)
        self.model = layers((self.known, self.hidden, self.hidden, self.size), self.generator)
        self.optimiser = self.torch.optim.Adam(self.model.parameters(), lr=self.rate)

    @property
    def known(self) -> int:
        """Length of the model's input: features of the observation before the step, and the one-hot action."""
        return self.size + self.actions

    def inputs(self, step: Step, observation: Any) -> np.ndarray:
        features, action = self._bound(), np.zeros(self.actions, dtype=np.float32)
        action[int(step.action) - self._first] = 1.0
        return np.concatenate([features(step.observation), action, features(observation)])

    def error(self, rows: Any) -> Any:
        return (self.model(rows[:, : self.known]) - self.change(rows)).square().mean(-1)

    def change(self, rows: Any) -> Any:
        """Return the differences [n, size] between next and current features, which the model predicts."""
        return rows[:, self.known :] - rows[:, : self.size]

    def learn(self, rows: Any) -> None:
        self.optimiser.zero_grad()
        self.error(rows).mean().backward()
        self.optimiser.step()

    @property
    def modules(self) -> dict[str, Any]:
        return {"model": self.model, "optimiser": self.optimiser}


@register("hindsight")
class HindsightCuriosity(PredictionCuriosity):
    """Error of a prediction of the next observation from the step and a learned code of the observation's random part
    (BYOL-Hindsight, arXiv 2211.10515).

    A generator makes the code z from the input x, the outcome y and noise; a reconstructor predicts y from x and z. A
    critic h distinguishes codes of x from codes of other steps by ``log(e^h(x, z) / mean_z' e^h(x, z'))``. The
    generator is trained against the critic, so a code can hold random parts of y, but nothing that x determines. The
    bonus is the reconstruction error plus ``invariance`` times the critic's value, clipped below at 0. This version
    predicts one step of fixed random features; the paper predicts several steps of learned features.
    """

    paper = "BYOL-Hindsight, arXiv 2211.10515"
    optimum = "changes the optimal policies until its model has learned what is not random"
    invariance: float = option(default=0.05, low=0, says="weight of the critic's value.")
    code: int = option(default=8, low=1, says="length of the code z.")

    def build(self, actions: gym.Space[Any]) -> None:
        super().build(actions)
        hidden, known, torch = self.hidden, self.known, self.torch
        self.model = layers((known + self.code, hidden, hidden, self.size), self.generator)
        self.encoder = layers((known + self.size + self.code, hidden, hidden, self.code), self.generator)
        self.critic = layers((known + self.code, hidden, 1), self.generator)
        own = [*self.model.parameters(), *self.encoder.parameters()]
        self.optimiser = torch.optim.Adam(own, lr=self.rate)
        self.other = torch.optim.Adam(self.critic.parameters(), lr=self.rate)
        self.codes = torch.nn.ParameterDict({"last": torch.zeros(self.batch, self.code)}).requires_grad_(False)

    def encode(self, rows: Any) -> Any:
        """Draw the codes [n, code], in (-1, 1), of rows of `inputs`."""
        noise = self.torch.randn(len(rows), self.code, generator=self.generator)
        return self.torch.tanh(self.encoder(self.torch.cat([rows, noise], -1)))

    def contrast(self, known: Any, codes: Any, others: Any) -> Any:
        """Return the critic's values [n] of codes [n, code] for ``known`` inputs, against ``others`` [m, code]."""
        torch = self.torch
        own = self.critic(torch.cat([known, codes], -1)).squeeze(-1)
        n, m = len(known), len(others)
        pairs = torch.cat([known[:, None].expand(n, m, -1), others[None].expand(n, m, -1)], -1)
        against = self.critic(pairs).squeeze(-1)
        return own - (torch.logsumexp(against, -1) - float(np.log(m)))

    def _parts(self, rows: Any, codes: Any) -> Any:
        known = rows[:, : self.known]
        return (self.model(self.torch.cat([known, codes], -1)) - self.change(rows)).square().mean(-1)

    def error(self, rows: Any) -> Any:
        codes = self.encode(rows)
        contrast = self.contrast(rows[:, : self.known], codes, self.codes["last"])
        return (self._parts(rows, codes) + self.invariance * contrast).clamp(min=0.0)

    def learn(self, rows: Any) -> None:
        known, codes = rows[:, : self.known], self.encode(rows)
        self.other.zero_grad()
        (-self.contrast(known, codes.detach(), codes.detach()).mean()).backward()
        self.other.step()
        self.optimiser.zero_grad()
        (self._parts(rows, codes).mean() + self.invariance * self.contrast(known, codes, codes).mean()).backward()
        self.optimiser.step()
        self.codes["last"] = self.torch.nn.Parameter(codes.detach().clone(), requires_grad=False)

    @property
    def modules(self) -> dict[str, Any]:
        found = {"model": self.model, "encoder": self.encoder, "critic": self.critic, "codes": self.codes}
        return {**found, "optimiser": self.optimiser, "other": self.other}
