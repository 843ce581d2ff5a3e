"""Problem of reward design: a tabular MDP, its primary reward, and quantities that follow from both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError
from ..audit.mdp import TabularMDP, action_values, as_reward

_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class RewardProblem:
    """Input of a designer: an MDP and the reward to optimise.

    Args:
        mdp: the dynamics, with S states and A actions.
        primary: the reward to optimise, [S, A] or [S, A, S]; stored as its expectation [S, A].
        auxiliary: a heuristic reward that a designer may use, of the same shapes; None: 0 everywhere.

    Raises:
        InputError: another shape, or values that are not finite.
    """

    mdp: TabularMDP
    primary: np.ndarray
    auxiliary: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("primary", "auxiliary"):
            given = getattr(self, name)
            full = as_reward(self.mdp, np.zeros(self.mdp.states) if given is None else given)
            object.__setattr__(self, name, (self.mdp.transitions * full).sum(-1))

    @cached_property
    def terminal(self) -> np.ndarray:
        """Mask [S] of the states that every action stays in, without reward."""
        stays = self.mdp.transitions[np.arange(self.mdp.states), :, np.arange(self.mdp.states)] > 1 - 1e-12
        return stays.all(1) & (self.primary == 0).all(1)

    @cached_property
    def values(self) -> np.ndarray:
        """Optimal Q [S, A] under the primary reward."""
        return action_values(self.mdp, self.primary)

    @cached_property
    def optimal(self) -> np.ndarray:
        """Mask [S, A] of the optimal actions under the primary reward."""
        scale = max(float(np.abs(self.values).max()), 1e-300)
        return self.values >= self.values.max(1, keepdims=True) - _TOLERANCE * scale

    @cached_property
    def policy(self) -> np.ndarray:
        """Teacher's action in each state, [S]: the first optimal action."""
        return self.optimal.argmax(1)

    @cached_property
    def gaps(self) -> np.ndarray:
        """Smallest loss of value by a suboptimal action in each state, [S]; 0 if all actions are optimal."""
        losses = np.where(self.optimal, np.inf, self.values.max(1, keepdims=True) - self.values)
        least = losses.min(1)
        return np.where(np.isfinite(least), least, 0.0)

    @cached_property
    def demands(self) -> np.ndarray:
        """Margin [S, A] by which a designed reward must prefer the teacher's action in value. The margin is the state's
        gap, less a tolerance, for suboptimal actions, and 0 for optimal actions. Optimal policies then stay optimal,
        and no others become so."""
        return np.where(self.optimal, 0.0, self.gaps[:, None] / (1 + 1e-5))

    def moves(self, policy: np.ndarray) -> np.ndarray:
        """Return the state transitions [S, S] under a policy of probabilities [S, A] or of actions [S]."""
        if policy.ndim == 1:
            return self.mdp.transitions[np.arange(self.mdp.states), policy]
        return np.einsum("sa,sat->st", policy, self.mdp.transitions)

    def occupancy(self, policy: np.ndarray) -> np.ndarray:
        """Return a policy's discounted state distribution [S] under a uniform start, with 0 at terminal states."""
        start = np.where(self.terminal, 0.0, 1.0)
        visits = np.linalg.solve(np.eye(self.mdp.states) - self.mdp.discount * self.moves(policy).T, start)
        visits[self.terminal] = 0.0
        return visits / visits.sum()


def check_policy(problem: RewardProblem, policy: np.ndarray) -> np.ndarray:
    """Return a policy [S, A] as a float array, after checking that each row is a distribution.

    Raises:
        InputError: a row is no distribution, or the shape is wrong.
    """
    policy = np.asarray(policy, float)
    if policy.shape != problem.primary.shape or policy.min() < 0 or not np.allclose(policy.sum(1), 1.0):
        raise InputError(f"a policy has a distribution over actions in each row [S, A], not shape {policy.shape}.")
    return policy
