"""Plain policy gradient and variants of PPO's clip; r = pi / pi_old, A the advantage, all per token.

Gradients flow through every r in a formula; only the centre of `moving_clip` is detached.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from .....errors import InputError
from ..loss_arrays import Statistics, surrogate
from .ratios import bounded_exp, probability_ratio


@surrogate("none")
def no_surrogate(logp_t: Tensor) -> Tensor:
    """0: only the regularisers are trained (entropy-only control, arXiv 2504.20571)."""
    return torch.zeros_like(logp_t)


@surrogate("reinforce")
def reinforce(logp_t: Tensor, adv_t: Tensor) -> Tensor:
    """A log pi (Williams 1992, Machine Learning 8, eq. 4)."""
    return adv_t * logp_t


@surrogate("ratio")
def importance_weighted(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor) -> Tensor:
    """r A without any bound: the importance-weighted policy gradient."""
    return probability_ratio(logp_t, logp_old_t) * adv_t


def pessimistic(free_t: Tensor, bounded_t: Tensor, adv_t: Tensor) -> tuple[Tensor, Statistics]:
    """Return the smaller of free_t x adv_t and bounded_t x adv_t, and a flag at tokens where it is the bounded one.

    The mean of the flags is reported as "clip_fraction".
    """
    unbounded, bound = free_t * adv_t, bounded_t * adv_t
    return torch.minimum(unbounded, bound), {"clip_fraction": bound < unbounded}


@surrogate("clip")
def clipped_surrogate(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2
) -> tuple[Tensor, Statistics]:
    """min(r A, clip(r, 1 - low, 1 + high) A) with r = pi / pi_old (PPO, arXiv 1707.06347, eq. 7).

    Unequal bounds are DAPO's clip-higher (arXiv 2503.14476, section 3.1).
    """
    check_number("low of clip", low, 0, 1)
    check_number("high of clip", high, 0)
    r = probability_ratio(logp_t, logp_old_t)
    return pessimistic(r, r.clamp(1 - low, 1 + high), adv_t)


@surrogate("dual_clip")
def dual_clip(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2, worst: float = 3.0
) -> tuple[Tensor, Statistics]:
    """PPO's clip, and for A < 0 at least ``worst`` x A, so that a ratio above ``worst`` has no gradient (Dual-clip PPO,
    arXiv 1912.09729, eq. 5)."""
    _check_above("worst", worst, high)
    value, statistics = clipped_surrogate(logp_t, logp_old_t, adv_t, low, high)
    return torch.where(adv_t < 0, torch.maximum(value, worst * adv_t), value), statistics


@surrogate("two_sided")
def two_sided_clip(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2, delta: float = 4.0
) -> tuple[Tensor, Statistics]:
    """min(min(r, delta) A, clip(r, 1 - low, 1 + high) A) (INTELLECT-2, arXiv 2505.07291)."""
    _check_above("delta", delta, high)
    r = probability_ratio(logp_t, logp_old_t)
    return pessimistic(r.clamp(max=delta), r.clamp(1 - low, 1 + high), adv_t)


@surrogate("clip_preclipped")
def preclipped_surrogate(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2, largest: float = 1000.0
) -> tuple[Tensor, Statistics]:
    """PPO's clip on a ratio whose logarithm is first limited to +-log(largest), without gradient outside
    (StableReinforce, arXiv 2505.02835)."""
    _check_above("largest", largest, high)
    edge = float(torch.tensor(largest, dtype=torch.float64).log())
    r = (logp_t - logp_old_t).clamp(-edge, edge).exp()
    return pessimistic(r, r.clamp(1 - low, 1 + high), adv_t)


@surrogate("moving_clip")
def moving_clip(
    logp_t: Tensor, logp_old_t: Tensor, logp_mu_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2
) -> tuple[Tensor, Statistics]:
    """min(q A, clip(q, m - low, m + high) A) with q = pi / mu and m = pi_old / mu, m detached (ReMix, arXiv
    2507.06892).

    Requires the anchor "policy": the clip range then follows the staleness of the sampler. If the sampler is the
    anchor, m = 1 and this is PPO's clip.
    """
    q = bounded_exp(logp_t - logp_mu_t)
    middle = bounded_exp(logp_old_t - logp_mu_t)
    bounded = torch.minimum(torch.maximum(q, middle - low), middle + high)
    return pessimistic(q, bounded, adv_t)


def _check_above(name: str, value: float, high: float) -> None:
    if check_number(name, value) <= 1 + high:
        raise InputError(f"{name} must exceed 1 + high = {1 + high:g}, or it undoes the upper bound; got {value!r}.")
