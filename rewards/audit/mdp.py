"""Small MDP with known dynamics, for which the effect of a reward on the optimal policy can be computed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...checks import check_number
from ...errors import InputError


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """Dynamics of an MDP with S states and A actions; rewards are separate arrays, because several are compared.

    Args:
        transitions: [S, A, S], probability of each next state; rows sum to 1. A terminal state leads to itself.
        discount: in [0, 1).

    Raises:
        InputError: another shape, rows that are no distribution, or a discount out of range.
    """

    transitions: np.ndarray
    discount: float = 0.9

    def __post_init__(self) -> None:
        chances = np.asarray(self.transitions, float)
        square = chances.ndim == 3 and chances.shape[0] == chances.shape[2] and chances.size > 0
        if not square or chances.min() < 0 or not np.allclose(chances.sum(-1), 1.0):
            raise InputError(f"transitions must be [S, A, S] with rows that sum to 1, not of shape {chances.shape}.")
        object.__setattr__(self, "transitions", chances)
        if not 0.0 <= check_number("discount", self.discount) < 1.0:
            raise InputError(f"discount must lie in [0, 1), not {self.discount!r}.")

    @property
    def states(self) -> int:
        return self.transitions.shape[0]

    @property
    def actions(self) -> int:
        return self.transitions.shape[1]


def as_reward(mdp: TabularMDP, reward: np.ndarray | Sequence[float]) -> np.ndarray:
    """Broadcast a reward of shape [S], [S, A] or [S, A, S] to [S, A, S].

    Raises:
        InputError: another shape, or a value that is not finite.
    """
    array = np.asarray(reward, float)
    shape = (mdp.states, mdp.actions, mdp.states)
    if array.shape not in (shape, shape[:2], shape[:1]) or not np.isfinite(array).all():
        raise InputError(f"a reward must be finite, of shape {shape}, {shape[:2]} or {shape[:1]}, not {array.shape}.")
    return np.broadcast_to(array.reshape(array.shape + (1,) * (3 - array.ndim)), shape)


def action_values(mdp: TabularMDP, reward: np.ndarray, tolerance: float = 1e-12) -> np.ndarray:
    """Compute the optimal Q [S, A] by value iteration, to within ``tolerance`` times the largest expected reward."""
    expected = (mdp.transitions * as_reward(mdp, reward)).sum(-1)
    scale = max(float(np.abs(expected).max()), 1e-300)
    values = np.zeros(mdp.states)
    while True:
        quality = expected + mdp.discount * mdp.transitions @ values
        after = quality.max(1)
        if np.abs(after - values).max() <= tolerance * scale:
            return quality
        values = after


def optimal_policy(mdp: TabularMDP, reward: np.ndarray, tolerance: float = 1e-8) -> np.ndarray:
    """Mark the optimal actions of each state, as bool [S, A]; actions of equal value are all marked."""
    quality = action_values(mdp, reward)
    scale = max(float(np.abs(quality).max()), 1e-300)
    return quality >= quality.max(1, keepdims=True) - tolerance * scale


def policy_values(mdp: TabularMDP, reward: np.ndarray, policy: np.ndarray | None = None) -> np.ndarray:
    """Compute V [S] of a policy [S, A] of action probabilities; None takes the uniform policy."""
    if policy is None:
        policy = np.full((mdp.states, mdp.actions), 1.0 / mdp.actions)
    moves = np.einsum("sa,sat->st", policy, mdp.transitions)
    expected = (policy * (mdp.transitions * as_reward(mdp, reward)).sum(-1)).sum(-1)
    return np.linalg.solve(np.eye(mdp.states) - mdp.discount * moves, expected)


def potential_shaping(mdp: TabularMDP, reward: np.ndarray, potential: Sequence[float] | np.ndarray) -> np.ndarray:
    """Compute ``R(s, a, s') + discount * potential(s') - potential(s)``, [S, A, S]."""
    phi = np.asarray(potential, float)
    if phi.shape != (mdp.states,):
        raise InputError(f"a potential has one value for each of the {mdp.states} states, not shape {phi.shape}.")
    return as_reward(mdp, reward) + mdp.discount * phi[None, None, :] - phi[:, None, None]


def gridworld(size: int = 4, slip: float = 0.1, discount: float = 0.9) -> tuple[TabularMDP, np.ndarray]:
    """Make a square grid whose last cell is terminal, and its sparse reward [S, A, S]: 1 for entering that cell.

    Args:
        size: cells per side, at least 2.
        slip: probability in [0, 1] that a move (up, down, left, right) has no effect.
        discount: discount of the MDP, in [0, 1).
    """
    if size < 2:
        raise InputError(f"a gridworld needs a size of at least 2, not {size!r}.")
    slip = check_number("slip", slip, 0.0, 1.0)
    cells = size * size
    chances = np.zeros((cells, 4, cells))
    for cell in range(cells):
        row, column = divmod(cell, size)
        for action, (down, right) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
            there = min(max(row + down, 0), size - 1) * size + min(max(column + right, 0), size - 1)
            if cell == cells - 1:
                there = cell
            chances[cell, action, there] += 1 - slip
            chances[cell, action, cell] += slip
    reward = np.zeros_like(chances)
    reward[: cells - 1, :, cells - 1] = 1.0
    return TabularMDP(chances, discount), reward
