"""Rewards that count under a condition: `Gate` and `Veto`."""

from __future__ import annotations

from collections.abc import Mapping

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .composite import Single, correct_terms, reward_terms


@register("gate")
class Gate(Single):
    """Another reward, paid only where a condition holds.

    Args:
        child: the reward that is let through or not.
        condition: a reward whose value must reach ``threshold``; it pays nothing itself. None is the episode's success.
        threshold: least value of the condition.
        otherwise: what is paid where the gate is shut.
    """

    def __init__(self, child: Reward, condition: Reward | None = None, threshold: float = 0.5, otherwise: float = 0.0):
        super().__init__(child, **({} if condition is None else {"condition": condition}))
        self.threshold = check_number("threshold", threshold)
        self.otherwise = check_number("otherwise", otherwise)

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(low, self.otherwise), max(high, self.otherwise)

    def describe(self) -> str:
        what = f"condition >= {self.threshold:g}" if "condition" in self.children else "success"
        return f"{self.name} on {what}, otherwise {self.otherwise:g}"

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        condition = verdicts.get("condition")
        is_open = episode.success if condition is None else condition.reward >= self.threshold
        terms = reward_terms(self.child, verdicts["child"])
        if is_open:
            return terms
        return correct_terms(self.name, dict.fromkeys(terms, 0.0), self.otherwise)


@register("veto")
class Veto(Single):
    """Another reward, unless one of the critical ones falls below a threshold: then ``otherwise``, whatever it says.

    Args:
        child: the reward.
        threshold: least value of every critic.
        otherwise: what a vetoed episode is worth.
        **critics: the rewards that may veto; they pay nothing themselves.
    """

    paper = "Rubric Anchors, arXiv 2508.12790 (veto)"

    def __init__(self, child: Reward, threshold: float = 0.5, otherwise: float = 0.0, **critics: Reward):
        if not critics:
            raise InputError("a veto needs at least one critic by name, such as Veto(child, polite=...).")
        super().__init__(child, **critics)
        self.threshold = check_number("threshold", threshold)
        self.otherwise = check_number("otherwise", otherwise)

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(low, self.otherwise), max(high, self.otherwise)

    def describe(self) -> str:
        return f"{self.name} below {self.threshold:g}, then {self.otherwise:g}"

    def adjusted(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        vetoed = any(verdict.reward < self.threshold for name, verdict in others.items() if name != "child")
        return self.otherwise if vetoed else value
