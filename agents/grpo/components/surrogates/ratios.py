"""Probability ratios that cannot overflow: an infinite ratio would make gradients NaN (0 x infinity)."""

from __future__ import annotations

from torch import Tensor

LARGEST = 30.0
"""Logarithm of the largest ratio, about 10^13; larger ratios are set to it and have no gradient."""


def bounded_exp(log_value: Tensor) -> Tensor:
    """Return exp(log_value), constant above exp(LARGEST)."""
    return log_value.clamp(max=LARGEST).exp()


def probability_ratio(logp_t: Tensor, logp_old_t: Tensor) -> Tensor:
    """Return pi / pi_old of each token, [A], with the gradient of ``logp_t``."""
    return bounded_exp(logp_t - logp_old_t)
