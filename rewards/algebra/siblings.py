"""Rewards that compare an episode with its siblings: `Normalize` and `Trust`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...checks import check_count, check_number
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .composite import Composite, Single, correct_terms, reward_terms
from .sums import check_weights


@register("normalize")
class Normalize(Composite):
    """Each part centred and scaled within its group, then added up: a part's weight no longer depends on its spread.

    A_k = (r_k - mean of the group) / (std of the group + eps), r = sum_k w_k A_k, and with ``whiten`` the sum is
    centred and scaled once more over all episodes of the batch. A part that is equal throughout a group adds 0 there.
    The value is an advantage already: the recipe that uses it needs neither baseline nor scale.

    Args:
        weights: part name -> positive weight; 1 for those not named.
        whiten: GDPO's last step, over the batch.
        eps: added to standard deviations.
        ddof: 1 for the unbiased standard deviation, 0 for the population's; a group of one episode adds 0.
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
    ) -> list[list[Mapping[str, float]]]:
        tables = []
        for judged in verdicts:
            raw = np.array([[parts[name].reward for name in self.children] for parts in judged])
            weights = np.array(list(self.weights.values()))
            tables.append(weights * standardise_columns(raw, self.eps, self.ddof) if len(raw) else raw)
        if self.whiten and any(len(table) for table in tables):
            tables = self._whitened(tables)
        return [[dict(zip(self.children, map(float, row), strict=True)) for row in table] for table in tables]

    def _whitened(self, tables: list[np.ndarray]) -> list[np.ndarray]:
        """The terms rescaled so that their sums have mean 0 and standard deviation 1 over the batch."""
        totals = np.concatenate([table.sum(axis=1) for table in tables if len(table)])
        if len(totals) <= self.ddof:
            return tables
        scale = totals.std(ddof=self.ddof) + self.eps or 1.0
        share = totals.mean() / len(self.children)
        return [(table - share) / scale if len(table) else table for table in tables]


@register("trust")
class Trust(Single):
    """Another reward, weighted by how far the group lets one trust it.

    With m_c the mean of the child over the episodes that succeed and m_w over the others, the weight is 1 where
    m_c >= m_w and exp(m_c - m_w) otherwise: a score that likes wrong answers better loses its say. In a group where all
    succeed, or none, there is nothing to compare and the weight is 1.

    Args:
        child: the reward in question, such as a judge's.
        by: the reward that says which episodes are good; None is success.
        threshold: least value of ``by`` that is good.
    """

    paper = "SophiaVL-R1 (Trust-GRPO), arXiv 2505.17018"

    def __init__(self, child: Reward, by: Reward | None = None, threshold: float = 0.5):
        super().__init__(child, **({} if by is None else {"by": by}))
        self.threshold = check_number("threshold", threshold)

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(low, 0.0), max(high, 0.0)

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        result = []
        for episodes, judged in zip(groups, verdicts, strict=True):
            values = [parts["child"].reward for parts in judged]
            good = [
                parts["by"].reward >= self.threshold if "by" in parts else episode.success
                for episode, parts in zip(episodes, judged, strict=True)
            ]
            weight = trust_weight(values, good)
            result.append(
                [
                    correct_terms(self.name, reward_terms(self.child, parts["child"]), weight * value)
                    for parts, value in zip(judged, values, strict=True)
                ]
            )
        return result


def trust_weight(values: Sequence[float], good: Sequence[bool]) -> float:
    """min(1, exp(mean of ``values`` where good - mean where not)); 1 where one of the two is empty."""
    right = [value for value, flag in zip(values, good, strict=True) if flag]
    wrong = [value for value, flag in zip(values, good, strict=True) if not flag]
    if not right or not wrong:
        return 1.0
    return min(1.0, math.exp(float(np.mean(right)) - float(np.mean(wrong))))


def standardise_columns(values: np.ndarray, eps: float, ddof: int) -> np.ndarray:
    """Columns of ``values`` [G, K] minus their mean, over their standard deviation + eps.

    Columns without spread, and too few rows to have any, are zeros.
    """
    if len(values) <= ddof:
        return np.zeros_like(values)
    spread = values.std(axis=0, ddof=ddof)
    centred = values - values.mean(axis=0)
    return np.where(np.ptp(values, axis=0) > 0, centred / np.where(spread + eps > 0, spread + eps, 1.0), 0.0)
