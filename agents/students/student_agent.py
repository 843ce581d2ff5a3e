"""Agent that plays a student's learned policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ..agent import Agent


class StudentAgent(Agent):
    """Agent that plays a student's learned policy, with a separate random stream per episode.

    Args:
        student: a student, such as `PPO` or `QLearning`, with ``player`` and ``practice``.
        name: name in reports.
        temperature: temperature of PPO's distribution over Discrete actions (factor of the standard deviation for a
            Box); 0 takes the likeliest action. A Q-table is always greedy, and breaks ties at random.
        seed: number from which the random streams are derived.
    """

    def __init__(self, student: Any, name: str = "student", temperature: float = 1.0, seed: int = 0):
        self.name, self.seed = name, seed
        self._player = student.player(temperature)
        self._space: Any = student.practice.observation_space
        # Sub-goals are shown in training only; see `bonuses.beacons.ConditionedSpace`.
        self._hide: Callable[[Any], Any] | None = getattr(self._space, "hide", None)
        if self._hide is not None:
            self._space = self._space["observation"]
        self._streams: dict[int, np.random.Generator] = {}
        self._states: dict[int, Any] = {}

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Raise InputError if an environment's observation space differs from the training environment's."""
        for env in envs:
            if env.observation_space != self._space:
                raise InputError(
                    f"{env} shows {env.observation_space}, but the student learned from {self._space}; evaluate it on "
                    "the environment that it was trained on."
                )

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self._streams.pop(slot, None)
            self._states.pop(slot, None)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        playing = [slot for slot, info in enumerate(infos) if not info.get("idle")]
        actions: list[Any] = [None] * len(observations)
        if playing:
            streams = [self._stream(slot, infos[slot]) for slot in playing]
            states = [self._states.get(slot) for slot in playing]
            seen = [observations[slot] for slot in playing]
            seen = seen if self._hide is None else [self._hide(observation) for observation in seen]
            chosen, states = self._player(seen, states, streams)
            for slot, action, state in zip(playing, chosen, states, strict=True):
                actions[slot], self._states[slot] = action, state
        return actions

    def _stream(self, slot: int, info: Mapping[str, Any]) -> np.random.Generator:
        if slot not in self._streams:
            self._streams[slot] = np.random.default_rng([self.seed, int(info.get("episode_seed", slot))])
        return self._streams[slot]
