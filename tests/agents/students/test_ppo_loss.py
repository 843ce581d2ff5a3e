"""The arithmetic of PPO, by hand."""

from __future__ import annotations

import math

import numpy as np
import torch
from palaestra.agents.students.ppo_loss import (
    explained_variance,
    generalised_advantages,
    minibatch_loss,
    standardise,
    value_loss,
)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_advantages_are_discounted_sums_of_errors_and_stop_where_an_episode_ends():
    # Deltas: 0 + 0.5 * 2 - 1 = 0; 1 - 2 = -1 (the end); 0 + 0.5 * 8 - 4 = 0. The first: 0 + 0.5 * 0.5 * -1.
    ends = np.array([[False], [True], [False]])
    found = generalised_advantages(column(0, 1, 0), column(1, 2, 4), np.array([8.0]), ends, 0.5, 0.5)
    np.testing.assert_allclose(found, column(-0.25, -1, 0))


def test_with_decay_1_advantages_are_returns_less_values():
    ends = np.zeros((3, 1), dtype=bool)
    found = generalised_advantages(column(1, 1, 1), column(5, 6, 7), np.array([10.0]), ends, 1.0, 1.0)
    np.testing.assert_allclose(found, column(13 - 5, 12 - 6, 11 - 7))


def test_a_value_that_moved_beyond_the_bound_has_the_larger_error():
    v, old, returns = torch.tensor([2.0]), torch.tensor([0.0]), torch.tensor([3.0])
    assert value_loss(v, old, returns).item() == 0.5
    assert value_loss(v, old, returns, clip=0.5).item() == 0.5 * (3 - 0.5) ** 2


def test_advantages_are_standardised_over_the_steps_that_count():
    found = standardise(torch.tensor([1.0, 3.0, 100.0]), torch.tensor([True, True, False]))
    torch.testing.assert_close(found[:2], torch.tensor([-1.0, 1.0]) / math.sqrt(2))
    assert standardise(torch.tensor([7.0]), torch.tensor([True])).tolist() == [7.0]


def losses(logp: torch.Tensor, counts: torch.Tensor, **changes: float) -> dict[str, torch.Tensor]:
    settings = {"clip": 0.2, "value_clip": None, "value_weight": 0.5, "entropy_weight": 0.01} | changes
    n = len(logp)
    result = minibatch_loss(
        *(logp, torch.zeros(n), torch.tensor([1.0, -1.0, 50.0])[:n]),
        *(torch.zeros(n), torch.zeros(n), torch.tensor([1.0, 1.0, 9.0])[:n], torch.full((n,), 2.0), counts),
        **settings,  # type: ignore[arg-type]
    )
    return {"total": result.loss, **result.values}


def test_the_loss_is_the_clipped_surrogate_with_value_loss_and_entropy():
    logp = torch.tensor([math.log(2.0), 0.0], requires_grad=True)
    found = losses(logp, torch.tensor([True, True]))
    # Standardised advantages are +-1/sqrt(2); the ratio 2 is cut to 1.2, the ratio 1 is not.
    policy = -(1.2 - 1.0) / math.sqrt(2) / 2
    assert math.isclose(found["policy_loss"].item(), policy, rel_tol=1e-6)
    assert math.isclose(found["total"].item(), policy + 0.5 * 0.5 - 0.01 * 2.0, rel_tol=1e-6)
    assert found["clip_fraction"].item() == 0.5
    assert math.isclose(found["kl"].item(), (1 - math.log(2)) / 2, rel_tol=1e-6)
    found["total"].backward()
    assert logp.grad is not None
    assert logp.grad[0] == 0
    assert logp.grad[1] != 0


def test_steps_that_do_not_count_change_nothing():
    two = losses(torch.tensor([0.1, 0.2]), torch.tensor([True, True]))
    three = losses(torch.tensor([0.1, 0.2, 3.0]), torch.tensor([True, True, False]))
    for name, value in two.items():
        torch.testing.assert_close(three[name], value)


def test_explained_variance_is_1_for_exact_values_and_0_for_a_constant():
    returns = column(1, 2, 3)
    assert explained_variance(returns, returns) == 1
    assert explained_variance(column(2, 2, 2), returns) == 0
    assert math.isnan(explained_variance(returns, column(1, 1, 1)))
