"""Small recurrent policies whose weights are one vector, a genome, for learners that mutate genomes.

A policy is deterministic: its actions follow from genome and observations. Only numpy is needed.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from .observations import CODES, ObservationCode

_EMBEDDING = 4
_EMBEDDING_SEED = 2022


class PolicyNetwork:
    """Network whose weights are a genome: one recurrent tanh layer, and an output per action.

    Images of cells (see `ObservationCode`) go through a fixed random embedding, the same in every run; other inputs are
    not embedded.

    Args:
        observations, actions: the spaces of the environment.
        hidden: units of the recurrent layer.

    Attributes:
        size: length of a genome.

    Raises:
        InputError: actions are neither Discrete nor a Box of one dimension, or an observation cannot be encoded.
    """

    def __init__(self, observations: gym.Space[Any], actions: gym.Space[Any], hidden: int):
        self.code, self.actions, self.hidden = ObservationCode(observations), actions, hidden
        if isinstance(actions, gym.spaces.Discrete):
            outputs = int(actions.n)
        elif isinstance(actions, gym.spaces.Box) and len(actions.shape) == 1:
            outputs = int(actions.shape[0])
        else:
            raise InputError(f"novelty-search needs Discrete actions or a Box of one dimension, not {actions}.")
        # MiniGrid's images have up to three channels, other small images may have more.
        self._embedding = np.random.default_rng(_EMBEDDING_SEED).standard_normal((16, CODES, _EMBEDDING))
        self.inputs = len(self.encode([self.code.space.sample()])[0])
        self._shapes = ((hidden, self.inputs), (hidden, hidden), (hidden,), (outputs, hidden), (outputs,))
        self.size = sum(int(np.prod(shape)) for shape in self._shapes)

    def encode(self, observations: list[Any]) -> np.ndarray:
        """Convert n observations to the network's inputs, float64[n, inputs]."""
        parts = []
        for name, array in self.code.encode(observations).items():
            if name.startswith("cells"):
                known, channels = np.minimum(array, CODES - 1), np.arange(array.shape[-1]) % len(self._embedding)
                embedded = self._embedding[channels, known].sum(-2) / array.shape[-1] ** 0.5
                parts.append(embedded.reshape(len(array), -1))
            else:
                scale = 255.0 if name.startswith("pixels") else 1.0
                parts.append(array.reshape(len(array), -1) / scale)
        return np.concatenate(parts, axis=1)

    def begin(self) -> np.ndarray:
        """Return the state of the recurrent layer at the start of an episode, float64[hidden]."""
        return np.zeros(self.hidden)

    def unpack(self, genome: np.ndarray) -> list[np.ndarray]:
        """Return the weight arrays of a genome; matrices are divided by the root of their number of inputs."""
        found, place = [], 0
        for shape in self._shapes:
            count = int(np.prod(shape))
            array = genome[place : place + count].astype(np.float64).reshape(shape)
            found.append(array / shape[1] ** 0.5 if len(shape) == 2 else array)
            place += count
        return found

    def act(self, weights: list[np.ndarray], observation: Any, memory: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the action for an observation, and the next state of the recurrent layer.

        Args:
            weights: the result of `unpack`.
            memory: state of the recurrent layer.
        """
        seen, again, bias, out, out_bias = weights
        memory = np.tanh(seen @ self.encode([observation])[0] + again @ memory + bias)
        values, space = out @ memory + out_bias, self.actions
        if isinstance(space, gym.spaces.Discrete):
            return int(space.start) + int(values.argmax()), memory
        low, high = np.maximum(space.low, -1e6), np.minimum(space.high, 1e6)  # type: ignore[attr-defined]
        return (low + (np.tanh(values) + 1) / 2 * (high - low)).astype(space.dtype), memory
