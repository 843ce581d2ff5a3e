"""Distances against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.recipes.stages import REGULARISERS

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return REGULARISERS[name](scored, **params).value.tolist()


POLICY = torch.tensor([0.4, -0.3, 0.9], dtype=torch.float64).softmax(0)

REFERENCE = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


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


def test_kdrl_has_the_gradient_of_the_divergence_from_the_teacher():
    assert expected_gradient("kdrl", POLICY) == pytest.approx(REVERSE)


def test_a_teacher_teaches_where_the_student_fails():
    s = tokens([-1.0] * 4, None, 0.0, [1] * 4, group=[0, 0, 1, 1], outcome=[1, 0, 0, 0], logp_teacher=-2.0)
    assert value("kdrl", s, coefficient=1.0) == pytest.approx([0.5] * 4)
    assert value("kdrl", s, coefficient=1.0, unless="response") == pytest.approx([0, 0.5, 0.5, 0.5])
    assert value("kdrl", s, coefficient=1.0, unless="group") == pytest.approx([0, 0, 0.5, 0.5])


@pytest.mark.parametrize(("kind", "at_two"), [("forward_kl", 0.306853), ("js", 0.169899), ("alpha", 0.368123)])
def test_divergences_of_rehearsed_tokens(kind, at_two):
    s = tokens([LN(0.4), LN(0.2)], None, 0.0, logp_mu=LN(0.2))
    assert value("rehearsal_divergence", s, coefficient=1.0, kind=kind) == pytest.approx([at_two, 0], abs=2e-4)
    assert slope(REGULARISERS["rehearsal_divergence"], s, kind=kind)[1] == pytest.approx(0)
    less = tokens([LN(0.1)], None, 0.0, logp_mu=LN(0.2))
    assert value("rehearsal_divergence", less, coefficient=1.0, kind=kind)[0] > 0


def test_only_the_forward_divergence_explodes_where_the_policy_forgets():
    s = tokens([-60.0], None, 0.0, logp_mu=-1.0)
    js, alpha, forward = (
        value("rehearsal_divergence", s, coefficient=1.0, kind=kind)[0] for kind in ("js", "alpha", "forward_kl")
    )
    assert js == pytest.approx(LN(2))
    assert alpha == pytest.approx(0.2 / 0.16)
    assert forward == pytest.approx(58)


def test_the_shield_holds_unlikely_tokens_of_failures():
    # the first falls from .05 to .03; the others rise, succeed, are likely, or were noise before
    logp = [LN(p) for p in (0.03, 0.05, 0.03, 0.6, 0.001)]
    old = [LN(p) for p in (0.05, 0.03, 0.05, 0.7, 0.002)]
    s = tokens(logp, old, [-1, -1, 1, -1, -1])
    expected = [5 / 3 - LN(5 / 3) - 1, 0, 0, 0, 0]
    assert value("low_prob_shield", s, share=0.75, floor=0.02) == pytest.approx(expected)
    # of four negative tokens the lowest quarter is the noise alone
    assert value("low_prob_shield", s, share=0.25, floor=0.02) == [0.0] * 5
    assert value("low_prob_shield", s, share=0.25, floor=0.001)[4] > 0


def test_the_shields_pool_is_the_negative_tokens_or_all():
    s = tokens([LN(0.03), LN(0.01), LN(0.02)], LN(0.04), [-1, 1, 1])
    assert value("low_prob_shield", s, share=0.4)[0] > 0
    assert value("low_prob_shield", s, share=0.4, among="all")[0] == 0
