"""What every verifier and every reward says about one result.

A `Verdict` goes from the code that judges to the code that learns, so it keeps three things apart that are often mixed
up: how good the result is (``score``), whether it counts as solved (``success``), and whether the judging itself worked
(``valid``). A learner masks what is not valid and never reads success off a positive reward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one answer or one episode.

    Args:
        score: quality in [0, 1].
        success: whether the task is solved. Partial credit is a score without success.
        valid: False when the machinery failed (sandbox down, time limit of the verifier); such a verdict is masked.
        terms: named parts of the reward; where given, the reward is their sum instead of the score.
        feedback: one sentence on the result, fit to be shown to the agent.
        malformed: True when the answer does not have the required form at all; ``feedback`` then says what is wrong.
        extras: what else was found out in judging, by the names under which rewards ask for it; plain data.

    Raises:
        InputError: score outside [0, 1], a term that is not finite, or success claimed by an invalid verdict.
    """

    score: float
    success: bool
    valid: bool = True
    terms: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""
    malformed: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:  # also refuses NaN
            raise InputError(f"a verdict's score must lie in [0, 1], not {self.score!r}.")
        if self.success and not self.valid:
            raise InputError("a verdict with valid=False cannot be a success; set success=False.")
        for name, value in self.terms.items():
            if not math.isfinite(value):
                raise InputError(f"the reward term {name!r} must be finite, not {value!r}.")

    @property
    def reward(self) -> float:
        """The sum of the terms where there are any, the score otherwise."""
        return float(sum(self.terms.values())) if self.terms else float(self.score)
