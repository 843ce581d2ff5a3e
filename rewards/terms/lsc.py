"""Log-sigmoid centred rewards: satisfy all of several reward models at once, instead of the easiest one very well."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .scored import Score, Scorer, score_in


def log_sigmoid(x: float) -> float:
    """log(1 / (1 + exp(-x))), without overflow."""
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def lsc(score: float, reference: float) -> float:
    """log sigmoid(score - reference): the log-probability of being good, with diminishing gains."""
    return log_sigmoid(score - reference)


def reference_quantile(scores: Sequence[float], quantile: float = 0.85) -> float:
    """The score that ``quantile`` of the reference policy's responses to a prompt stay below (0.5 to 0.95 tried)."""
    return float(np.quantile(np.asarray(scores, dtype=float), quantile))


def conjunction(log_probabilities: Sequence[float]) -> float:
    """Sum of log-probabilities: the log-probability that the response is good in every respect."""
    return math.fsum(log_probabilities)


@register("lsc")
class LSC(Reward):
    """The sum over reward models of log sigmoid(score - reference). At most 0; the worst respect weighs most.

    Models' opinions decide, so nothing is promised of success.

    Args:
        scorers: reward models by name; None reads the extra "reward_model_score" as the only one.
        references: by the same names, the score that counts as good enough, usually a `reference_quantile` of the
            prompt; the extra "references" of an episode, a mapping, takes precedence, and 0 is the last resort.

    Raises:
        InputError: no scorers, or references for other names.
    """

    paper = "Transforming and Combining Rewards for Aligning Large Language Models, arXiv 2402.00742"
    needs = frozenset({"reward_model_score"})

    def __init__(self, scorers: Mapping[str, Scorer] | None = None, references: Mapping[str, float] | None = None):
        if scorers is None:
            self.scores = {"reward_model_score": Score(None, "reward_model_score")}
        else:
            self.scores = {name: Score(scorer, name) for name, scorer in scorers.items()}
        if not self.scores:
            raise InputError("lsc needs at least one scorer, not none.")
        given = dict(references or {})
        if unknown := sorted(set(given) - set(self.scores)):
            raise InputError(f"lsc has references for {unknown}, but scorers for {sorted(self.scores)} only.")
        self.references = {name: check_number(f"the reference of {name}", value) for name, value in given.items()}
        self.needs = frozenset().union(*(score.needs for score in self.scores.values()))

    @property
    def bounds(self) -> tuple[float, float]:
        return -math.inf, 0.0

    def value(self, episode: Episode) -> float | None:
        own = episode.extras.get("references") or {}
        if not isinstance(own, Mapping):
            raise InputError(f"the extra 'references' must map names of scores to numbers, not {own!r}.")
        parts = []
        for name, score in self.scores.items():
            value = score(episode)
            reference = score_in(own.get(name, self.references.get(name, 0.0)), "references")
            if value is None or reference is None:
                return None
            parts.append(lsc(value, reference))
        return conjunction(parts)
