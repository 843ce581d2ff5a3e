"""Difficulty pools: named ranges of the pass rate, each with a weight (prime-rl's DifficultyPoolSampler).

The reference rebuilds a list of all weights for every single draw; here a batch is drawn at once in O(n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_numbers
from ...errors import InputError
from ..protocol import Common, Evidence, restore_array
from ..registration import register
from ..sampling import in_turn
from ..signals import Groups
from .prompt_teacher import PromptTeacher

UNSEEN = -1.0
POOLS = {"hard": (0.25, 0.2), "normal": (0.75, 1.0), "easy": (1.0, 0.2)}  # prime-rl's defaults


@register("difficulty-pool")
class DifficultyPool(PromptTeacher):
    """Draws prompts by the weight of the pool that their latest group mean falls into.

    A prompt belongs to the first pool whose threshold its latest mean return does not exceed; the last pool takes all
    the rest. A prompt never seen has weight 1. Draws are without replacement within a batch; prompts of weight 0 come
    only when a batch asks for more than all others.

    Args:
        pools: name -> (threshold, weight): inclusive highest mean return in [0, 1], and weight >= 0 of each prompt in
            the pool.
        group: single returns that make a group; 1 takes each return as a group.
        space, bins, seed, return_range, max_in_flight: see `PromptTeacher`.

    Raises:
        InputError: no pool, equal thresholds, a negative weight, or no positive one.
    """

    paper = "prime-rl, orchestrator/curriculum/samplers/pool.py"

    def __init__(
        self,
        space: Any,
        *,
        pools: Mapping[str, tuple[float, float]] = POOLS,
        group: int = 8,
        bins: int | Sequence[int] | None = None,
        **common: Unpack[Common],
    ):
        ordered = sorted((check_numbers(f"pool {name!r}", pool), name) for name, pool in pools.items())
        if not ordered or any(len(pool) != 2 for pool, _ in ordered):
            raise InputError(f"pools={dict(pools)!r} must give name: (threshold, weight) for at least one pool.")
        thresholds, weights = np.array([pool for pool, _ in ordered]).T
        if len(np.unique(thresholds)) < len(thresholds):
            raise InputError(f"pools={dict(pools)!r} must have thresholds that differ.")
        if (weights < 0).any() or not (weights > 0).any():
            raise InputError(f"pools={dict(pools)!r} must have weights of at least 0, one of them positive.")
        if isinstance(group, bool) or not isinstance(group, int) or group < 1:
            raise InputError(f"group={group!r} must be a whole number of at least 1.")
        self.names, self._thresholds = [name for _, name in ordered], thresholds
        self._pool_weights = np.append(weights, 1.0)  # the last weight is for unseen prompts
        settings = {"pools": [[name, *pool] for pool, name in ordered], "group": group}
        super().__init__(space, bins=bins, settings=settings, **common)
        self.rates = np.full(self.pool.n, UNSEEN)
        self._member = np.full(self.pool.n, len(self.names))
        self._groups = Groups(group)

    def distribution(self) -> np.ndarray:
        weights = self._pool_weights[self._member]
        total = weights.sum()
        return weights / total if total else np.full(self.pool.n, 1 / self.pool.n)

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        with np.errstate(divide="ignore"):
            chosen, probs = in_turn(np.log(self._pool_weights[self._member]), k, self._rng)
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

    def _save(self) -> dict[str, Any]:
        return {"rates": self.rates.tolist(), "member": self._member.tolist(), "groups": self._groups.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        self.rates = restore_array(own["rates"], self.rates)
        self._member = restore_array(own["member"], self._member)
        self._groups.restore(own["groups"])
