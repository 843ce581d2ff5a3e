"""Conciseness as a yes or no: shorter than the policy has been on average so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..episode import Episode
from ..reward import GroupReward, register


@register("below-average-length")
class BelowAverageLength(GroupReward):
    """A term of 1 for an episode shorter than the average of all groups before its own, and 0 otherwise.

    Before the first group there is no average, and nobody is shorter.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (conciseness)"

    def __init__(self) -> None:
        self.tokens = 0
        self.episodes = 0

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        average = self.tokens / self.episodes if self.episodes else 0.0
        self.tokens += sum(episode.tokens for episode in episodes)
        self.episodes += len(episodes)
        return [float(episode.tokens < average) for episode in episodes]

    def state_dict(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "episodes": self.episodes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state.items() if key not in ("tokens", "episodes")})
        self.tokens, self.episodes = int(state.get("tokens", 0)), int(state.get("episodes", 0))
