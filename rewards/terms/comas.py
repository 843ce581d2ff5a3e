"""CoMAS: solver and critic share one point by a scorer's mark, and the scorer earns by being readable alone."""

from __future__ import annotations

from typing import Any

from ...checks import check_choice
from ..episode import Episode
from ..reward import Reward, register

MARKS = (1, 2, 3)


def solution_reward(mark: int) -> float:
    """(mark - 1) / 2 for marks 1 to 3: a solution that withstands its critique."""
    return (mark - 1) / 2.0


def critique_reward(mark: int) -> float:
    """(3 - mark) / 2: what the solution lost. Both rewards add up to 1, always."""
    return (3 - mark) / 2.0


def scorer_reward(mark: int | None) -> float:
    """0 for a mark that can be read and -1 for one that cannot, whatever it says."""
    return 0.0 if mark is not None else -1.0


def readable_mark(mark: Any) -> int | None:
    """``mark`` if it is 1, 2 or 3."""
    return int(mark) if not isinstance(mark, (bool, str)) and mark in MARKS else None


@register("comas")
class CoMAS(Reward):
    """What an episode of debate is worth to the one who wrote it. A model marks, so nothing is promised of success.

    The extra "mark" is what the scorer gave: 1, 2 or 3; anything else could not be read, which makes a solution's and a
    critique's verdict invalid. Marks that are always 3 are a sign of hacking: critics then get 0 and solvers 1.

    Args:
        role: "solution", "critique" or "scorer".

    Raises:
        InputError: another role.
    """

    paper = "CoMAS, arXiv 2510.08529"
    needs = frozenset({"mark"})

    def __init__(self, role: str = "solution"):
        self.role = check_choice("role", role, ("solution", "critique", "scorer"))

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 0.0) if self.role == "scorer" else (0.0, 1.0)

    def value(self, episode: Episode) -> float | None:
        mark = readable_mark(episode.extra("mark"))
        if self.role == "scorer":
            return scorer_reward(mark)
        if mark is None:
            return None
        return solution_reward(mark) if self.role == "solution" else critique_reward(mark)
