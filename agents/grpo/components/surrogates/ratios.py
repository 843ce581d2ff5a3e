"""Probability ratios that cannot overflow: a gradient of zero times infinity would be NaN."""

from __future__ import annotations

from torch import Tensor

LARGEST = 30.0
"""Logarithm of the largest ratio, 10^13; beyond it a ratio is constant and has no gradient."""


def bounded_exp(log_value: Tensor) -> Tensor:
    """exp, constant above exp(LARGEST)."""
    return log_value.clamp(max=LARGEST).exp()


def probability_ratio(logp_t: Tensor, logp_old_t: Tensor) -> Tensor:
    """pi / pi_old of each token, [A], with the gradient of ``logp_t``."""
    return bounded_exp(logp_t - logp_old_t)
