"""One-shot allocators: from estimated success rates to numbers of rollouts."""

from __future__ import annotations

import heapq

import numpy as np

from .registry import proportional_counts, register


@register("uniform")
def uniform(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """The same number for every prompt, within one."""
    return proportional_counts(np.ones(len(p_hat)), budget, low, high)


def knapsack_value(rollouts: np.ndarray | float, p: np.ndarray | float) -> np.ndarray:
    """What N rollouts of a prompt of success rate p are worth: (1 - p^N - (1-p)^N) p (1-p)^2, the chance of a group
    with both outcomes times the gain in success rate of one step on it (Knapsack RL, arXiv 2509.25849, section 3)."""
    p = np.asarray(p, dtype=np.float64)
    return (1 - p**rollouts - (1 - p) ** rollouts) * p * (1 - p) ** 2


@register("knapsack")
def knapsack(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """The counts of the highest total `knapsack_value` (Knapsack RL, arXiv 2509.25849).

    The paper solves a knapsack by dynamic programming. One more rollout is worth p(1-p)^2 [p^N (1-p) + (1-p)^N p],
    which falls with N, so that giving the next rollout to whoever gains most is exact, in O(budget log k). Prompts of
    rate 0 and 1 gain nothing by that measure: what the others cannot take (they are at ``high``) goes to those of
    rate 0 in equal parts, as the paper's fallback, and only then to those of rate 1. With ``low=0`` the formula is
    taken as it stands, value -p(1-p)^2 at N = 0.
    """
    counts = np.full(len(p_hat), low, dtype=np.int64)
    spare = budget - len(p_hat) * low
    mixed = np.flatnonzero((p_hat > 0) & (p_hat < 1))
    if spare < len(mixed) * (high - low):
        counts[mixed] += _greedy(p_hat[mixed], spare, low, high)
        return counts
    for group in (mixed, np.flatnonzero(p_hat == 0), np.flatnonzero(p_hat == 1)):
        extra = min(spare, len(group) * (high - low))
        counts[group] += proportional_counts(np.ones(len(group)), extra, 0, high - low)
        spare -= extra
    return counts


def _greedy(p: np.ndarray, spare: int, low: int, high: int) -> np.ndarray:
    """int64[k]: ``spare`` rollouts above ``low``, each given to the prompt that gains most by it."""
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


@register("cures")
def cures(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """In proportion to the standard deviation sqrt(p(1-p)) of a rollout, by largest remainder (CurES, arXiv 2510.01037;
    Neyman 1934): the counts n that minimise the sum of sigma^2 / n. Equal norms of the gradients of right and of wrong
    answers are assumed, under which the paper's sigma is this one."""
    return proportional_counts(np.sqrt(p_hat * (1 - p_hat)), budget, low, high)


@register("e3")
def e3(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """``low`` each, and the rest in proportion to the rank of difficulty in the batch, 0 for the highest rate (E3,
    arXiv 2505.18573; its code ranks over the data set). Prompts of equal rate share their mean rank."""
    _, place, ties = np.unique(-p_hat, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties + 1) / 2)[place]
    return low + proportional_counts(rank, budget - len(p_hat) * low, 0, high - low)


@register("zero-one")
def zero_one(p_hat: np.ndarray, budget: int, low: int, high: int) -> np.ndarray:
    """Everything above ``low`` to the prompts of rate strictly between 0 and 1, in equal parts: what dynamic sampling
    (DAPO, arXiv 2503.14476) and skipping prompts without signal (GRESO, 2506.02177) come to. Where these cannot take
    it all, the others share the rest."""
    return proportional_counts(((p_hat > 0) & (p_hat < 1)).astype(float), budget, low, high)
