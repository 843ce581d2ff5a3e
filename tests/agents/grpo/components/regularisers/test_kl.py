"""Kl against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.recipes.stages import REGULARISERS
from palaestra.errors import InputError

from ..tokens import slope, tokens  # isort: skip


def value(name: str, scored, **params) -> list[float]:
    return REGULARISERS[name](scored, **params).value.tolist()


POLICY = torch.tensor([0.4, -0.3, 0.9], dtype=torch.float64).softmax(0)

REFERENCE = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)

OLD = torch.tensor([0.3, 0.4, 0.3], dtype=torch.float64)


def expected_gradient(name: str, sampled_from: torch.Tensor, **params) -> list[float]:
    """Gradient with respect to the logits of the regulariser's mean over tokens drawn from a distribution."""
    logits = POLICY.log().requires_grad_()
    logp = logits.log_softmax(0)
    s = tokens(
        logp.detach().tolist(),
        sampled_from.log().tolist(),
        0.0,
        weight=sampled_from.tolist(),
        logp_ref=REFERENCE.log().tolist(),
        logp_teacher=REFERENCE.log().tolist(),
    )
    by_logp = torch.tensor(slope(REGULARISERS[name], s, coefficient=1.0, **params), dtype=torch.float64)
    return torch.autograd.grad((by_logp * logp).sum(), logits)[0].tolist()


def gradient_of(divergence) -> list[float]:
    logits = POLICY.log().requires_grad_()
    return torch.autograd.grad(divergence(logits.log_softmax(0)), logits)[0].tolist()


REVERSE = gradient_of(lambda logp: (logp.exp() * (logp - REFERENCE.log())).sum())

FORWARD = gradient_of(lambda logp: (REFERENCE * (REFERENCE.log() - logp)).sum())


def test_k2_has_the_gradient_of_the_reverse_divergence():
    assert expected_gradient("kl_k2", POLICY) == pytest.approx(REVERSE)


@pytest.mark.parametrize("estimate", ["k1", "k3"])
def test_straight_through_estimates_have_it_too(estimate):
    assert expected_gradient("kl_straight", POLICY, estimate=estimate) == pytest.approx(REVERSE)


def test_k3_has_that_of_the_forward_divergence():
    assert expected_gradient("kl_k3", POLICY) == pytest.approx(FORWARD)
    assert expected_gradient("kl_k3", POLICY) != pytest.approx(REVERSE, rel=0.1)


def test_k3_times_the_ratio_is_unbiased_off_policy():
    assert expected_gradient("kl_k3_unbiased", OLD) == pytest.approx(REVERSE)
    assert expected_gradient("kl_k2", OLD) != pytest.approx(REVERSE, rel=0.01)


def test_the_forward_estimate_has_value_and_gradient_of_the_forward_divergence():
    assert expected_gradient("kl_forward", POLICY) == pytest.approx(FORWARD)
    s = tokens(POLICY.log().tolist(), None, 0.0, logp_ref=REFERENCE.log().tolist())
    mean = (POLICY * torch.tensor(value("kl_forward", s, coefficient=1.0))).sum()
    assert mean.item() == pytest.approx((REFERENCE * (REFERENCE / POLICY).log()).sum().item())


def test_a_clipped_k3_has_neither_value_nor_slope_beyond_its_bound():
    # d = 2, 3, -12: exp(d) - d - 1 = 4.39, 16.09, 11.00, slope 1 - exp(d)
    s = tokens([-3.0, -4.0, -1.0], None, 0.0, logp_ref=[-1.0, -1.0, -13.0])
    assert value("kl_k3", s, coefficient=0.5, clip=10.0) == pytest.approx([0.5 * (math.exp(2) - 3), 5.0, 5.0])
    assert slope(REGULARISERS["kl_k3"], s, coefficient=0.5, clip=10.0) == pytest.approx([0.5 * (1 - math.exp(2)), 0, 0])
    assert slope(REGULARISERS["kl_k3"], s, coefficient=0.5)[1] == pytest.approx(0.5 * (1 - math.exp(3)))
    stats = REGULARISERS["kl_k3"](s, clip=10.0).stats
    assert stats["kl_clipped"] == (2, 3)
    assert stats["kl"] == REGULARISERS["kl_k3"](s).stats["kl"]
    with pytest.raises(InputError, match="clip must be a finite number above 0"):
        REGULARISERS["kl_k3"](s, clip=0)


def test_estimates_of_a_known_gap():
    s = tokens([-1.0], None, 0.0, logp_ref=-1.5)  # d = -.5
    assert value("kl_k2", s, coefficient=2.0) == pytest.approx([0.25])
    assert value("kl_k3", s, coefficient=1.0) == pytest.approx([math.exp(-0.5) - 0.5])
    assert value("kl_abs", s, coefficient=1.0) == pytest.approx([0.5])
    assert value("kl_straight", s, coefficient=1.0, estimate="k1") == pytest.approx([0.5])
    assert REGULARISERS["kl_k2"](s).stats["kl"] == (0.125, 1)


def test_the_whole_divergence_passes_through():
    s = replace(tokens([-1.0, -2.0], None, 0.0), kl_ref=torch.tensor([0.3, 0.1], dtype=torch.float64))
    assert value("kl_full", s, coefficient=0.5) == pytest.approx([0.15, 0.05])


def test_a_coefficient_follows_a_target_divergence():
    s = tokens([-1.0, -1.0], None, 0.0, logp_ref=[-1.5, -1.1])  # a mean divergence of 0.3 nats a token
    rule = REGULARISERS["kl_target"](target=0.25, coefficient=0.1, rate=0.5)
    assert rule(s).value.tolist() == pytest.approx([0.1 * 0.125, 0.1 * 0.005])
    assert rule.coefficient == pytest.approx(0.1 * (1 + 0.5 * 0.2))  # 0.3 / 0.25 - 1 = 0.2
    away = REGULARISERS["kl_target"](target=3.0)
    away(s)
    assert away.coefficient == pytest.approx(0.1 * (1 - 0.1 * 0.2))  # -0.9, clipped
    again = REGULARISERS["kl_target"]()
    again.load_state_dict(away.state_dict())
    assert again.coefficient == away.coefficient
