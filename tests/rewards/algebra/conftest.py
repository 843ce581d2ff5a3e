"""A reward that reads its value from the episode, and episodes by such values."""

from __future__ import annotations

import math

from palaestra.rewards import Episode, Reward, Step


class Read(Reward):
    """Reads its value from the episode's params; a missing one could not be determined."""

    def __init__(self, key: str, low: float = -math.inf, high: float = math.inf):
        self.key, self._bounds = key, (low, high)

    @property
    def bounds(self) -> tuple[float, float]:
        return self._bounds

    def value(self, episode: Episode) -> float | None:
        return episode.params.get(self.key)

    def describe(self) -> str:
        return f"read {self.key}"


def episode(success: bool = False, valid: bool = True, tokens: int = 3, **values: float) -> Episode:
    step = Step("q", "a", float(success), {"answer": float(success)}, tokens)
    return Episode("t", values, (step,), success, float(success), valid, False, 16)


def reward_of(reward: Reward, **values: float) -> float:
    return reward(episode(**values)).reward
