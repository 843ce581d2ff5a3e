"""Velocity network on hidden states: how far a token's state lies from those of right answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .....checks import check_count, check_number
from ...batch.batch import Batch
from ...batch.passes import Passes
from ...recipes.stages import AUXILIARIES
from .auxiliary import Auxiliary, Stats


class VelocityNetwork(nn.Module):
    """Multilayer perceptron (x_t [N, H], t [N]) -> velocity [N, H]; its weights are drawn from ``seed``."""

    def __init__(self, size: int, width: int, seed: int):
        super().__init__()
        self.first, self.last = nn.Linear(size + 1, width), nn.Linear(width, size)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer in (self.first, self.last):
                spread = layer.in_features**-0.5
                layer.weight.copy_(spread * torch.randn(layer.weight.shape, generator=generator))
                layer.bias.zero_()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(torch.cat((x, t[:, None]), 1))))


def flow_error(network: Any, state: Tensor, noise: Tensor, t: Tensor) -> Tensor:
    """Return the mean over H of (v(x_t, t) - (state - noise))^2 with x_t = t state + (1 - t) noise, [N] (flow matching,
    arXiv 2210.02747, eq. 23)."""
    t_column = t[:, None]
    return (network(t_column * state + (1 - t_column) * noise, t) - (state - noise)).square().mean(1)


@AUXILIARIES.register("velocity")
class Velocity(Auxiliary):
    """Velocity network trained by flow matching on the hidden states of successful episodes (RLFR, arXiv 2510.10201).

    Provides "flow_deviation": the error of the network at each action token at the fixed time ``at``, the mean over
    ``draws`` of noise; it is small where states are like those of right answers. Training draws times t = sigma(N(0,
    1)). All noise follows from ``seed`` and the number of batches.

    Args:
        lr: learning rate of AdamW.
        width: number of units in the hidden layer.
        passes: gradient steps on each batch.
        at: time at which deviations are measured, in (0, 1].
        draws: number of draws of noise, the same at all tokens.
        seed: seed of weights and noise.
    """

    provides = frozenset({"flow_deviation"})
    needs = frozenset({"hidden"})

    def __init__(
        self, lr: float = 1e-4, width: int = 256, passes: int = 4, at: float = 0.8, draws: int = 4, seed: int = 0
    ):
        super().__init__("after")
        self.lr = check_number("lr", lr, 0.0)
        self.width, self.passes = check_count("width", width, 1), check_count("passes", passes, 1)
        self.draws = check_count("draws", draws, 1)
        self.at, self.seed = check_number("at", at, above=0.0, high=1.0), seed
        self._batches = 0

    def attach(self, model: Any, reference: Any) -> None:
        self.network = VelocityNetwork(model.config.hidden_size, self.width, self.seed)
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=self.lr, weight_decay=0.0)

    @torch.no_grad()
    def measure(self, batch: Batch, passes: Passes) -> dict[str, Tensor]:
        state, found = batch.measurement("hidden")[batch.action].float(), torch.zeros(len(batch.ids))
        time = torch.full((len(state),), self.at)
        # The same noise at all tokens, so that a deviation does not depend on the order of the batch.
        noises = torch.randn((self.draws, state.shape[1]), generator=torch.Generator().manual_seed(self.seed))
        errors = [flow_error(self.network, state, noise.expand_as(state), time) for noise in noises]
        found[batch.action] = torch.stack(errors).mean(0)
        return {"flow_deviation": found}

    def train(self, batch: Batch, passes: Passes) -> Stats:
        won = batch.per_token(torch.tensor([t.success for t in batch.trajectories], dtype=torch.bool))
        state = batch.measurement("hidden")[batch.action & won].float()
        self._batches += 1
        if not len(state):
            return {}
        generator = torch.Generator().manual_seed(self.seed + self._batches)
        losses = []
        for _ in range(self.passes):
            t = torch.randn(len(state), generator=generator).sigmoid()
            loss = flow_error(self.network, state, torch.randn(state.shape, generator=generator), t).mean()
            losses.append(loss.item())
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
        return {"velocity_loss": (losses[0], 1)}

    def state(self) -> dict[str, Any]:
        weights = {"network": self.network.state_dict(), "optimizer": self._optimizer.state_dict()}
        return {**weights, "batches": self._batches}

    def load(self, state: Mapping[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(dict(state["optimizer"]))
        self._batches = int(state["batches"])
