"""Reasoning-pattern reward: pays for the turns of phrase of a careful solver, and lifts a weak judge's rejections."""

from __future__ import annotations

from ...checks import check_count, check_number
from ..episode import Episode
from ..reward import Reward, register
from .repetition import repeated_share
from .scored import Score, Scorer

# Our own list; the paper's has about forty phrases of the same kinds: planning, checking, turning back, ending.
PHRASES = (
    "first,", "second,", "next,", "then,", "finally,", "let me", "let us", "let's", "we need to", "i need to",
    "we know that", "we are given", "recall that", "note that", "suppose", "assume", "consider", "in other words",
    "for example", "case 1", "step 1", "step by step", "because", "since", "therefore", "thus", "hence", "it follows",
    "this means", "which gives", "so we have", "on the other hand", "alternatively", "wait", "however", "actually",
    "double-check", "let me check", "to verify", "in conclusion",
)  # fmt: skip


def reasoning_pattern(text: str, n: int = 20, full: int = 20) -> float:
    """min(phrases present / full, 1) - share of repeated n-grams - turns written for the user; at least 0.

    Args:
        text: what the agent wrote.
        n: length of the n-grams in words.
        full: number of different phrases that earns the whole pay.
    """
    lowered = text.lower()
    present = sum(phrase in lowered for phrase in PHRASES)
    return max(0.0, min(present / full, 1.0) - repeated_share(text, n) - lowered.count("user:"))


def calibrated(score: float, pattern: float, threshold: float, alpha: float) -> float:
    """``score`` with ``alpha * pattern`` added where it is below ``threshold``: a good-looking rejection is lifted."""
    return score + alpha * pattern if score < threshold else score


@register("reasoning-pattern")
class ReasoningPattern(Reward):
    """A term in [0, 1] for reasoning phrases, less repetition and self-written user turns. It is blind to the answer.

    Args:
        n: length in words of the n-grams whose repetition is charged.
        full: number of different phrases that earns the whole pay.

    Raises:
        InputError: an argument below 1.
    """

    paper = "The Climb Carves Wisdom Deeper Than the Summit, arXiv 2505.22653 (reasoning pattern reward)"

    def __init__(self, n: int = 20, full: int = 20):
        self.n = check_count("n", n, low=1, unit="words")
        self.full = check_count("full", full, low=1, unit="phrases")

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, episode: Episode) -> float:
        return reasoning_pattern(episode.response, self.n, self.full)


@register("rpr-calibration")
class RPRCalibration(Reward):
    """A reward model's score, raised by alpha times the reasoning-pattern reward where it is below a threshold.

    The released code's exact rule was not found; this is the paper's sentence as a formula. Nothing is promised of
    success: the score is a model's.

    Args:
        scorer: the reward model's score in [0, 1].
        key: name of the extra that holds it, without a scorer.
        threshold: scores below are raised.
        alpha: how much, at least 0.

    Raises:
        InputError: an argument out of its range.
    """

    paper = ReasoningPattern.paper
    needs = frozenset({"reward_model_score"})

    def __init__(
        self,
        scorer: Scorer | None = None,
        key: str = "reward_model_score",
        threshold: float = 0.5,
        alpha: float = 0.3,
    ):
        self.score = Score(scorer, key, 0.0, 1.0)
        self.needs = self.score.needs
        self.threshold = check_number("threshold", threshold, low=0.0, high=1.0)
        self.alpha = check_number("alpha", alpha, low=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, max(1.0, self.threshold + self.alpha)

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        return (
            None
            if score is None
            else calibrated(score, reasoning_pattern(episode.response), self.threshold, self.alpha)
        )
