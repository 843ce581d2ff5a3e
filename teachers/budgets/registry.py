"""Allocators by name: how many rollouts each prompt of a batch gets.

An allocator is a function ``(p_hat, budget, low, high, **params) -> int64[k]``: estimated success rates in, counts out
that lie in [low, high] and add up to the budget. Each is a few lines in a module of this folder; other distributions
join through the entry-point group ``palaestra.allocators``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ...registry import Registry

Allocator = Callable[..., np.ndarray]

ALLOCATORS: Registry[Allocator] = Registry("allocator", group="palaestra.allocators", modules=[__package__ or ""])


def register(name: str) -> Callable[[Allocator], Allocator]:
    """Decorator that adds an allocator under ``name`` and checks what it is given (see `checked`)."""

    def add(allocator: Allocator) -> Allocator:
        @wraps(allocator)
        def allocate(p_hat: Any, budget: int, low: int = 2, high: int = 128, **params: Any) -> np.ndarray:
            return allocator(checked(p_hat, budget, low, high), int(budget), int(low), int(high), **params)

        return ALLOCATORS.register(name)(allocate)

    return add


def checked(p_hat: Any, budget: int, low: int, high: int) -> np.ndarray:
    """``p_hat`` as float64[k]. Raises InputError for rates outside [0, 1], or bounds under which k counts cannot add up
    to the budget."""
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
    """int64[k] in [low, high] that add up to ``budget``, as nearly proportional to ``weights >= 0`` as that allows.

    The real-valued solution is clip(c w, low, high) for the one c that spends the budget; it is rounded by largest
    remainder, earlier prompts first. What cannot be spent on positive weights goes to the others in equal parts.
    ``k low <= budget <= k high`` is the caller's to see to.
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
    exact[positive] = _clipped(w[positive], budget - int((~positive).sum()) * low, low, high)
    exact = np.round(exact, 9)  # so that a whole number that is a rounding error below itself counts as one
    counts = np.floor(exact).astype(np.int64)
    missing = budget - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def _clipped(w: np.ndarray, total: float, low: int, high: int) -> np.ndarray:
    """clip(c w, low, high) with the c at which it adds up to ``total``; the sum is piecewise linear in c."""
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
