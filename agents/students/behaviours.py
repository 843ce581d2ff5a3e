"""Behaviour descriptors of policies, their novelty, and an auto-encoder that compresses them.

A behaviour is a vector computed from the end of an episode: the agent's position, or a learned code of the final state.
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
    """Return the agent's position at the end of an episode and the whole state, as float32 vectors.

    In a gridworld the position is column / width and row / height, and the state consists of the content of every cell
    and a one-hot code of the agent's cell. In other environments both vectors are the last observation.
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
        neighbours: k; if fewer points are known, all are used.
        own: int[n], for each point the row of ``known`` that is the point itself, which is skipped; None if the points
            are not in ``known``.
    """
    distances = np.linalg.norm(points[:, None, :].astype(np.float64) - known[None, :, :], axis=-1)
    if own is not None:
        distances[np.arange(len(points)), own] = np.inf
    near = np.sort(distances, axis=1)[:, :neighbours]
    finite = np.isfinite(near)
    return np.where(finite, near, 0.0).sum(1) / np.maximum(finite.sum(1), 1)


def rank_fronts(scores: np.ndarray) -> np.ndarray:
    """Return the index of the Pareto front of each row of ``scores`` [n, 2], int[n] (non-dominated sorting, Deb et al.
    2002).

    Larger scores are better. Front 0 has the rows that no other row dominates; a row dominates another if it is larger
    in one score and not smaller in the other.
    """
    ranks, left, front = np.full(len(scores), -1), np.arange(len(scores)), 0
    while len(left):
        rows = scores[left]
        exceeds = (rows[None] >= rows[:, None]).all(-1) & (rows[None] > rows[:, None]).any(-1)
        best = exceeds.sum(1) == 0
        ranks[left[best]], left, front = front, left[~best], front + 1
    return ranks


class BehaviourCode:
    """Auto-encoder of state vectors with a tanh layer on either side of the code, trained by Adam.

    Args:
        inputs: length of a state vector.
        size: length of a code.
        rng: random generator of the initial weights and of the order of training states.
    """

    def __init__(self, inputs: int, size: int, rng: np.random.Generator):
        self.rng = rng
        layers = ((inputs, _UNITS), (_UNITS, size), (size, _UNITS), (_UNITS, inputs))
        self.weights = [rng.standard_normal(shape) / shape[0] ** 0.5 for shape in layers]
        self.biases = [np.zeros(shape[1]) for shape in layers]
        self._moments = [np.zeros((2, *array.shape)) for array in (*self.weights, *self.biases)]
        self._steps = 0

    def encode(self, states: np.ndarray) -> np.ndarray:
        """Return the codes of states, float64[n, size]."""
        return self._forward(states)[1]

    def errors(self, states: np.ndarray) -> np.ndarray:
        """Return the mean squared reconstruction error of each state, float64[n]."""
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
        """Return the gradients of the mean reconstruction error: of the four weights, then of the four biases."""
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
        """Train for thirty epochs on states, in minibatches of 32."""
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
        """Return weights, biases and the state of the optimiser, by name."""
        named = {f"code_{number}": array for number, array in enumerate((*self.weights, *self.biases))}
        moments = {f"moment_{number}": array for number, array in enumerate(self._moments)}
        return {**named, **moments, "code_steps": np.array(self._steps)}

    def load_arrays(self, saved: Mapping[str, np.ndarray]) -> None:
        """Restore the arrays that `arrays` returned."""
        self.weights = [saved[f"code_{number}"].copy() for number in range(4)]
        self.biases = [saved[f"code_{number}"].copy() for number in range(4, 8)]
        self._moments = [saved[f"moment_{number}"].copy() for number in range(8)]
        self._steps = int(saved["code_steps"])
