"""RLSP's exploration bonus, kept apart from the verifier's pay and too small to stand in for it."""

from __future__ import annotations

import dataclasses

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .scored import Score, Scorer


@register("exploration")
class Exploration(Reward):
    """alpha * success + (1 - alpha) * bonus, as two terms "outcome" and "exploration".

    The bonus lies in [0, cap]. The paper's constants were not found; these are ours.

    Args:
        alpha: weight of being right, in (0, 1].
        cap: the largest bonus; None is the largest allowed one or 1, whichever is smaller. It must be at most
            alpha / (1 - alpha), so that any right answer beats any wrong one.
        full: tokens that earn the whole bonus, in proportion below.
        scorer: exploration in [0, 1] by a judge instead of by length.

    Raises:
        InputError: a cap above alpha / (1 - alpha).
    """

    paper = "RLSP, arXiv 2502.06773 (exploration reward)"
    complete = True
    ranks_success = True

    def __init__(self, alpha: float = 0.8, cap: float | None = None, full: int = 1000, scorer: Scorer | None = None):
        self.alpha = check_number("alpha", alpha, low=1e-9, high=1.0)
        most = self.alpha / (1.0 - self.alpha) if self.alpha < 1.0 else float("inf")
        self.cap = min(1.0, most) if cap is None else check_number("cap", cap, low=0.0)
        if self.cap > most:
            raise InputError(
                f"cap={cap!r} must be at most alpha / (1 - alpha) = {most:g}, so that no failed episode outranks a "
                "success."
            )
        self.full = check_count("full", full, low=1, unit="tokens")
        self.score = None if scorer is None else Score(scorer, "exploration", 0.0, 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.alpha + (1.0 - self.alpha) * self.cap

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        share = min(episode.tokens / self.full, 1.0) if self.score is None else self.score(episode)
        if share is None:
            return self.verdict(episode, None)
        # The product of the bound may round up past alpha, which the comparison with a success must not see.
        bonus = min((1.0 - self.alpha) * self.cap * share, self.alpha)
        terms = {"outcome": self.alpha * episode.success, "exploration": bonus}
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms)
