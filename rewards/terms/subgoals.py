"""A bonus for the first achievement of each subgoal (CALM): doing it again never pays again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import StepReward, register

Achieved = Callable[[str, Episode, int], "bool | None"]
"""(subgoal, episode, index of the step) -> whether that step achieved it; None where it could not be determined."""


@register("subgoals")
class SubgoalBonus(StepReward):
    """A term of ``bonus`` for each subgoal at the step that first achieves it.

    Args:
        subgoals: names of the subgoals. Others that the extra names are not paid; None pays any name, once.
        achieved: judges one subgoal at one step, and is not asked again once it was achieved; None reads the extra
            "achieved": for each step, the names of the subgoals that it achieved, or None where that is unknown.
        bonus: for each subgoal.

    Raises:
        InputError: a judge without subgoals; when called, an extra with another number of steps.
    """

    paper = "CALM, arXiv 2409.12798"
    needs = frozenset({"achieved"})

    def __init__(self, subgoals: Sequence[str] | None = None, achieved: Achieved | None = None, bonus: float = 0.1):
        if isinstance(subgoals, str) or (achieved is not None and not subgoals):
            raise InputError(f"subgoals must be a sequence of names, and a judge needs some, not {subgoals!r}.")
        self.subgoals = None if subgoals is None else tuple(dict.fromkeys(subgoals))
        self.achieved = achieved
        self.bonus = check_number("bonus", bonus)
        self.needs = frozenset() if achieved else frozenset({"achieved"})

    def values(self, episode: Episode) -> list[float] | None:
        done: set[str] = set()
        paid = []
        for t, named in enumerate(self._named(episode)):
            if self.achieved is not None:
                fresh = set()
                for subgoal in self.subgoals or ():
                    if subgoal not in done:
                        verdict = self.achieved(subgoal, episode, t)
                        if verdict is None:
                            return None
                        fresh |= {subgoal} if verdict else set()
            elif named is None:
                return None
            else:
                fresh = {name for name in named if self.subgoals is None or name in self.subgoals} - done
            done |= fresh
            paid.append(self.bonus * len(fresh))
        return paid

    def _named(self, episode: Episode) -> Sequence[Sequence[str] | None]:
        if self.achieved is not None:
            return [None] * len(episode.steps)
        named = episode.extra("achieved")
        if len(named) != len(episode.steps):
            raise InputError(f"an episode of {len(episode.steps)} steps needs as many lists, not {len(named)}.")
        return named
