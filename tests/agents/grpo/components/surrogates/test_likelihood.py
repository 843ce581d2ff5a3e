"""Likelihood against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.components.surrogates.likelihood import entropy_weighted_likelihood
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def test_weighted_likelihoods():
    s = tokens([LN(0.5), LN(0.9)], None, 0.0)
    assert slope(SURROGATES["likelihood"], s) == pytest.approx([1, 1])
    assert slope(SURROGATES["sft_is"], s) == pytest.approx([0.5, 0.9])
    assert slope(SURROGATES["sft_phi"], s) == pytest.approx([0.25, 0.09])


def test_distillation_follows_the_reverse_divergence():
    # On-policy, averaged over pi: sum_v pi (log T - log pi) grad log pi = -grad KL(pi || T).
    logits = torch.tensor([0.3, -0.2, 0.8], dtype=torch.float64, requires_grad=True)
    logp = logits.log_softmax(0)
    teacher = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64).log()
    (exact,) = torch.autograd.grad(-(logp.exp() * (logp - teacher)).sum(), logits, retain_graph=True)
    s = tokens(logp.detach().tolist(), None, 0.0, weight=logp.exp().tolist(), logp_teacher=teacher.tolist())
    (sampled,) = torch.autograd.grad((torch.tensor(slope(SURROGATES["distill"], s)) * logp).sum(), logits)
    assert sampled.tolist() == pytest.approx(exact.tolist())


def test_an_uncertain_policy_imitates_less():
    logp = torch.tensor([-1.0, -3.0, -9.0], requires_grad=True)
    entropy, trained = torch.tensor([1.0, 3.0, 99.0]), torch.tensor([True, True, False])
    (slope,) = torch.autograd.grad(entropy_weighted_likelihood(logp, entropy, trained).sum(), logp)
    assert slope.tolist() == pytest.approx([0.5 * np.exp(-2.0)] * 3)
