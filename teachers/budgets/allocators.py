"""Allocators: the number of rollouts of each prompt of a batch, from estimated success rates.

An allocator is a function ``(p_hat, budget, low, high, **params) -> int64[k]`` of k estimated success rates, the total
number of rollouts, and bounds for each prompt; the counts lie in [low, high] and sum to the budget. Allocators are
registered by name; installed packages add theirs by the entry-point group ``palaestra.allocators``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ...registry import Registry

Allocator = Callable[..., np.ndarray]

ALLOCATORS: Registry[Allocator] = Registry("allocator", group="palaestra.allocators")


def register_allocator(name: str) -> Callable[[Allocator], Allocator]:
    """Return a decorator that registers an allocator under ``name`` and checks its arguments (see `check_rates`)."""

    def add(allocator: Allocator) -> Allocator:
        @wraps(allocator)
        def allocate(p_hat: Any, budget: int, low: int = 2, high: int = 128, **params: Any) -> np.ndarray:
            return allocator(check_rates(p_hat, budget, low, high), int(budget), int(low), int(high), **params)

        return ALLOCATORS.register(name)(allocate)

    return add


def check_rates(p_hat: Any, budget: int, low: int, high: int) -> np.ndarray:
    """Return ``p_hat`` as float64[k]. Raises InputError for rates outside [0, 1], or bounds under which k counts cannot
    sum to the budget."""
    rates = np.asarray(p_hat, dtype=np.float64)
    if rates.ndim != 1 or not ((rates >= 0) & (rates <= 1)).all():
        raise InputError(f"p_hat={p_hat!r} must be a flat sequence of success rates in [0, 1].")
    for name, value in (("budget", budget), ("low", low), ("high", high)):
        check_count(name, value, low=0)
    k = len(rates)
    if not low <= high:
        raise InputError(f"low={low} is above high={high}; give the lower bound first.")
    if not k * low <= budget <= k * high:
        raise InputError(
            f"a budget of {budget} rollouts cannot be shared out among {k} prompts with {low} to {high} each; "
            f"give {k * low} to {k * high}, or other bounds."
        )
    return rates


def proportional_counts(weights: Sequence[float] | np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Allocate int64[k] counts in [low, high] with sum ``budget``, as nearly proportional to ``weights >= 0`` as
    possible.

    The real-valued solution, clip(c w, low, high) for the c that spends the budget, is rounded by largest remainder,
    earlier prompts first. If all prompts with positive weight are at ``high``, the rest is split equally among the
    others. ``k low <= budget <= k high`` must hold.
    """
    w = np.asarray(weights, dtype=np.float64)
    positive = w > 0
    counts = np.full(len(w), low, dtype=np.int64)
    room = int(positive.sum()) * high + int((~positive).sum()) * low
    if budget >= room:
        counts[positive] = high
        if budget > room:
            idle = len(w) - int(positive.sum())
            counts[~positive] = proportional_counts(np.ones(idle), budget - int(positive.sum()) * high, low, high)
        return counts
    exact = counts.astype(np.float64)
    exact[positive] = _clip_to_total(w[positive], budget - int((~positive).sum()) * low, low, high)
    exact = np.round(exact, 9)  # so that a whole number that is a rounding error below itself counts as one
    counts = np.floor(exact).astype(np.int64)
    missing = budget - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def _clip_to_total(w: np.ndarray, total: float, low: int, high: int) -> np.ndarray:
    """Return clip(c w, low, high) for the c that makes its sum ``total``; the sum is piecewise linear in c."""
    w = np.maximum(w / w.max(), 1e-12)  # a ratio past 1e12 is beyond any count
    corners = np.unique(np.concatenate([low / w, high / w]))

    def at(c: float) -> np.ndarray:
        return np.clip(c * w, low, high)

    left, right = 0, len(corners) - 1
    while right - left > 1:
        middle = (left + right) // 2
        left, right = (middle, right) if at(corners[middle]).sum() <= total else (left, middle)
    below, above = at(corners[left]), at(corners[right])
    gap = above.sum() - below.sum()
    return below + (above - below) * ((total - below.sum()) / gap if gap > 0 else 0.0)


@register_allocator("uniform")
def allocate_evenly(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Give every prompt the same number of rollouts, within one."""
    return proportional_counts(np.ones(len(p_hat)), budget, low, high)


def knapsack_value(rollouts: np.ndarray | float, p: np.ndarray | float) -> np.ndarray:
    """Return the value of N rollouts of a prompt of success rate p: (1 - p^N - (1-p)^N) p (1-p)^2.

    The value is the probability of a group with successes and failures times the gain in success rate by one step on
    the prompt (Knapsack RL, arXiv 2509.25849, section 3).
    """
    p = np.asarray(p, dtype=np.float64)
    return (1 - p**rollouts - (1 - p) ** rollouts) * p * (1 - p) ** 2


@register_allocator("knapsack")
def allocate_by_value(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Compute the counts with the highest total `knapsack_value` (Knapsack RL, arXiv 2509.25849).

    The paper solves a knapsack by dynamic programming. The value of one more rollout is p(1-p)^2 [p^N (1-p) + (1-p)^N
    p], which falls with N. Giving each rollout to the prompt that gains most is therefore exact, in O(budget log k).
    Prompts of rate 0 and 1 gain nothing. Budget left when all others are at ``high`` goes to prompts of rate 0 in equal
    parts, as the paper's fallback, and only then to prompts of rate 1. With ``low=0`` the formula is used unchanged,
    with value -p(1-p)^2 at N = 0.
    """
    counts = np.full(len(p_hat), low, dtype=np.int64)
    spare = budget - len(p_hat) * low
    mixed = np.flatnonzero((p_hat > 0) & (p_hat < 1))
    if spare < len(mixed) * (high - low):
        counts[mixed] += _allocate_greedily(p_hat[mixed], spare, low, high)
        return counts
    for group in (mixed, np.flatnonzero(p_hat == 0), np.flatnonzero(p_hat == 1)):
        extra = min(spare, len(group) * (high - low))
        counts[group] += proportional_counts(np.ones(len(group)), extra, 0, high - low)
        spare -= extra
    return counts


def _allocate_greedily(p: np.ndarray, spare: int, low: int, high: int) -> np.ndarray:
    """Return int64[k], ``spare`` rollouts above ``low``, each given to the prompt that gains most by it."""
    gain = (p * (1 - p) ** 2).tolist()
    won = (p**low * (1 - p)).tolist()  # the two terms of the increment; each more rollout multiplies them by p and 1-p
    lost = ((1 - p) ** low * p).tolist()
    rates, counts = p.tolist(), [0] * len(p)
    heap = [(-gain[i] * (won[i] + lost[i]), i) for i in range(len(p))] if high > low else []
    heapq.heapify(heap)
    for _ in range(spare):
        i = heap[0][1]
        counts[i] += 1
        won[i], lost[i] = won[i] * rates[i], lost[i] * (1 - rates[i])
        if counts[i] < high - low:
            heapq.heapreplace(heap, (-gain[i] * (won[i] + lost[i]), i))
        else:
            heapq.heappop(heap)
    return np.array(counts, dtype=np.int64)


@register_allocator("cures")
def allocate_by_deviation(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Allocate in proportion to the standard deviation sqrt(p(1-p)) of a rollout, by largest remainder (CurES, arXiv
    2510.01037; Neyman 1934): the counts n that minimise the sum of sigma^2 / n. The paper's sigma equals sqrt(p(1-p))
    if gradients of right and of wrong answers have equal norms, which is assumed."""
    return proportional_counts(np.sqrt(p_hat * (1 - p_hat)), budget, low, high)


@register_allocator("e3")
def allocate_by_difficulty(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Give each prompt ``low``, and share the rest in proportion to the rank of difficulty in the batch, 0 for the
    highest rate (E3, arXiv 2505.18573; its code ranks over the data set). Prompts of equal rate share their mean
    rank."""
    _, place, ties = np.unique(-p_hat, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties + 1) / 2)[place]
    return low + proportional_counts(rank, budget - len(p_hat) * low, 0, high - low)


@register_allocator("zero-one")
def allocate_to_mixed(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Give the budget above ``low`` to the prompts of rate strictly between 0 and 1, in equal parts. Dynamic sampling
    (DAPO, arXiv 2503.14476) and skipping prompts without signal (GRESO, 2506.02177) have the same effect. If these
    prompts are full, the others share the rest."""
    return proportional_counts(((p_hat > 0) & (p_hat < 1)).astype(float), budget, low, high)
