"""Rewards of a bandit for drawing an arm: measures of learning progress that need only returns.

"Reward" here is the bandit's reward, not the environment's. Learners that compute losses or gradients have other
measures of progress (Graves et al., arXiv 1704.03003, section 4). `ImportanceWeightedArms` is the base of bandits that
divide the reward by the probability with which the arm was drawn.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from ...checks import check_choice, check_count, keyword_declared, option
from ..protocol import Draw, Evidence
from ..sampling import pick
from ..saved_state import Kept, SavedState
from ..signals import Groups, mean_absolute_advantage
from .arm_teacher import ArmTeacher

PayoffKind = Literal["advantage", "change", "gain", "return"]
PAYOFFS = ("advantage", "change", "gain", "return")
LEAST_PROBABILITY = 1e-9  # in importance weights, so that they stay finite


class Payoff(SavedState):
    """Turns each outcome of an arm into the bandit's reward.

    Args:
        kind: "advantage", the mean |advantage| of the group, in [0, 1]; "change", the absolute difference between the
            mean returns of the group and of the arm's previous group, in [0, 1]; "gain", the same difference with its
            sign, in [-1, 1]; "return", the group's mean return, in [0, 1].
        group: number of single returns that make a group, for "advantage" (see `Groups`).
    """

    kept = (Kept("_groups", key="waiting"), Kept("_last", dict[int, float]))

    def __init__(self, kind: PayoffKind, group: int):
        check_count("group", group, low=2)
        self.kind = check_choice("payoff", kind, PAYOFFS)
        self._groups = Groups(int(group))
        self._last: dict[int, float] = {}

    def of(self, arm: int, returns: np.ndarray) -> float | None:
        """Return the reward for float64[n] returns of ``arm``.

        None if the reward is not known yet: the group is incomplete, or the arm has no earlier return to compare with.
        """
        if self.kind == "advantage":
            group = self._groups.add(arm, returns)
            return None if group is None else mean_absolute_advantage(group)
        mean = float(returns.mean())
        if self.kind == "return":
            return mean
        last = self._last.get(arm)
        self._last[arm] = mean
        if last is None:
            return None
        return abs(mean - last) if self.kind == "change" else mean - last


@keyword_declared
class PayoffArms(ArmTeacher):
    """Base of bandits whose reward is a `Payoff`."""

    kept = ("_payoff",)

    payoff: PayoffKind = option(default="advantage", says="reward of the bandit (see `Payoff`).")
    group: int = option(default=8, low=2, says='number of single returns that make a group, for `payoff` "advantage".')

    def setup(self) -> None:
        super().setup()
        self._payoff = Payoff(self.payoff, self.group)


@keyword_declared
class ImportanceWeightedArms(PayoffArms):
    """Base of bandits whose updates need the probability of the draw; a subclass writes `_probabilities` and `_learn`.

    ``Evidence.record`` is [arm, its probability at the time of the draw], as outcomes may come late.
    """

    per_cost: bool = option(
        default=False,
        says="divide the reward by ``Outcome.cost`` if that is given and not 0 (Graves et al., section 3: progress "
        "per time spent).",
    )

    @abstractmethod
    def _learn(self, evidence: list[Evidence]) -> None: ...

    def _importance(self) -> np.ndarray:
        """Return float64[n], the probabilities in the importance weights; by default the draw's probabilities."""
        return self.distribution()

    def _draw(self, k: int) -> list[Draw]:
        probabilities, importance = self.distribution(), self._importance()
        drawn = pick(probabilities, k, self._rng)
        chances = zip(drawn.tolist(), probabilities[drawn].tolist(), importance[drawn].tolist())
        return [Draw([arm, w], self.arms.task(arm, self._rng), p, "exploit") for arm, p, w in chances]

    def _record(self, task: Any) -> list[Any]:
        arm = self.arms.arm(task)
        return [arm, float(self._importance()[arm])]

    def _reward(self, item: Evidence) -> tuple[int, float, float] | None:
        """Return (arm, probability, reward) of an outcome, or None if the reward is not known."""
        arm, probability = int(item.record[0]), float(item.record[1])
        reward = self._payoff.of(arm, item.returns)
        if reward is None:
            return None
        if self.per_cost and item.outcome.cost:
            reward /= item.outcome.cost
        return arm, max(probability, LEAST_PROBABILITY), reward
