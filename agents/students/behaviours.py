"""Behaviours of policies as points, their novelty, and a learned code of them.

A behaviour is computed from the end of an episode: the agent's position, or the whole state in a code of few numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.grids.cells import ENCODING
from ...envs.grids.grid_world import World
from .observations import ObservationCode

_UNITS, _EPOCHS, _BATCH, _RATE = 32, 30, 32, 3e-3


def describe_end(env: gym.Env[Any, Any], observation: Any, code: ObservationCode) -> tuple[np.ndarray, np.ndarray]:
    """Return where an episode has ended and the whole state there, as arrays float32.

    Of a gridworld the place is column and row as shares of the grid, and the state what every cell holds, and which one
    the agent is in. Elsewhere both are the last observation.
    """
    here = getattr(env.unwrapped, "here", None)
    world = here() if here is not None else None
    if isinstance(world, World):
        cells = ENCODING[np.frombuffer(world.cells, np.uint8)][:, 0] / 10.0
        at = np.zeros(len(cells))
        at[world.agent] = 1.0
        x, y = world.place
        place = np.array([x / world.width, y / world.height], dtype=np.float32)
        return place, np.concatenate([cells, at]).astype(np.float32)
    seen = np.concatenate([array.astype(np.float32).ravel() for array in code.encode([observation]).values()])
    return seen, seen


def novelty(points: np.ndarray, known: np.ndarray, neighbours: int, own: np.ndarray | None = None) -> np.ndarray:
    """Return the mean distance of each point to its k nearest known points, float64[n] (Lehman and Stanley 2011,
    equation 1).

    Args:
        points: [n, d].
        known: [m, d], archive and population.
        neighbours: k; all known points if there are fewer.
        own: int[n], the row of ``known`` that is the point itself and is skipped; None if no point is known.
    """
    distances = np.linalg.norm(points[:, None, :].astype(np.float64) - known[None, :, :], axis=-1)
    if own is not None:
        distances[np.arange(len(points)), own] = np.inf
    near = np.sort(distances, axis=1)[:, :neighbours]
    finite = np.isfinite(near)
    return np.where(finite, near, 0.0).sum(1) / np.maximum(finite.sum(1), 1)


def rank_fronts(scores: np.ndarray) -> np.ndarray:
    """Return the Pareto front of each row of ``scores`` [n, 2], int[n]: 0 for rows that no other row dominates (exceeds
    in one score without being less in the other); larger is better (Deb et al. 2002, non-dominated sorting)."""
    ranks, left, front = np.full(len(scores), -1), np.arange(len(scores)), 0
    while len(left):
        rows = scores[left]
        exceeds = (rows[None] >= rows[:, None]).all(-1) & (rows[None] > rows[:, None]).any(-1)
        best = exceeds.sum(1) == 0
        ranks[left[best]], left, front = front, left[~best], front + 1
    return ranks


class BehaviourCode:
    """An auto-encoder with a tanh layer on either side of the code, trained by Adam.

    Args:
        inputs: width of a state vector.
        size: width of a code.
        rng: draws the weights, and the order of the training states.
    """

    def __init__(self, inputs: int, size: int, rng: np.random.Generator):
        self.rng = rng
        layers = ((inputs, _UNITS), (_UNITS, size), (size, _UNITS), (_UNITS, inputs))
        self.weights = [rng.standard_normal(shape) / shape[0] ** 0.5 for shape in layers]
        self.biases = [np.zeros(shape[1]) for shape in layers]
        self._moments = [np.zeros((2, *array.shape)) for array in (*self.weights, *self.biases)]
        self._steps = 0

    def encode(self, states: np.ndarray) -> np.ndarray:
        """float64[n, size]."""
        return self._forward(states)[1]

    def errors(self, states: np.ndarray) -> np.ndarray:
        """float64[n]: the mean squared error of each state that is decoded from its code."""
        return ((self._forward(states)[-1] - states) ** 2).mean(1)

    def _forward(self, states: np.ndarray) -> list[np.ndarray]:
        """Return the outputs of the four layers."""
        outputs, value = [], states.astype(np.float64)
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            value = value @ weight + bias
            value = value if number % 2 else np.tanh(value)
            outputs.append(value)
        return outputs

    def gradients(self, states: np.ndarray) -> list[np.ndarray]:
        """Return the gradients of the mean error over states: of the weights, then of the biases."""
        outputs = self._forward(states)
        inputs = [states.astype(np.float64), *outputs[:-1]]
        down = 2.0 * (outputs[-1] - states) / states.size
        weights, biases = [], []
        for number in reversed(range(4)):
            if number % 2 == 0:
                down = down * (1.0 - outputs[number] ** 2)
            weights.insert(0, inputs[number].T @ down)
            biases.insert(0, down.sum(0))
            down = down @ self.weights[number].T
        return [*weights, *biases]

    def learn(self, states: np.ndarray) -> None:
        """Go over states thirty times, in minibatches."""
        for _ in range(_EPOCHS):
            order = self.rng.permutation(len(states))
            for start in range(0, len(order), _BATCH):
                self._steps += 1
                slopes = self.gradients(states[order[start : start + _BATCH]])
                for array, slope, moment in zip((*self.weights, *self.biases), slopes, self._moments):
                    moment[0] += 0.1 * (slope - moment[0])
                    moment[1] += 0.001 * (slope**2 - moment[1])
                    mean, square = moment[0] / (1 - 0.9**self._steps), moment[1] / (1 - 0.999**self._steps)
                    array -= _RATE * mean / (np.sqrt(square) + 1e-8)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that it has learned."""
        named = {f"code_{number}": array for number, array in enumerate((*self.weights, *self.biases))}
        moments = {f"moment_{number}": array for number, array in enumerate(self._moments)}
        return {**named, **moments, "code_steps": np.array(self._steps)}

    def load_arrays(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned."""
        self.weights = [saved[f"code_{number}"].copy() for number in range(4)]
        self.biases = [saved[f"code_{number}"].copy() for number in range(4, 8)]
        self._moments = [saved[f"moment_{number}"].copy() for number in range(8)]
        self._steps = int(saved["code_steps"])
