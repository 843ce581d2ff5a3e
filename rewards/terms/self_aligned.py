"""Self-aligned reward: an answer should be likelier with its question than without, by the policy's own measure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...checks import check_choice, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .scored import scores_in

VARIANTS = ("ratio", "log", "difference")


def self_aligned(with_question: Sequence[float], without_question: Sequence[float], variant: str = "ratio") -> float:
    """How much less perplexed the policy is by an answer because it knows the question, in [-1, 1].

    Args:
        with_question: log-probabilities of the answer's tokens given the question, nats.
        without_question: the same without the question.
        variant: "ratio": (ppl(a) - ppl(a|q)) / ppl(a), where ppl = exp(mean -log p). "log": the same with log ppl.
            "difference": without the denominator. All clipped to [-1, 1]. The code's fourth, -ppl(a|q), is at most -1
            and so has no bounded form.
    """
    if not with_question or not without_question:
        return 0.0
    known = -math.fsum(with_question) / len(with_question)
    blind = -math.fsum(without_question) / len(without_question)
    if variant == "log":
        value = (blind - known) / blind if blind else 0.0
    elif variant == "ratio":
        # exp(known) / exp(blind), whose own exponentials may overflow; beyond e the value is clipped anyway.
        value = 1.0 - math.exp(min(known - blind, 1.0))
    else:
        value = math.exp(min(blind, 700.0)) - math.exp(min(known, 700.0))
    return min(max(value, -1.0), 1.0)


@register("self-aligned")
class SelfAligned(Reward):
    """The whole worth of an episode: success, plus ``weight`` times the self-aligned reward of its answer.

    Generic and padded answers, which fit any question, lose. The extra "logps_without_prompt" holds the
    log-probabilities of the action tokens when the prompt is left out.

    Args:
        weight: in [0, 0.5].
        variant: see `self_aligned`.

    Raises:
        InputError: ``weight > 0.5``: a failure could outrank a success.
    """

    paper = "Self-Aligned Reward, arXiv 2509.05489"
    needs = frozenset({"logps", "logps_without_prompt"})
    complete = True
    ranks_success = True

    def __init__(self, weight: float = 0.2, variant: str = "ratio"):
        self.weight = check_number("weight", weight, low=0.0, high=0.5)
        self.variant = check_choice("variant", variant, VARIANTS)

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 1.0 + self.weight

    def value(self, episode: Episode) -> float | None:
        blind = scores_in(episode.extra("logps_without_prompt"), "logps_without_prompt")
        if blind is None:
            return None
        known = scores_in(episode.logps, "logps")
        if known is None:
            return None
        if len(known) != len(blind):
            raise InputError(
                f"logps_without_prompt has {len(blind)} entries for {len(known)} action tokens; it needs one for each."
            )
        return float(episode.success) + self.weight * self_aligned(known, blind, self.variant)
