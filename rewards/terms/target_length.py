"""Length-controlled rewards of L1: answer in the number of tokens that was asked for."""

from __future__ import annotations

from ...checks import check_choice, check_count, check_number
from ..episode import Episode
from ..reward import Reward, register
from .scored import score_in


def exact_length(success: bool, length: float, target: float, alpha: float) -> float:
    """1[success] - alpha * |target - length| (LCPO-exact)."""
    return float(success) - alpha * abs(target - length)


def at_most_length(success: bool, length: float, target: float, alpha: float, delta: float) -> float:
    """1[success] * clip(alpha * (target - length) + delta, 0, 1) (LCPO-max)."""
    return float(success) * min(max(alpha * (target - length) + delta, 0.0), 1.0)


@register("target-length")
class TargetLength(Reward):
    """The worth of an episode by its success and how its length compares with a target.

    Args:
        mode: "max": a success is worth less the longer it is beyond the target, and 0 in the end; a failure is worth 0.
            "exact": every token away from the target, either way, costs ``alpha``; there a long success can fall below
            a failure that hits the target, so `ranks_success` is off.
        alpha: cost of a token, at least 0.
        delta: what a success of exactly the target length is worth in mode "max", in [0, 1].
        target: tokens; None reads the extra "target_tokens" of each episode.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "L1 (LCPO), arXiv 2503.04697, eqs. 1 and 2"
    needs = frozenset({"target_tokens"})
    complete = True
    ranks_success = True

    def __init__(self, mode: str = "max", alpha: float = 0.0003, delta: float = 0.5, target: int | None = None):
        self.mode = check_choice("mode", mode, ("max", "exact"))
        self.alpha = check_number("alpha", alpha, low=0.0)
        self.delta = check_number("delta", delta, low=0.0, high=1.0)
        self.target = None if target is None else check_count("target", target, unit="tokens")
        if self.target is not None:
            self.needs = frozenset()
        if mode == "exact":
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.mode == "max" else (-float("inf"), 1.0)

    def value(self, episode: Episode) -> float | None:
        target = score_in(
            self.target if self.target is not None else episode.extra("target_tokens"), "target_tokens", low=0.0
        )
        if target is None:
            return None
        if self.mode == "exact":
            return exact_length(episode.success, episode.tokens, target, self.alpha)
        return at_most_length(episode.success, episode.tokens, target, self.alpha, self.delta)
