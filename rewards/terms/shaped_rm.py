"""Qwen2.5-Math's reward: a reward model grades within the right and the wrong, the verifier decides between."""

from __future__ import annotations

from ...checks import check_number
from ..episode import Episode
from ..reward import Reward, register
from .par import sigmoid
from .scored import Score, Scorer


def shaped_rm(model_score: float, verified: bool, alpha: float = 0.5) -> float:
    """sigmoid(alpha * model_score) + (verified - 1): in (0, 1) for a success and in (-1, 0) for a failure."""
    return sigmoid(alpha * model_score) + (float(verified) - 1.0)


@register("shaped-rm")
class ShapedRM(Reward):
    """The whole worth of an episode: a success is always above 0 and a failure below, whatever the model says.

    Args:
        alpha: how steeply the model's score counts, at least 0.
        scorer: the reward model; None reads the extra named by ``key``.
        key: name of that extra.

    Raises:
        InputError: ``alpha`` is negative.
    """

    paper = "Qwen2.5-Math, arXiv 2409.12122 (reward shaping)"
    needs = frozenset({"reward_model_score"})
    complete = True
    ranks_success = True

    def __init__(self, alpha: float = 0.5, scorer: Scorer | None = None, key: str = "reward_model_score"):
        self.alpha = check_number("alpha", alpha, low=0.0)
        self.score = Score(scorer, key)
        self.needs = self.score.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        return None if score is None else shaped_rm(score, episode.success, self.alpha)
