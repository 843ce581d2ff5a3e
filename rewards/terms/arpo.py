"""ARPO's outcome reward for agents with several tools: format, F1, and a little for having used all the tools."""

from __future__ import annotations

from collections.abc import Sequence

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .answer_f1 import best_f1
from .format import FormatCheck, pairs_balanced, pairs_once
from .scored import Score, Scorer


def thought_and_answered(episode: Episode) -> bool:
    """Whether the actions together hold at least one ``<think>``, all of them closed, and exactly one ``<answer>``."""
    text = "\n".join(step.action for step in episode.steps)
    return "<think>" in text and pairs_balanced(text, "think") and pairs_once(text, "answer")


def arpo(well_formed: bool, f1: float, all_tools: bool, bonus: float = 0.1) -> float:
    """-1 for a wrong format; else F1, plus ``bonus`` if it is above 0 and every tool was used."""
    if not well_formed:
        return -1.0
    return f1 + bonus * all_tools if f1 > 0 else 0.0


@register("arpo")
class ARPO(Reward):
    """The whole worth of an episode by format, answer and tools used.

    `ranks_success` is not claimed: a success in the wrong format is worth -1, and F1 need not agree with success.

    Args:
        scorer: F1 or another outcome in [0, 1]; None takes the F1 of the answer and the extra "reference".
        tools: openings of the calls of the tools that must all be used for the bonus.
        bonus: at least 0.
        check: the format; None takes `thought_and_answered`.

    Raises:
        InputError: ``tools`` are no texts, or ``bonus`` is negative.
    """

    paper = "ARPO, arXiv 2507.19849 (hierarchical reward)"
    needs = frozenset({"reference"})
    complete = True

    def __init__(
        self,
        scorer: Scorer | None = None,
        tools: Sequence[str] = ("<search>", "<python>"),
        bonus: float = 0.1,
        check: FormatCheck | None = None,
    ):
        if not isinstance(tools, (list, tuple)) or not tools or not all(isinstance(t, str) and t for t in tools):
            raise InputError(f"tools must be a list of openings such as '<search>', not {tools!r}.")
        self.outcome = Score(scorer, "outcome", 0.0, 1.0) if scorer is not None else None
        self.needs = frozenset() if scorer is not None else frozenset({"reference"})
        self.tools = tuple(tools)
        self.bonus = check_number("bonus", bonus, low=0.0)
        self.check = check if check is not None else thought_and_answered

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0 + self.bonus

    def value(self, episode: Episode) -> float | None:
        f1 = self.outcome(episode) if self.outcome else best_f1(episode.answer, episode.extra("reference"))
        if f1 is None:
            return None
        used = all(any(tool in step.action for step in episode.steps) for tool in self.tools)
        return arpo(self.check(episode), f1, used, self.bonus)
