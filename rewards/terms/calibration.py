"""Rewards for right answers with calibrated confidence (RLCR), by a proper scoring rule that is bounded.

Inputs are the success of an episode and the confidence that its last action states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .format import has_one_pair

# Longer numbers are refused: further digits are meaningless and take time to parse.
_MAX_DIGITS = 20


def confidence_of(text: str, tag: str = "confidence") -> float | None:
    """Read the number in the only ``<confidence>...</confidence>`` of ``text``; None unless it lies in [0, 1].

    The number must be a plain decimal in ASCII digits, such as "0.8", ".8" or "1"; no percentage and no exponent.
    """
    if not has_one_pair(text, tag):
        return None
    inner = text[text.find(f"<{tag}>") + len(tag) + 2 : text.find(f"</{tag}>")].strip()
    whole, point, part = inner.partition(".")
    digits = whole + part
    if not digits or len(digits) > _MAX_DIGITS or not set(digits) <= set("0123456789") or (point and not part):
        return None
    value = float(inner)
    return value if value <= 1.0 else None


def brier_reward(correct: bool, confidence: float) -> float:
    """Return c - (q - c)² for correctness c in {0, 1} and confidence q in [0, 1] (RLCR, arXiv 2507.16806).

    For an answer that is right with probability p the expected reward is largest at q = p, where it is p²: both
    accuracy and calibration raise it.
    """
    return float(correct) - (confidence - float(correct)) ** 2


def released_reward(correct: bool, confidence: float | None) -> float:
    """Return 0.5 for the format, plus 0.5 c, plus 0.5 (1 - (q - c)²); return 0 without a readable confidence q."""
    if confidence is None:
        return 0.0
    return 0.5 + 0.5 * float(correct) + 0.5 * (1.0 - (confidence - float(correct)) ** 2)


@register("rlcr")
class RLCR(Reward):
    """Reward of a whole episode whose last action states a confidence q in its answer.

    Variant "paper" is c - (q - c)² in [-1, 1], at least 0 for every success and at most 0 for every failure. "code",
    the released scale in [0, 1.5], gives 0 without a readable confidence: a success in the wrong format falls below a
    failure in the right one, and `ranks_success` is off. The only rule is "brier": a log score is unbounded, so that
    one overconfident mistake could outweigh any number of right answers.
    """

    paper = "RLCR, arXiv 2507.16806 (calibration reward)"
    complete = True
    ranks_success = True
    variant: Literal["paper", "code"] = option(default="paper", says="scale of the reward.")
    rule: str = option(default="brier", says='the scoring rule; only "brier".')
    tag: str = option(default="confidence", says="name of the tag around the confidence.")
    confidence: Callable[[Episode], float | None] | None = option(
        default=None, says="callable that returns q instead: None for a wrong format, NaN if undetermined."
    )

    def setup(self) -> None:
        if self.rule != "brier":
            raise InputError(
                f"the scoring rule must be 'brier', not {self.rule!r}: other rules, such as the log score, are "
                "unbounded, so that a failure could not be kept below a success."
            )
        if self.variant == "code":
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.variant == "paper" else (0.0, 1.5)

    def read_confidence(self, episode: Episode) -> float | None:
        """Return the episode's stated confidence; None if it is missing or outside [0, 1], NaN if undetermined."""
        if self.confidence is None:
            return confidence_of(episode.response, self.tag)
        value = self.confidence(episode)
        return value if value is not None and (0.0 <= value <= 1.0 or math.isnan(value)) else None

    def value(self, episode: Episode) -> float | None:
        confidence = self.read_confidence(episode)
        if confidence is not None and math.isnan(confidence):
            return None
        if self.variant == "code":
            return released_reward(episode.success, confidence)
        return 0.0 if confidence is None else brier_reward(episode.success, confidence)
