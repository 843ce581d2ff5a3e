"""Reward of RLVR: a fixed pay for a verified success, nothing otherwise."""

from __future__ import annotations

from ...checks import check_number
from ..episode import Episode
from ..reward import Reward, register


@register("verifiable")
class Verifiable(Reward):
    """The whole worth of an episode: ``scale`` for a success, 0 for a failure.

    Args:
        scale: pay of a success, above 0; Tülu 3's is 10.
        no_eos: value of an episode that was cut off before it ended, whatever else holds (their -10 for responses
            without an end-of-sequence token); None leaves those alone. A success that was cut off then falls below a
            failure that was not, so `ranks_success` is off.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Tülu 3, arXiv 2411.15124 (RLVR)"
    complete = True
    ranks_success = True

    def __init__(self, scale: float = 10.0, no_eos: float | None = None):
        self.scale = check_number("scale", scale, low=1e-9)
        self.no_eos = None if no_eos is None else check_number("no_eos", no_eos, high=0.0)
        if no_eos is not None:
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return min(0.0, self.no_eos or 0.0), self.scale

    def value(self, episode: Episode) -> float:
        if self.no_eos is not None and episode.truncated:
            return self.no_eos
        return self.scale * episode.success
