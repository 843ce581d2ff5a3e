"""Unlikeliness reward: among right answers, prefer those that the policy itself finds improbable."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...checks import check_number
from ..episode import Episode
from ..reward import GroupReward, register


def likelihood_ranks(mean_logps: Sequence[float]) -> list[int]:
    """How many of the group are less likely: 0 for the least likely, G - 1 for the most; equals share a rank."""
    ordered = sorted(mean_logps)
    first: dict[float, int] = {}
    for rank, logp in enumerate(ordered):
        first.setdefault(logp, rank)
    return [first[logp] for logp in mean_logps]


def unlikeliness(successes: Sequence[bool], mean_logps: Sequence[float], beta: float = 0.25) -> list[float]:
    """success * (1 - beta * rank / G), with ranks from the least likely (0) to the most (G - 1)."""
    size = len(mean_logps)
    ranks = likelihood_ranks(mean_logps)
    return [float(success) * (1.0 - beta * rank / size) for success, rank in zip(successes, ranks, strict=True)]


@register("unlikeliness")
class Unlikeliness(GroupReward):
    """The whole worth of an episode: a success less a share of ``beta`` by how likely it was among its siblings.

    A group that is all right keeps teaching. An episode without tokens counts as certain; one whose log-probabilities
    are not finite is not judged and not ranked.

    Args:
        beta: what the most likely success can lose, in [0, 1]; 0 leaves plain success.

    Raises:
        InputError: ``beta`` outside [0, 1].
    """

    paper = "Rewarding the Unlikely, arXiv 2506.02355"
    needs = frozenset({"logps"})
    complete = True
    ranks_success = True

    def __init__(self, beta: float = 0.25):
        self.beta = check_number("beta", beta, low=0.0, high=1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        means = [_mean(episode.logps) for episode in episodes]
        known = [(episode.success, mean) for episode, mean in zip(episodes, means, strict=True) if mean is not None]
        values = iter(unlikeliness([success for success, _ in known], [mean for _, mean in known], self.beta))
        return [None if mean is None else next(values) for mean in means]


def _mean(logps: Sequence[float]) -> float | None:
    mean = sum(logps) / len(logps) if logps else 0.0
    return mean if math.isfinite(mean) else None
