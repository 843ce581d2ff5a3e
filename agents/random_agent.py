"""The agent that samples actions uniformly from the action space: the lower bound of every table."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ..errors import InputError
from .agent import Agent, register


@register("random")
class RandomAgent(Agent):
    """Agent that samples each slot's action space, with a separate random stream per episode.

    The stream is seeded by ``info["episode_seed"]`` if present, so that an episode is played the same in any slot;
    otherwise by the slot and its number of episodes so far.

    Args:
        seed: non-negative int from which all streams are derived.
        space: the action space of every slot; None: the space of each environment given to `bind`.
    """

    name = "random"

    def __init__(self, seed: int = 0, space: gym.Space | None = None):
        self.seed = seed
        self.space = space
        self._spaces: list[gym.Space] = []
        self._streams: dict[int, gym.Space] = {}
        self._begun: dict[int, int] = {}

    def bind(self, envs: Sequence[gym.Env]) -> None:
        self._spaces = [env.action_space for env in envs]
        self._streams.clear()
        self._begun.clear()

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self._streams.pop(slot, None)
            self._begun[slot] = self._begun.get(slot, 0) + 1

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [None if info.get("idle") else self._stream(slot, info).sample() for slot, info in enumerate(infos)]

    def _stream(self, slot: int, info: Mapping[str, Any]) -> gym.Space:
        """Return the slot's copy of its action space, seeded anew for each episode."""
        if slot not in self._streams:
            space = self.space or (self._spaces[slot] if slot < len(self._spaces) else None)
            if space is None:
                raise InputError(
                    "the random agent knows no action space; pass RandomAgent(space=...) or call bind(envs)."
                )
            # A copy, as environments may share one space and draw from it themselves.
            stream = copy.deepcopy(space)
            if "episode_seed" in info:
                root = [self.seed, 0, int(info["episode_seed"])]
            else:
                root = [self.seed, 1, slot, self._begun.get(slot, 0)]
            stream.seed(int(np.random.SeedSequence(root).generate_state(1)[0]))
            self._streams[slot] = stream
        return self._streams[slot]
