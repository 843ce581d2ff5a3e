"""R1-Reward's consistency reward: reasoning and answer must say the same, which counts only for right answers."""

from __future__ import annotations

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .format import FormatCheck, r1_format
from .scored import Score, Scorer


def consistency_reward(
    well_formed: bool, correct: bool, consistency: float, form: float = 0.5, weight: float = 0.5
) -> float:
    """form * well_formed + correct * (1 + weight * consistency), with consistency in [-1, 1]."""
    return form * well_formed + correct * (1.0 + weight * consistency)


@register("consistency")
class Consistency(Reward):
    """The whole worth of an episode by format, success, and whether its reasoning ends where its answer is.

    Args:
        scorer: the judge's view, 1 (agrees), 0 (unclear) or -1 (contradicts); None reads the extra named by ``key``.
        key: name of that extra.
        form: pay for the format, at least 0.
        weight: pay or cost of consistency, in [0, 1 - form].
        check: the format; None is ``<think>...</think><answer>...</answer>`` and nothing else.

    Raises:
        InputError: ``form + weight > 1``: a well-formed failure could outrank an inconsistent success.
    """

    paper = "R1-Reward (StableReinforce), arXiv 2505.02835 (consistency reward)"
    needs = frozenset({"consistency"})
    complete = True
    ranks_success = True

    def __init__(
        self,
        scorer: Scorer | None = None,
        key: str = "consistency",
        form: float = 0.5,
        weight: float = 0.5,
        check: FormatCheck = r1_format,
    ):
        self.score = Score(scorer, key, -1.0, 1.0)
        self.needs = self.score.needs
        self.form = check_number("form", form, low=0.0)
        self.weight = check_number("weight", weight, low=0.0)
        self.check = check
        if 1.0 - self.weight < self.form:
            raise InputError(
                f"form={form!r} and weight={weight!r} must not add up to more than 1, so that no failed episode "
                "outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + self.form + self.weight

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        if score is None:
            return None
        return consistency_reward(self.check(episode), episode.success, score, self.form, self.weight)
