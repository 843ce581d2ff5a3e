"""Rewards that count under a condition: `Gate` and `Veto`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...checks import check_number, option
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from ..verdict import Verdict
from .composite import Parts, Single


def _check_where(name: str, where: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
    where = where or {}
    if any(isinstance(values, str) or not isinstance(values, Collection) for values in where.values()):
        raise InputError(f"{name} must map parameters to lists of values, {{'intent': ['report']}}, not {where!r}.")
    return {parameter: tuple(values) for parameter, values in where.items()}


@register("gate")
class Gate(Single):
    """Another reward where a condition holds, and ``otherwise`` elsewhere.

    The child judges only episodes that meet the condition. A child that compares siblings judges the whole group if at
    least one episode meets the condition.

    The condition is a reward whose value must reach ``threshold``; that value is not added. Without ``condition``, an
    episode must succeed, or, if ``where`` is given, only match ``where``.
    """

    child: Reward = option(says="the reward to gate.")
    condition: Reward | None = option(default=None, says="reward that decides; None takes the episode's success.")
    threshold: float = option(default=0.5, says="the condition holds from this value of ``condition`` on.")
    otherwise: float = option(default=0.0, says="the reward where the condition does not hold.")
    where: Mapping[str, Sequence[Any]] = option(
        default=None,
        check=_check_where,
        says='allowed values by task parameter: ``{"intent": ["report", "compare"]}``.',
    )

    def setup(self) -> None:
        self.take_parts({"child": self.child, **({} if self.condition is None else {"condition": self.condition})})
        self.where = self.where or {}

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(low, self.otherwise), max(high, self.otherwise)

    def describe(self) -> str:
        what = f"condition >= {self.threshold:g}" if "condition" in self.children else "success"
        if self.where:
            what = f"{self.where}" + (f" and {what}" if "condition" in self.children else "")
        return f"{self.name} on {what}, otherwise {self.otherwise:g}"

    def judge_parts(self, groups: Sequence[Sequence[Episode]]) -> dict[str, list[list[Verdict]]]:
        others = {name: part.batch(groups) for name, part in self.children.items() if name != "child"}
        compares = any(isinstance(part, GroupReward) for part in self.child.walk())
        judged = []
        is_open: list[list[bool]] = []
        for g, group in enumerate(groups):
            holds = [self._holds(e, {name: rows[g][i] for name, rows in others.items()}) for i, e in enumerate(group)]
            is_open.append([any(holds)] * len(group) if compares else holds)
        asked = [[e for e, flag in zip(*pair, strict=True) if flag] for pair in zip(groups, is_open, strict=True)]
        for group, flags, found in zip(groups, is_open, self.child.batch(asked), strict=True):
            rest = iter(found)
            judged.append(
                [next(rest) if flag else self.child.verdict(e, 0.0) for e, flag in zip(group, flags, strict=True)]
            )
        return {"child": judged, **others}

    def _holds(self, episode: Episode, others: Mapping[str, Verdict]) -> bool:
        if any(episode.params.get(name) not in values for name, values in self.where.items()):
            return False
        condition = others.get("condition")
        if condition is None:
            return bool(self.where) or episode.success
        return condition.valid and condition.reward >= self.threshold

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        child = Parts.of(self.child, verdicts["child"])
        if self._holds(episode, verdicts):
            return child
        if len(child.terms) == 1:
            return Parts(dict.fromkeys(child.terms, self.otherwise))
        return Parts({**dict.fromkeys(child.terms, 0.0), self.name: self.otherwise})


@register("veto")
class Veto(Single):
    """Another reward, or ``otherwise`` if one of several critics falls below a threshold.

    Args:
        child: the reward used when no critic objects.
        threshold: lowest value of a critic that does not veto.
        otherwise: reward of a vetoed episode.
        **critics: the rewards that may veto; their values are not added.
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

    def adjust(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        vetoed = any(verdict.reward < self.threshold for name, verdict in others.items() if name != "child")
        return self.otherwise if vetoed else value
