"""Regularisers: penalties added to the loss at each token, coefficient included."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ...registry import Registry
from .scored import LossTerm, Scored, needs

Regulariser = Callable[..., LossTerm]
"""``(scored, **params) -> LossTerm``"""

REGULARISERS: Registry[Regulariser] = Registry("regulariser")


@REGULARISERS.register("kl_k3")
@needs("logp_ref")
def kl_k3(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """exp(d) - d - 1 with d = log ref - log pi, the low-variance estimate of KL(pi || ref) (GRPO, arXiv 2402.03300, eq.
    4).
    """
    assert scored.logp_ref is not None
    d = scored.logp_ref - scored.logp
    kl = d.exp() - d - 1
    return LossTerm(coefficient * kl, {"kl": (kl.sum().item(), kl.numel())})


@REGULARISERS.register("kl_k2")
@needs("logp_ref")
def kl_k2(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """d^2 / 2: on-policy its gradient is that of KL(pi || ref) (Schulman 2020, "Approximating KL divergence")."""
    assert scored.logp_ref is not None
    kl = (scored.logp_ref - scored.logp) ** 2 / 2
    return LossTerm(coefficient * kl, {"kl": (kl.sum().item(), kl.numel())})


@REGULARISERS.register("kl_k1")
@needs("logp_ref")
def kl_k1(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """log pi - log ref. In a loss its expected gradient is zero, so this warns; use kl_k2 or kl_k3."""
    assert scored.logp_ref is not None
    warnings.warn("kl_k1 in the loss has a gradient of mean zero and does nothing; use kl_k2 or kl_k3.", stacklevel=2)
    kl = scored.logp - scored.logp_ref
    return LossTerm(coefficient * kl, {"kl": (kl.sum().item(), kl.numel())})
