"""ThetaEvolve's reward for open optimisation: a power of the normalised objective, and a ladder of failures below 0."""

from __future__ import annotations

from ...checks import check_choice, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .scored import score_in

FAILURES = {"no-diff": -0.4, "no-change": -0.3, "error": -0.2, "invalid": -0.1}


def bounded_power(objective: float, low: float, high: float, exponent: float = 3.0, scale: float = 5.0) -> float:
    """scale * clip((objective - low) / (high - low), 0, 1) ** exponent: the last percents pay most."""
    return scale * min(max((objective - low) / (high - low), 0.0), 1.0) ** exponent


@register("bounded-power")
class BoundedPower(Reward):
    """The whole worth of a proposed solution: a power of its objective, or a step on a ladder of failures below 0.

    The objective decides, whatever the environment calls a success.

    The extra "objective" is the score that an executable verifier measured; or, where it could measure none, the name
    of the failure: "no-diff" (no change proposed), "no-change" (the parent again), "error" (it did not run or took too
    long), "invalid" (it ran and broke a rule); or None where the verifier itself failed.

    Args:
        low: objective that is worth 0.
        high: objective that is worth ``scale``; not ``low``.
        maximise: whether larger is better; otherwise ``low`` and ``high`` trade places.
        exponent: above 0.
        scale: highest value, above 0.

    Raises:
        InputError: an argument out of its range; when called, a failure with another name.
    """

    paper = "ThetaEvolve, arXiv 2511.23473"
    needs = frozenset({"objective"})
    complete = True

    def __init__(
        self, low: float = 0.0, high: float = 1.0, maximise: bool = True, exponent: float = 3.0, scale: float = 5.0
    ):
        self.low = check_number("low", low)
        self.high = check_number("high", high)
        if self.low >= self.high:
            raise InputError(f"low must be below high, not {low!r} and {high!r}; say maximise=False to turn them.")
        self.maximise = maximise
        self.exponent = check_number("exponent", exponent, low=1e-6)
        self.scale = check_number("scale", scale, low=1e-9)

    @property
    def bounds(self) -> tuple[float, float]:
        return min(FAILURES.values()), self.scale

    def value(self, episode: Episode) -> float | None:
        given = episode.extra("objective")
        if isinstance(given, str):
            return FAILURES[check_choice("objective", given, FAILURES)]
        # A huge objective is as good as one at the end of the scale.
        objective = score_in(given, "objective", self.low, self.high)
        if objective is None:
            return None
        if not self.maximise:
            objective = self.low + self.high - objective
        return bounded_power(objective, self.low, self.high, self.exponent, self.scale)
