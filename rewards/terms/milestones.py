"""Partial credit for how far a program came: milestones that it reached while it ran."""

from __future__ import annotations

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register


@register("milestones")
class Milestones(Reward):
    """The whole worth of a program: its score for a success; else ``failure``, and ``bonus`` a milestone reached.

    The extra "milestones" is (reached, of how many), which the environment counts and not the program; None where none
    was run.

    Args:
        failure: value of a program that failed and reached nothing.
        bonus: for each milestone.
        most: milestones that are paid.

    Raises:
        InputError: milestones that could pay more than the lowest score, 0; when called, an extra of another form.
    """

    paper = "RL for machine learning engineering agents, arXiv 2509.01684 (environment instrumentation)"
    complete = True
    ranks_success = True
    needs = frozenset({"milestones"})

    def __init__(self, failure: float = -10.0, bonus: float = 0.1, most: int = 7):
        self.bonus = check_number("bonus", bonus, low=0.0)
        self.most = check_count("most", most)
        self.failure = check_number("failure", failure, high=-self.bonus * self.most)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.failure, 1.0

    def value(self, episode: Episode) -> float:
        reached = _reached(episode)
        return episode.progress if episode.success else self.failure + self.bonus * min(reached, self.most)


def _reached(episode: Episode) -> int:
    found = episode.extra("milestones")
    if found is None:
        return 0
    if isinstance(found, (list, tuple)) and len(found) == 2 and 0 <= found[0] <= found[1]:
        return int(found[0])
    raise InputError(f"the extra 'milestones' must be (reached, of how many), or None, not {found!r}.")
