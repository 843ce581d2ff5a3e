"""Correctors reweight tokens for the gap between the policy that sampled and the one that ratios are taken against."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...registry import Registry
from .scored import Scored

Corrector = Callable[..., Tensor]
"""``(scored, **params) -> factor [A]``, without gradient"""

CORRECTORS: Registry[Corrector] = Registry("corrector")


@CORRECTORS.register("none")
def none(scored: Scored) -> Tensor:
    """Trust the sampler's log-probabilities."""
    return torch.ones_like(scored.logp_old)


@CORRECTORS.register("truncated_is")
def truncated_is(scored: Scored, cap: float = 2.0) -> Tensor:
    """min(pi / mu, cap) for each token (truncated importance sampling; Ionides 2008, J. Comput. Graph. Stat. 17(2))."""
    return (scored.logp.detach() - scored.logp_old).exp().clamp(max=cap)
