"""Rewards that compare an episode with its siblings: `Normalize` and `Trust`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...checks import check_count, check_number, option
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .composite import Composite, Parts, Single, apply_to_sum
from .sums import check_weights


@register("normalize")
class Normalize(Composite):
    """Sum of its parts, each standardised within the group, so that no part counts more because of its scale.

    A_k = (r_k - mean of the group) / (std of the group + eps), r = sum_k w_k A_k. With ``whiten``, r is standardised
    once more over all episodes of the batch. A part that is constant in a group adds 0 there. The value is already an
    advantage: a recipe that uses this reward needs neither baseline nor scale.

    Args:
        weights: part name -> positive weight; 1 for parts not named.
        whiten: standardise the sum over the batch, GDPO's last step.
        eps: added to standard deviations.
        ddof: 1 for the unbiased standard deviation, 0 for the population's; groups of at most ``ddof`` episodes add 0.
        **parts: the rewards.

    Raises:
        InputError: a weight that is not positive, or a negative ``eps`` or ``ddof``.
    """

    paper = "GDPO, arXiv 2601.05242, section 3"

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        whiten: bool = True,
        eps: float = 1e-4,
        ddof: int = 1,
        **parts: Reward,
    ):
        super().__init__(parts)
        self.weights = check_weights(weights, self.children)
        self.whiten = whiten
        self.eps = check_number("eps", eps, low=0.0)
        self.ddof = check_count("ddof", ddof)

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float] | Parts]]:
        raw = [np.array([[parts[name].reward for name in self.children] for parts in judged]) for judged in verdicts]
        weights = np.array(list(self.weights.values()))
        tables = [weights * standardise_columns(table, self.eps, self.ddof) if len(table) else table for table in raw]
        if self.whiten and any(len(table) for table in tables):
            tables = whiten_rows(tables, self.eps, self.ddof)
        return [
            [self._make_parts(parts, old, new, factors) for parts, old, new in zip(judged, before, after, strict=True)]
            for judged, before, after, factors in zip(verdicts, raw, tables, map(_find_factors, raw, tables))
        ]

    def _make_parts(
        self, verdicts: Mapping[str, Verdict], before: np.ndarray, after: np.ndarray, factors: np.ndarray
    ) -> Parts:
        """Build one episode's terms. Rewards of turns are scaled like their part; the last also gets the shift."""
        terms = dict(zip(self.children, map(float, after), strict=True))
        steps = {}
        for name, old, new, factor in zip(self.children, before, after, factors, strict=True):
            verdict = verdicts[name]
            if verdict.steps and set(verdict.steps) == set(verdict.terms):
                shift = float(new - factor * old)
                steps[name] = apply_to_sum(verdict.by_turn, lambda value, f=float(factor), s=shift: f * value + s)
        return Parts(terms, steps)


@register("trust")
class Trust(Single):
    """Another reward, weighted by its agreement with success within the group.

    With m_c the mean of the child over the episodes that succeed and m_w over the others, the weight is 1 if m_c >= m_w
    and exp(m_c - m_w) otherwise: a score that is higher for wrong answers loses weight. In a group where all succeed,
    or none, the weight is 1.
    """

    paper = "SophiaVL-R1 (Trust-GRPO), arXiv 2505.17018"
    child: Reward = option(says="the reward to weight, such as a judge's.")
    by: Reward | None = option(default=None, says="reward that decides which episodes are good; None takes success.")
    threshold: float = option(default=0.5, says="an episode is good from this value of ``by`` on.")

    def setup(self) -> None:
        self.take_parts({"child": self.child, **({} if self.by is None else {"by": self.by})})

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(low, 0.0), max(high, 0.0)

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float] | Parts]]:
        result: list[list[Mapping[str, float] | Parts]] = []
        for episodes, judged in zip(groups, verdicts, strict=True):
            values = [parts["child"].reward for parts in judged]
            good = [
                parts["by"].reward >= self.threshold if "by" in parts else episode.success
                for episode, parts in zip(episodes, judged, strict=True)
            ]
            weight = trust_weight(values, good)
            result.append(
                [Parts.of(self.child, parts["child"]).apply(self.name, lambda v, w=weight: w * v) for parts in judged]
            )
        return result


def _find_factors(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the slope [K] of each column of ``after`` [G, K] over ``before`` [G, K]; 0 for constant columns."""
    if not len(before):
        return np.zeros(0)
    high, low = before.argmax(axis=0), before.argmin(axis=0)
    columns = np.arange(before.shape[1])
    spread = before[high, columns] - before[low, columns]
    rise = after[high, columns] - after[low, columns]
    return np.divide(rise, spread, out=np.zeros(len(columns)), where=spread > 0)


def trust_weight(values: Sequence[float], good: Sequence[bool]) -> float:
    """Return min(1, exp(mean of ``values`` where good - mean of the rest)), or 1 if either set is empty (Trust-GRPO,
    arXiv 2505.17018)."""
    of_good = [value for value, flag in zip(values, good, strict=True) if flag]
    of_bad = [value for value, flag in zip(values, good, strict=True) if not flag]
    if not of_good or not of_bad:
        return 1.0
    return min(1.0, math.exp(float(np.mean(of_good)) - float(np.mean(of_bad))))


def standardise_columns(values: np.ndarray, eps: float, ddof: int) -> np.ndarray:
    """Return the columns of ``values`` [G, K] minus their mean, over their standard deviation + eps (GDPO, arXiv
    2601.05242). A column of equal values becomes zeros; so do all columns if there are at most ``ddof`` rows."""
    if len(values) <= ddof:
        return np.zeros_like(values)
    spread = values.std(axis=0, ddof=ddof)
    centred = values - values.mean(axis=0)
    return np.where(np.ptp(values, axis=0) > 0, centred / np.where(spread + eps > 0, spread + eps, 1.0), 0.0)


def whiten_rows(tables: list[np.ndarray], eps: float, ddof: int) -> list[np.ndarray]:
    """Rescale tables [G, K] so that the sums of their rows have mean 0 and standard deviation 1 over all tables.

    The mean of the sums is subtracted in equal parts from the K columns (GDPO, arXiv 2601.05242). With at most ``ddof``
    rows over all tables, nothing changes.
    """
    sums = np.concatenate([table.sum(axis=1) for table in tables if len(table)])
    if len(sums) <= ddof:
        return tables
    scale = sums.std(ddof=ddof) + eps or 1.0
    columns = next(table.shape[1] for table in tables if len(table))
    return [(table - sums.mean() / columns) / scale if len(table) else table for table in tables]
