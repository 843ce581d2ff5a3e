"""Scores of levels, by name: estimates of how much a student can still learn on a level.

A score is a function of one `Visit`: the latest outcome on a level and its history. If the outcome's extras hold the
learner's own measurement, that is used. Otherwise the score is computed from returns, as for a critic with one constant
value V, gamma = lambda = 1 and the whole return as the last reward: the advantage is then R - V at every step. V is the
level's earlier mean return; at the first visit it is the group's mean or, for a single return, the mean over all
levels. All returns and values are mapped from the declared range to [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...registry import Registry
from ..signals import mean_absolute_advantage

DIMENSIONLESS = frozenset({"policy_entropy", "least_confidence", "min_margin", "transition_loss"})
"""Extras that are not in units of the return."""
IN_RETURN_RANGE = frozenset({"mean_value", "antagonist_return"})
"""Extras that lie in the range of the return; other extras in its units are differences or sums."""


@dataclass(frozen=True, eq=False)
class Visit:
    """One outcome on one level.

    Attributes:
        returns: float64[n] in [0, 1].
        value: V, the baseline of the returns if the extras hold no critic's value.
        best: the best return of all visits to the level, including this visit.
        rate: success rate of this visit, or of all visits if this visit is a single episode.
        extras: the learner's measurements, averaged over the returns, in units of [0, 1].
        weight: factor on the second term of scores with two terms.
        rng: generator for random scores.
    """

    returns: np.ndarray
    value: float
    best: float
    rate: float
    extras: Mapping[str, float]
    weight: float
    rng: np.random.Generator

    def measurement(self, name: str, otherwise: float | np.ndarray) -> float:
        """Return the extra ``name``, or the mean of ``otherwise`` if it is missing."""
        if name in self.extras:
            return self.extras[name]
        return float(otherwise.sum()) / len(otherwise) if isinstance(otherwise, np.ndarray) else otherwise


@dataclass(frozen=True)
class LevelScore:
    """A registered score: its function and paper, the extras that it requires (``needs``), and the optional extras that
    it uses instead of returns if they are given (``uses``)."""

    of: Callable[[Visit], float]
    paper: str
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()


LEVEL_SCORES: Registry[LevelScore] = Registry("level score")


def level_score(
    name: str, paper: str, *needs: str, uses: tuple[str, ...] = ()
) -> Callable[[Callable[[Visit], float]], Callable[[Visit], float]]:
    """Return a decorator that registers a score under ``name``; ``needs`` and ``uses`` as in `LevelScore`."""

    def add(function: Callable[[Visit], float]) -> Callable[[Visit], float]:
        LEVEL_SCORES.add(name, LevelScore(function, paper, frozenset(needs), frozenset(uses)))
        return function

    return add


@level_score("value_l1", "2010.03934", uses=("value_l1",))
def score_value_l1(visit: Visit) -> float:
    """Mean |GAE|: extra "value_l1", else mean |R - V|."""
    return visit.measurement("value_l1", np.abs(visit.returns - visit.value))


@level_score("positive_value_loss", "2110.02439", uses=("positive_value_loss",))
def score_positive_value_loss(visit: Visit) -> float:
    """Mean max(GAE, 0): extra "positive_value_loss", else mean max(R - V, 0)."""
    return visit.measurement("positive_value_loss", np.maximum(visit.returns - visit.value, 0.0))


@level_score("signed_value_loss", "2010.03934", uses=("signed_value_loss",))
def score_signed_value_loss(visit: Visit) -> float:
    """Mean GAE: extra "signed_value_loss", else mean R - V."""
    return visit.measurement("signed_value_loss", visit.returns - visit.value)


@level_score("one_step_td", "2010.03934", uses=("one_step_td",))
def score_one_step_td(visit: Visit) -> float:
    """Mean |r + gamma V' - V|: extra "one_step_td", else mean |R - V|, the error of the last step."""
    return visit.measurement("one_step_td", np.abs(visit.returns - visit.value))


@level_score("max_mc", "2110.02439", uses=("mean_value",))
def score_max_mc(visit: Visit) -> float:
    """R_max - mean V_t, R_max over all visits (minimax keeps the last batch's only): V from extra "mean_value"."""
    return visit.best - visit.measurement("mean_value", visit.value)


@level_score("policy_entropy", "2010.03934", "policy_entropy")
def score_policy_entropy(visit: Visit) -> float:
    """Mean entropy of the policy: needs extra "policy_entropy"."""
    return visit.extras["policy_entropy"]


@level_score("least_confidence", "2010.03934", "least_confidence")
def score_least_confidence(visit: Visit) -> float:
    """Mean 1 - max pi: needs extra "least_confidence"."""
    return visit.extras["least_confidence"]


@level_score("min_margin", "2010.03934", "min_margin")
def score_min_margin(visit: Visit) -> float:
    """1 minus the mean gap between the two most likely actions: needs the gap as extra "min_margin"."""
    return 1.0 - visit.extras["min_margin"]


@level_score("learnability", "2408.15099")
def score_learnability(visit: Visit) -> float:
    """p (1 - p) of the success rate p."""
    return visit.rate * (1.0 - visit.rate)


@level_score("abs_advantage", "2505.14970")
def score_abs_advantage(visit: Visit) -> float:
    """Mean |advantage| of the group, normalised by its standard deviation. A single episode gives 2 sqrt(p (1 - p)),
    the same quantity for binary returns, with p the success rate of all visits."""
    if len(visit.returns) > 1:
        return mean_absolute_advantage(visit.returns)
    return 2.0 * math.sqrt(max(visit.rate * (1.0 - visit.rate), 0.0))


@level_score("regret", "2310.02782", uses=("antagonist_return",))
def score_regret(visit: Visit) -> float:
    """Algorithmic regret: the antagonist's mean return (extra "antagonist_return") minus the student's, which may be
    negative. Without the extra, the student's best return on the level replaces the antagonist's, as in PAIRED's best
    minus mean (arXiv 2012.02096)."""
    return visit.measurement("antagonist_return", visit.best) - float(visit.returns.mean())


@level_score("traced", "2506.19997", "transition_loss", uses=("positive_value_loss",))
def score_traced(visit: Visit) -> float:
    """Positive value loss plus ``weight`` times the loss of a model of transitions: needs extra "transition_loss"."""
    return score_positive_value_loss(visit) + visit.weight * visit.extras["transition_loss"]


@level_score("mna", "2601.14957", uses=("negative_advantage",))
def score_mna(visit: Visit) -> float:
    """Maximised negative advantage: extra "negative_advantage" (see `trajectories.negative_advantages`), else mean
    max(V - R, 0); 0 on levels never solved (best return not above the lowest of the range)."""
    if visit.best <= 0:
        return 0.0
    return visit.measurement("negative_advantage", np.maximum(visit.value - visit.returns, 0.0))


@level_score("random", "2010.03934")
def score_random(visit: Visit) -> float:
    """A uniform number in [0, 1): a control with the buffer but without a signal."""
    return float(visit.rng.random())


@level_score("uniform", "2010.03934")
def score_uniform(visit: Visit) -> float:
    """1 for every level."""
    return 1.0
