"""Agent that learns to order stock by the gradient of its costs through the simulator (hindsight differentiable policy
optimisation, HDPO: Alvo, Russo, Kanoria, arXiv 2306.11246).

Demand does not depend on orders, so recorded demands tell the costs that any policy would have had, and these costs
can be differentiated with respect to the policy's weights. `unrolled_cost` is the simulator, `PathwiseAgent` the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from ..checks import check_count, check_number
from ..envs.splits import split_of
from ..errors import InputError, needs_extra
from .agent import Agent, register

if TYPE_CHECKING:
    import torch

    from ..envs.games.inventory import Inventory, InventoryState

Order = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
_WEEKS = 12
"""Weeks of a recorded trace after its lead time."""


def unrolled_cost(
    order: Order, demand_t: torch.Tensor, stock: torch.Tensor, coming: torch.Tensor, backlog: torch.Tensor
) -> torch.Tensor:
    """Simulate a policy on recorded demands, and return its mean weekly cost, differentiable in its orders, float[n].

    The cost of a week is max(I, 0) + b max(-I, 0) of the stock I at its end. The first L weeks are left out, as no
    order reaches them.

    Args:
        order: policy (stock float[n], orders on their way float[n, L]) -> units to order, float[n].
        demand_t: demand of each week, float[n, T], T > L.
        stock: units on hand at the start, negative if customers wait, float[n].
        coming: orders on their way at the start, next one first, float[n, L].
        backlog: b, the weekly cost of a unit short, float[n].
    """
    import torch

    lead, weeks = coming.shape[1], demand_t.shape[1]
    total = torch.zeros_like(stock)
    for week in range(weeks):
        pipeline = torch.cat([coming, order(stock, coming)[:, None]], dim=1)
        stock = stock + pipeline[:, 0] - demand_t[:, week]
        coming = pipeline[:, 1:]
        if week >= lead:
            total = total + stock.relu() + backlog * (-stock).relu()
    return total / (weeks - lead)


class Traces:
    """Recorded demands of shops with one lead time, as tensors: ``features`` float[n, 3], log b, the width of demand
    relative to its mean, and 1; ``mean`` and ``scale`` of the demand of lead + 1 weeks; the arguments of
    `unrolled_cost`."""

    def __init__(self, states: Sequence[InventoryState]):
        import torch

        shops = [state.shop for state in states]
        self.demand = torch.tensor([shop.demands for shop in shops], dtype=torch.float32)
        self.stock = torch.tensor([float(state.stock) for state in states])
        self.coming = torch.tensor([state.coming for state in states], dtype=torch.float32).reshape(len(states), -1)
        self.backlog = torch.tensor([float(shop.backlog) for shop in shops])
        weeks = shops[0].lead + 1
        mean = torch.tensor([(shop.low + shop.high) / 2 for shop in shops])
        half = torch.tensor([(shop.high - shop.low) / 2 for shop in shops])
        self.mean, self.scale = weeks * mean, half * weeks**0.5
        self.features = torch.stack([self.backlog.log(), half / mean, torch.full_like(mean, weeks / 4)], dim=1)

    def order(self, net: Any) -> Order:
        """Return the policy of a network: what the stock position lacks of the expected demand, the single parts of the
        position and the features go in, and the order comes out, both in units of ``scale``."""
        import torch

        def policy(stock: torch.Tensor, coming: torch.Tensor) -> torch.Tensor:
            lacking = (self.mean - stock - coming.sum(1)) / self.scale
            latest = (self.mean - stock) / self.scale
            raw = net(torch.cat([lacking[:, None], latest[:, None], self.features], dim=1))[:, 0]
            return self.scale * torch.nn.functional.softplus(lacking + raw, beta=8.0)

        return policy


@register("pathwise")
class PathwiseAgent(Agent):
    """Agent that trains an ordering policy for palaestra/Inventory-v0 on recorded demands, then plays it.

    `bind` trains one small network for all lead times of the environments: each step takes the shops of one lead time
    and moves the weights against the gradient of their mean cost over `_WEEKS` weeks.

    Args:
        steps: gradient steps of Adam.
        shops: recorded shops of the training split per lead time.
        lr: learning rate at the first step; falls linearly to 0.
        hidden: units of each of the two hidden layers.
        seed: seed of the recorded demands and of the first weights.
    """

    name = "pathwise"

    def __init__(self, steps: int = 200, shops: int = 128, lr: float = 0.01, hidden: int = 32, seed: int = 0):
        self.steps, self.shops = check_count("steps", steps), check_count("shops", shops, 1)
        self.lr, self.hidden = check_number("lr", lr, above=0.0), check_count("hidden", hidden, 1)
        self.seed = seed
        self._envs: list[Inventory] = []
        self._net: Any = None

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Train the policy for the environments.

        Raises:
            InputError: an environment is not `Inventory`, the one whose costs can be differentiated.
            MissingExtra: torch is not installed.
        """
        from ..envs.games.inventory import Inventory

        for env in envs:
            if not isinstance(env.unwrapped, Inventory):
                raise InputError(
                    f"the pathwise agent differentiates the costs of palaestra/Inventory-v0, not {env}; take another "
                    "agent."
                )
        self._envs = [env.unwrapped for env in envs]  # type: ignore[misc]
        self._net = self._train(self._envs[0])

    def _train(self, env: Inventory) -> Any:
        with needs_extra("the pathwise agent", "train"):
            import torch
        rng, axis = np.random.default_rng(self.seed), env.param_space["lead_time"]
        generator = torch.Generator().manual_seed(self.seed)
        traces = [self._record(env, lead, rng) for lead in range(axis.low, axis.high + 1)]  # type: ignore[attr-defined]
        layers = [torch.nn.Linear(*shape) for shape in ((5, self.hidden), (self.hidden, self.hidden), (self.hidden, 1))]
        with torch.no_grad():
            for layer in layers:
                bound = layer.in_features**-0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.zero_()
        net = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
        optimiser = torch.optim.Adam(net.parameters(), lr=self.lr)
        for step in range(self.steps):
            part = traces[step % len(traces)]
            cost = unrolled_cost(part.order(net), part.demand, part.stock, part.coming, part.backlog)
            optimiser.param_groups[0]["lr"] = self.lr * (1 - step / self.steps)
            optimiser.zero_grad()
            # Costs grow with the scale of demand and the cost of a unit short; shops should count alike.
            (cost / (part.scale * part.backlog.log())).mean().backward()
            optimiser.step()
        return net

    def _record(self, env: Inventory, lead: int, rng: np.random.Generator) -> Traces:
        """Draw shops of the training split."""
        found: list[InventoryState] = []
        while len(found) < self.shops:
            params = {**env.param_space.complete({}, rng, env.difficulty), "lead_time": lead, "weeks": _WEEKS + lead}
            state = env.start(rng, params)
            if split_of(env.content_of(state)) == "train":
                found.append(state)
        return Traces(found)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        import torch

        actions: list[Any] = []
        for env, info in zip(self._envs, infos):
            if info.get("idle"):
                actions.append(None)
                continue
            state = env.here()
            shop = Traces([state])
            with torch.no_grad():
                units = shop.order(self._net)(shop.stock, shop.coming)
            actions.append(env.write_action(str(max(0, round(float(units[0]))))))
        return actions
