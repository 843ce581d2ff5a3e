"""Posterior-GRPO: the quality of the reasoning counts only once the outcome is verified, so it cannot be farmed."""

from __future__ import annotations

from ..episode import Episode
from ..reward import Reward, register
from .format import FormatCheck, r1_format
from .scored import Score, Scorer


def posterior_reward(well_formed: bool, verified: bool, process: float) -> float:
    """R_f + R_o + R_o R_t for format and outcome in {0, 1} and process score in [0, 1]; in {0, 1} or [1, 3]."""
    return float(well_formed) + float(verified) + float(verified) * process


@register("posterior")
class Posterior(Reward):
    """The whole worth of an episode: format, outcome, and the quality of the reasoning only where the outcome is right.

    Among all-right siblings it still tells better reasoning from worse.

    A failure needs no process score, so none is asked for.

    Args:
        scorer: the process score in [0, 1]; None reads the extra named by ``key``.
        key: name of that extra.
        check: the format; None is ``<think>...</think><answer>...</answer>`` and nothing else.
    """

    paper = "Posterior-GRPO, arXiv 2508.05170"
    needs = frozenset({"process_score"})
    complete = True
    ranks_success = True

    def __init__(self, scorer: Scorer | None = None, key: str = "process_score", check: FormatCheck = r1_format):
        self.score = Score(scorer, key, 0.0, 1.0)
        self.needs = self.score.needs
        self.check = check

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 3.0

    def value(self, episode: Episode) -> float | None:
        process = self.score(episode) if episode.success else 0.0
        return None if process is None else posterior_reward(self.check(episode), episode.success, process)
