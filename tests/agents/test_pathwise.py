"""The pathwise gradient is the derivative of the simulated cost, and leads to the optimum."""

from __future__ import annotations

import palaestra
import pytest
from palaestra.agents.pathwise import PathwiseAgent, unrolled_cost
from palaestra.errors import InputError

torch = pytest.importorskip("torch")
BACKLOG = 9.0


def mean_cost(level, demand_t, lead=1):
    """Cost of ordering up to ``level`` (float[n]), from stock at the level."""
    n = len(demand_t)
    return unrolled_cost(
        lambda stock, coming: (level - stock - coming.sum(1)).relu(),
        demand_t,
        torch.full((n,), 20.0, dtype=demand_t.dtype),
        torch.zeros(n, lead, dtype=demand_t.dtype),
        torch.full((n,), BACKLOG, dtype=demand_t.dtype),
    )


@pytest.fixture(scope="module")
def demand_t():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(4000, 6, generator=generator, dtype=torch.float64) * 20


def test_a_week_costs_what_is_left_over_or_nine_times_what_is_short():
    # Level 10, lead 0, demands 4 and 13: 10 - 4 = 6 are left over, then 13 - 10 = 3 are short.
    demand = torch.tensor([[4.0, 13.0]])
    cost = unrolled_cost(
        *(lambda stock, coming: 10 - stock, demand, torch.zeros(1), torch.zeros(1, 0), torch.tensor([BACKLOG]))
    )
    assert cost.item() == (6 + 27) / 2


def test_pathwise_gradient_is_the_finite_difference(demand_t):
    level = torch.tensor(31.0, dtype=torch.float64, requires_grad=True)
    mean_cost(level, demand_t).mean().backward()
    with torch.no_grad():
        step = 1e-5
        slope = (mean_cost(level + step, demand_t).mean() - mean_cost(level - step, demand_t).mean()) / (2 * step)
    assert level.grad.item() == pytest.approx(slope.item(), rel=1e-4)


def test_score_function_estimate_has_the_same_mean_and_far_more_noise(demand_t):
    generator, spread = torch.Generator().manual_seed(1), 1.0
    noise = torch.randn(len(demand_t), generator=generator, dtype=torch.float64)
    level = torch.tensor(26.0, dtype=torch.float64, requires_grad=True)
    costs = mean_cost(level + spread * noise, demand_t)
    (pathwise,) = torch.autograd.grad(costs.mean(), level)
    # REINFORCE on the level's Gaussian: (cost - mean) times d log N(level + noise) / d level = noise / spread.
    scored = (costs - costs.mean()).detach() * noise / spread
    error = scored.std().item() / len(scored) ** 0.5
    assert abs(scored.mean().item() - pathwise.item()) < 4 * error
    assert error < abs(pathwise.item())  # the comparison can fail


def test_training_beats_the_first_weights_and_reaches_the_optimum():
    scores = {}
    for steps in (0, 80):
        agent = PathwiseAgent(steps=steps, shops=48)
        scores[steps] = palaestra.evaluate(agent, "palaestra/Inventory-v0", episodes=40, seed=1)
    assert scores[0].success.mean < 0.3
    assert scores[80].success.mean > 0.8


def test_another_environment_is_refused():
    with pytest.raises(InputError, match="Inventory"):
        palaestra.evaluate("pathwise", "palaestra/Bandit-v0", episodes=1)
