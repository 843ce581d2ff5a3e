"""Scales for returns that mean success or failure: by success rate, for several attempts, with imagined samples."""

from __future__ import annotations

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.rounding import subtract_beyond_rounding
from ...batch.segments import Segments
from ...recipes.stages import SCALES
from .credit_arrays import scale
from .peers import entropy_of_answers
from .units import Units


@scale("beta_norm")
def beta_norm(centred_u: Tensor, return_u: Tensor, peers: Segments, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Divide by the density at the group's success rate of a Beta distribution fitted to the success rates of the batch
    (BNPO, arXiv 2506.02864).

    With mean m and variance v of the rates: a = (m (1 - m) / v - 1) m and b = (m (1 - m) / v - 1) (1 - m); the density
    is that of Beta(max(1, 1 + a / 3), max(1, 1 + b / 3)), and 1 / density is limited to 1e6. With a single group, or if
    all rates are equal, no distribution can be fitted, and the density is 1.

    Args:
        low, high: returns that count as rate 0 and 1; centred returns are divided by high - low too.

    Raises:
        InputError: ``high`` does not exceed ``low``.
    """
    if high <= low:
        raise InputError(f"the return of a success, high={high}, must exceed that of a failure, low={low}.")
    span = high - low
    rate = ((peers.shared_mean(return_u) - low) / span).clamp(0, 1)
    rates = rate[peers.first()].double()
    alpha = beta = torch.ones((), dtype=torch.float64)
    spread = rates.var() if len(rates) > 1 else torch.zeros(())
    if spread > 1e-12:
        middle = rates.mean()
        excess = middle * (1 - middle) / spread - 1
        alpha = (1 + excess * middle / 3).clamp(min=1)
        beta = (1 + excess * (1 - middle) / 3).clamp(min=1)
    p = rate.double()
    log_density = (
        torch.xlogy(alpha - 1, p)
        + torch.xlogy(beta - 1, 1 - p)
        - (torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta))
    )
    return centred_u / span * (-log_density).exp().clamp(max=1e6).to(centred_u.dtype)


@scale("pass_at_k")
def any_of_k(return_u: Tensor, peers: Segments, k: int = 4, threshold: float = 0.5) -> Tensor:
    """Advantage for the goal that any of k samples succeeds, in closed form; replaces the baseline (pass@k training,
    arXiv 2508.10751).

    With n samples of which w failed, q = C(w, k) / C(n, k) is the rate at which k samples all fail and s = sqrt(q (1 -
    q)): a success gets q / s, a failure (q - C(w-1, k-1) / C(n-1, k-1)) / s, and all get 0 if s = 0. In a group of at
    most k samples all get 0.

    Args:
        threshold: returns above it count as success.
    """
    won = return_u > threshold
    size = peers.shared_size(return_u).double()
    lost = size - peers.shared_sum(won.to(return_u.dtype)).double()
    fail = _binomial_ratio(lost, size, k)
    spread = (fail * (1 - fail)).sqrt()
    advantage = torch.where(won, fail, fail - _binomial_ratio(lost - 1, size - 1, k - 1))
    return torch.where(spread > 1e-9, advantage / spread.clamp(min=1e-9), 0).to(return_u.dtype)


def _binomial_ratio(few: Tensor, many: Tensor, k: float) -> Tensor:
    """Return C(few, k) / C(many, k), 0 where few < k: [M], [M] -> [M]."""
    ratio = torch.ones_like(few)
    for i in range(round(k)):
        ratio = ratio * (few - i).clamp(min=0) / (many - i).clamp(min=1)
    return ratio


@scale("best_gap")
def best_gap(return_u: Tensor, peers: Segments) -> Tensor:
    """Lead of a group's best sample over the second best, 0 for all others; replaces the baseline (arXiv 2503.19595:
    the gradient of the expected maximum). All get 0 in a group of one and if several are best."""
    best = peers.shared_max(return_u)
    is_best = return_u == best
    second = peers.shared_max(torch.where(is_best, -torch.inf, return_u))
    alone = is_best & (peers.shared_sum(is_best.to(return_u.dtype)) == 1) & (peers.shared_size(return_u) > 1)
    return torch.where(alone, best - second, 0)


@scale("virtual_std")
def virtual_std(
    centred_u: Tensor, return_u: Tensor, peers: Segments, best: float = 1.0, ddof: int = 1, eps: float = 1e-4
) -> Tensor:
    """Divide by the standard deviation of the group and one additional, imagined sample of return ``best``; use with
    the baseline "virtual_best" (NGRPO, arXiv 2509.18851)."""
    size = peers.shared_size(return_u) + 1
    mean = (peers.shared_sum(return_u) + best) / size
    squares = peers.shared_sum((return_u - mean) ** 2) + (best - mean) ** 2
    return centred_u / ((squares / (size - ddof).clamp(min=1)).sqrt() + eps)


@scale("kalman_std")
def kalman_std(
    centred_u: Tensor, peers: Segments, variance: float = 1.0, noise: float = 0.01, eps: float = 1e-8
) -> Tensor:
    """Divide by the posterior standard deviation of the baseline "kalman"; ``variance`` and ``noise`` must be the same
    as there (KRPO, arXiv 2505.07527)."""
    return centred_u / (1 / (1 / variance + peers.shared_size(centred_u) / noise) + eps).sqrt()


@SCALES.register("consistency_blend")
def consistency_blend(
    units: Units, batch: Batch, gamma: float = 20.0, rho: float = 1.5, eps: float = 1e-4, answer_format: str = "any"
) -> Tensor:
    """Blend w x (advantage within the group) + (1 - w) x (advantage of the group's mean within the batch) with w =
    sigmoid(gamma (H - rho)), H being the entropy in nats of the group's final answers: unanimous groups learn from the
    comparison of their task with others (COPO, arXiv 2508.04138).

    The paper blends the two losses; blending the advantages differs from that only where a ratio is clipped.
    """
    peers = units.peers
    level = peers.shared_mean(units.raw)
    first = peers.first()
    # Every group counts once.
    groups = Segments(torch.zeros_like(peers.of), min(len(level), 1), first)
    across = subtract_beyond_rounding(level, groups.shared_mean(level)) / (groups.shared_std(level, 1) + eps)
    within = units.value / (peers.shared_std(units.raw, 1) + eps)
    entropy = entropy_of_answers(batch, answer_format).to(level.dtype)[batch.group_of[units.episode]]
    share = (gamma * (entropy - rho)).sigmoid()
    return share * within + (1 - share) * across
