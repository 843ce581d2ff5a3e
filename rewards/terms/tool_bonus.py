"""SPEAR's tool-call bonus: calling tools pays a little at first, and nothing once the habit is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ...schedules import Cosine, Schedule, schedule
from ..episode import Episode
from ..reward import register
from ..timed import Timed

FADING = Cosine(start=1.0, end=0.0, over=200)


def tool_bonus(calls: int, weight: float, each: float = 0.1) -> float:
    """weight * min(1, each * calls)."""
    return weight * min(1.0, each * calls)


@register("tool-bonus")
class ToolBonus(Timed):
    """A term for tool calls, right or wrong, that fades to nothing. Weigh it below the pay of a success.

    Args:
        weight: a number, a schedule or its data; by default half a cosine from 1 to 0 over 200 updates (the paper uses
            100 to 200).
        each: pay of one call before the weight; all calls together earn at most 1.
        marker: text that opens a call; its occurrences in the actions are counted.
        count: how to count calls instead, a callable of the episode.

    Raises:
        InputError: an empty marker or a negative pay.
    """

    paper = "SPEAR, arXiv 2509.22601 (intrinsic reward for tool calls)"

    def __init__(
        self,
        weight: Schedule | Mapping[str, Any] | float = FADING,
        each: float = 0.1,
        marker: str = "<tool_call>",
        count: Callable[[Episode], int] | None = None,
    ):
        self.weight = schedule(weight)
        self.each = check_number("each", each, low=0.0)
        if not isinstance(marker, str) or not marker:
            raise InputError(f"marker must be the text that opens a tool call, not {marker!r}.")
        self.marker, self.count = marker, count

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.weight.bounds
        return min(low, 0.0), max(high, 0.0)

    def value(self, episode: Episode) -> float:
        if self.count is not None:
            calls = self.count(episode)
        else:
            calls = sum(step.action.count(self.marker) for step in episode.steps)
        return tool_bonus(calls, self.now(self.weight), self.each)
