"""Difficulty pools: named ranges of the pass rate, each with a weight (prime-rl's DifficultyPoolSampler).

The reference rebuilds a list of all weights for every single draw; here a batch is drawn at once in O(n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import draw_without_replacement
from ..signals import Groups
from .prompt_teacher import PromptTeacher

UNSEEN = -1.0
POOLS = {"hard": (0.25, 0.2), "normal": (0.75, 1.0), "easy": (1.0, 0.2)}  # prime-rl's defaults


def _sort_pools(name: str, given: Mapping[str, Sequence[float]]) -> list[list[Any]]:
    """Return the [name, threshold, weight] of each pool, easiest last. Raises InputError for invalid pools."""
    ordered = sorted((check_numbers(f"pool {one!r}", pool), one) for one, pool in given.items())
    if not ordered or any(len(pool) != 2 for pool, _ in ordered):
        raise InputError(f"{name}={dict(given)!r} must give name: (threshold, weight) for at least one pool.")
    thresholds, weights = zip(*(pool for pool, _ in ordered))
    if len(set(thresholds)) < len(thresholds):
        raise InputError(f"{name}={dict(given)!r} must have thresholds that differ.")
    if min(weights) < 0 or max(weights) <= 0:
        raise InputError(f"{name}={dict(given)!r} must have weights of at least 0, one of them positive.")
    return [[one, *pool] for pool, one in ordered]


@register("difficulty-pool")
class DifficultyPool(PromptTeacher):
    """Draws each prompt with the weight of the pool into which the mean of its latest group falls.

    A prompt belongs to the first pool whose threshold its latest mean return does not exceed; the last pool takes all
    the rest. A prompt never seen has weight 1. Draws are without replacement within a batch; prompts of weight 0 are
    proposed only if a batch is larger than the number of all others.

    Raises:
        InputError: no pool, equal thresholds, a negative weight, or no positive one.
    """

    paper = "prime-rl, orchestrator/curriculum/samplers/pool.py"
    when = "You want to say by hand how often easy, medium and hard prompts are practised, in the manner of prime-rl."
    kept = ("rates", "_member", "_groups")
    pools: Mapping[str, tuple[float, float]] | Sequence[Sequence[Any]] | None = option(
        default=None,
        check=_sort_pools,
        says="name -> (threshold, weight): highest mean return in [0, 1] of the pool, inclusive, and weight >= 0 of"
        " each prompt in the pool. None takes prime-rl's hard (0.25, 0.2), normal (0.75, 1) and easy (1, 0.2).",
    )
    group: int = option(
        default=8, low=1, says="number of single returns that make a group; 1 takes each return as a group."
    )

    def setup(self) -> None:
        if self.pools is None:
            self.pools = _sort_pools("pools", POOLS)
        self.names, thresholds, weights = zip(*self.pools)
        self._thresholds = np.array(thresholds)
        self._pool_weights = np.array([*weights, 1.0])  # the last weight is for unseen prompts
        super().setup()
        self.rates = np.full(self.pool.n, UNSEEN)
        self._member = np.full(self.pool.n, len(self.names))
        self._groups = Groups(self.group)

    def distribution(self) -> np.ndarray:
        weights = self._pool_weights[self._member]
        total = weights.sum()
        return weights / total if total else np.full(self.pool.n, 1 / self.pool.n)

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        with np.errstate(divide="ignore"):
            chosen, probs = draw_without_replacement(np.log(self._pool_weights[self._member]), k, self._rng)
        origins = np.where(self._member[chosen] == len(self.names), "explore", "exploit").tolist()
        return chosen, probs, origins

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            group = self._groups.add(int(item.record), item.returns)
            if group is not None:
                self.rates[item.record] = group.mean()
                at = int(np.searchsorted(self._thresholds, self.rates[item.record]))
                self._member[item.record] = min(at, len(self.names) - 1)

    def _metrics(self) -> dict[str, float]:
        counts = np.bincount(self._member, minlength=len(self.names) + 1)
        return {f"pool/{name}": float(count) for name, count in zip([*self.names, "unseen"], counts)}
