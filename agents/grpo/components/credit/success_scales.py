"""Scales for returns that mean success or failure: by the success rate, for several tries, with imagined samples."""

from __future__ import annotations

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...recipes.stages import SCALES
from .peers import answer_entropy
from .units import Units


@SCALES.register("beta_norm")
def beta_norm(units: Units, batch: Batch, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Divide by the density at the group's success rate of a Beta distribution fitted to the success rates of the batch
    (BNPO, arXiv 2506.02864).

    With mean m and variance v of the rates p: a = (m (1 - m) / v - 1) m, likewise b with 1 - m; the density is
    Beta(max(1, 1 + a / 3), max(1, 1 + b / 3)), its inverse limited to 1e6. Rates that are all equal, or those of a
    single group, fit no distribution, and the density is 1.

    Args:
        low, high: returns that count as rate 0 and 1; the advantages are in these units, (r - p) / density.
    """
    span = _span(low, high)
    rate = ((units.with_value(units.raw).mean - low) / span).clamp(0, 1)
    one_each = _first_of_group(units)
    rates = rate[one_each].double()
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
    weight = (-log_density).exp().clamp(max=1e6).to(units.value.dtype)
    # A unanimous group has a weight of up to 1e6, which must not meet the rounding error of its mean.
    return torch.where(units.value.abs() > 1e-6 * span, units.value / span * weight, 0)


@SCALES.register("pass_at_k")
def pass_at_k(units: Units, batch: Batch, k: int = 4, threshold: float = 0.5) -> Tensor:
    """Advantage of the success of any of k samples, in closed form; the baseline is not used (pass@k training, arXiv
    2508.10751).

    With n samples of which w failed, q = C(w, k) / C(n, k) is the rate at which k samples all fail and s = sqrt(q (1 -
    q)): a success gets q / s, a failure (q - C(w-1, k-1) / C(n-1, k-1)) / s, and both 0 where s = 0. A group of at most
    k samples is left alone.
    """
    won = units.raw > threshold
    size = units.size.double()
    lost = size - units.sum_by_group(won.to(units.value.dtype)).double()
    fail = _choose_ratio(lost, size, k)
    spread = (fail * (1 - fail)).sqrt()
    advantage = torch.where(won, fail, fail - _choose_ratio(lost - 1, size - 1, k - 1))
    return torch.where(spread > 1e-9, advantage / spread.clamp(min=1e-9), 0).to(units.value.dtype)


def _choose_ratio(few: Tensor, many: Tensor, k: float) -> Tensor:
    """C(few, k) / C(many, k), 0 where few < k: [M], [M] -> [M]."""
    ratio = torch.ones_like(few)
    for i in range(round(k)):
        ratio = ratio * (few - i).clamp(min=0) / (many - i).clamp(min=1)
    return ratio


@SCALES.register("best_gap")
def best_gap(units: Units, batch: Batch) -> Tensor:
    """The best sample of a group gets its lead over the second best, all others 0; the baseline is not used (arXiv
    2503.19595: the gradient of the expected maximum). 0 for a group of one and where the best are several.
    """
    value = units.raw
    best = torch.full((units.groups,), -torch.inf, dtype=value.dtype)
    best = best.scatter_reduce(0, units.group, value, "amax")[units.group]
    is_best = value == best
    second = torch.full((units.groups,), -torch.inf, dtype=value.dtype)
    second = second.scatter_reduce(0, units.group, torch.where(is_best, -torch.inf, value), "amax")[units.group]
    alone = is_best & (units.sum_by_group(is_best.to(value.dtype)) == 1) & (units.size > 1)
    return torch.where(alone, best - second, 0)


@SCALES.register("virtual_std")
def virtual_std(units: Units, batch: Batch, best: float = 1.0, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the standard deviation of the group and one imagined sample of return ``best``; goes with the baseline
    "virtual_best" (NGRPO, arXiv 2509.18851).
    """
    value, size = units.raw, units.size + 1
    middle = (units.sum_by_group(value) + best) / size
    squares = units.sum_by_group((value - middle) ** 2) + (best - middle) ** 2
    return units.value / ((squares / (size - ddof).clamp(min=1)).sqrt() + eps)


@SCALES.register("kalman_std")
def kalman_std(units: Units, batch: Batch, variance: float = 1.0, noise: float = 0.01, eps: float = 1e-8) -> Tensor:
    """Divide by the standard deviation that is left to the filter of the baseline "kalman", whose parameters it must
    share (KRPO, arXiv 2505.07527).
    """
    return units.value / (1 / (1 / variance + units.size / noise) + eps).sqrt()


@SCALES.register("consistency_blend")
def consistency_blend(
    units: Units, batch: Batch, gamma: float = 20.0, rho: float = 1.5, eps: float = 1e-4, answer_format: str = "any"
) -> Tensor:
    """w x (advantage within the group) + (1 - w) x (advantage of the group's mean among the batch's), w = sigmoid(gamma
    (H - rho)), H the entropy in nats of the group's final answers: unanimous groups learn from how their task compares
    with others (COPO, arXiv 2508.04138).

    The paper blends the two losses; blending the advantages differs from that only where a ratio is clipped.
    """
    returns = units.with_value(units.raw)
    level = returns.mean
    levels = level[_first_of_group(units)]
    across = (level - levels.mean()) / ((levels.std() if len(levels) > 1 else levels.new_zeros(())) + eps)
    within = units.value / (returns.std(1) + eps)
    entropy = answer_entropy(batch, answer_format).to(level.dtype)[batch.group_of[units.episode]]
    share = (gamma * (entropy - rho)).sigmoid()
    return share * within + (1 - share) * across


def _first_of_group(units: Units) -> Tensor:
    """One unit of each group that has any, bool [M]."""
    first = torch.full((units.groups,), len(units.group), dtype=torch.int64)
    first = first.scatter_reduce(0, units.group, torch.arange(len(units.group)), "amin")
    return torch.arange(len(units.group)) == first[units.group]


def _span(low: float, high: float) -> float:
    if high <= low:
        raise InputError(f"the return of a success, high={high}, must exceed that of a failure, low={low}.")
    return high - low
