"""GRESO: skip, before any rollout, prompts whose last groups had no variance (arXiv 2506.02177).

A prompt whose last z groups each had equal rewards is tried again with probability p^z. There is one p for too easy and
one for too hard prompts; a controller adjusts both to meet a given share of groups without variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import check_share, option
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..signals import Groups, is_flat
from .prompt_teacher import PromptTeacher


def _sort_bounds(name: str, value: Any) -> list[float]:
    low, high = (check_share(name, bound, positive=True) for bound in value)
    return [min(low, high), max(low, high)]


@register("greso")
class GRESO(PromptTeacher):
    """Goes through the prompts in turn and skips one with probability 1 - p^z after z groups without variance.

    A group without variance is too easy if its returns are above 1/2, else too hard. z counts such groups of one side
    in a row; a group with variance resets it to 0. At z = 0 nothing is skipped. Skipped turns are drawn as geometric
    waiting times, so that the cost of a proposal does not depend on the number skipped.
    """

    paper = "2506.02177"
    when = (
        "Several passes over a large data set: prompts that gave no signal before are skipped before any rollout is "
        "spent."
    )
    kept = ("p", "flat", "_easy", "_due", "_groups", "_flat_groups", "_all_groups", "_shares")
    p_easy: float = option(default=0.5, low=0, high=1, saved=False, says="initial p of too easy prompts.")
    p_hard: float = option(default=0.5, low=0, high=1, saved=False, says="initial p of too hard prompts.")
    target: float = option(
        default=0.25,
        low=0,
        high=1,
        says="share of all groups that may have no variance: one third of it too easy, two thirds too hard, as in "
        "the released code.",
    )
    step: float = option(
        default=0.01,
        above=0,
        says="change of each p at a step of the controller: p falls if its share of groups without variance is at "
        "or above the target, and rises otherwise.",
    )
    bounds: tuple[float, float] = option(
        default=(0.05, 0.95), check=_sort_bounds, says="lowest and highest p (the released code's)."
    )
    floor: float = option(
        default=0.01,
        low=0,
        high=1,
        says="least probability of a try, as in the released code; 0 follows the paper's formula.",
    )
    batch: int = option(
        default=64,
        low=1,
        says="groups per step of the controller. One call of `observe` makes at most one step, from all its "
        "groups; smaller calls are collected (64 is our choice).",
    )
    group: int = option(default=8, low=2, says="number of single returns that make a group.")

    def setup(self) -> None:
        self.settings = {"p": [self.p_hard, self.p_easy]}
        super().setup()
        self.p = np.array([self.p_hard, self.p_easy])
        self.targets = self.target * np.array([2 / 3, 1 / 3])
        n = self.pool.n
        self.flat = np.zeros(n, dtype=np.int64)  # z
        self._easy = np.zeros(n, dtype=np.int64)  # 1 where the last group without variance was too easy
        self._due = np.arange(n, dtype=np.float64)  # time of each prompt's next turn; one pass takes n
        self._rng.shuffle(self._due)
        self._groups = Groups(self.group)
        self._flat_groups, self._all_groups = np.zeros(2), 0  # since the controller's last step
        self._shares = np.zeros(2)

    def try_probability(self) -> np.ndarray:
        """Return float64[n], the probability that each prompt is not skipped when its turn comes."""
        return np.maximum(self.p[self._easy] ** self.flat, np.where(self.flat, self.floor, 0.0))

    def _choose(self, k: int) -> tuple[np.ndarray, float, list[str]]:
        n, chance = self.pool.n, np.maximum(self.try_probability(), 1e-300)
        with np.errstate(divide="ignore"):
            skips = np.floor(np.log1p(-self._rng.random(n)) / np.log1p(-chance))  # 0 at chance 1
        accepted = self._due + n * np.minimum(skips, 1e6)  # a chance that underflows must not wait for ever
        chosen = argsmallest(accepted, k, self._rng)
        end = accepted[chosen[-1]]
        passed = self._due <= end  # their turn came, and they were skipped
        passed[chosen] = False
        self._due[passed] += n * (np.floor((end - self._due[passed]) / n) + 1)
        self._due[chosen] = accepted[chosen] + n
        origins = np.where(self.flat[chosen] > 0, "review", "explore").tolist()
        return chosen, np.nan, origins

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            task = int(item.record)
            group = self._groups.add(task, item.returns)
            if group is None:
                continue
            self._all_groups += 1
            if not is_flat(group):
                self.flat[task] = 0
                continue
            easy = int(group.mean() > 0.5)
            self.flat[task] = self.flat[task] + 1 if self._easy[task] == easy else 1
            self._easy[task] = easy
            self._flat_groups[easy] += 1
        if self._all_groups >= self.batch:
            self._shares = self._flat_groups / self._all_groups
            moved = self.p + np.where(self._shares >= self.targets, -self.step, self.step)
            self.p = np.clip(moved, *self.bounds)
            self._flat_groups, self._all_groups = np.zeros(2), 0

    def _metrics(self) -> dict[str, float]:
        return {
            "p_hard": self.p[0],
            "p_easy": self.p[1],
            "hard_share": self._shares[0],
            "easy_share": self._shares[1],
            "try_probability": float(self.try_probability().mean()),
        }
