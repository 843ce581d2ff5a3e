"""A problem of reward design: a tabular MDP, its primary reward, and what follows from both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError
from ..audit.mdp import TabularMDP, action_values, as_reward

_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class RewardProblem:
    """Problem that a designer is given.

    Args:
        mdp: S states and A actions.
        primary: [S, A] or [S, A, S], the reward that counts.
        auxiliary: the same shapes, the heuristic of a designer; None: 0 everywhere.

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
        """bool[S]: states that no action leaves or gets a reward in."""
        stays = self.mdp.transitions[np.arange(self.mdp.states), :, np.arange(self.mdp.states)] > 1 - 1e-12
        return stays.all(1) & (self.primary == 0).all(1)

    @cached_property
    def values(self) -> np.ndarray:
        """[S, A]: the optimal Q under the primary reward."""
        return action_values(self.mdp, self.primary)

    @cached_property
    def optimal(self) -> np.ndarray:
        """bool[S, A]: optimal actions under the primary reward."""
        scale = max(float(np.abs(self.values).max()), 1e-300)
        return self.values >= self.values.max(1, keepdims=True) - _TOLERANCE * scale

    @cached_property
    def policy(self) -> np.ndarray:
        """The teacher's action in each state [S]: the first optimal action."""
        return self.optimal.argmax(1)

    @cached_property
    def gaps(self) -> np.ndarray:
        """The smallest loss of a suboptimal action in each state [S]; 0 if all actions are optimal."""
        losses = np.where(self.optimal, np.inf, self.values.max(1, keepdims=True) - self.values)
        least = losses.min(1)
        return np.where(np.isfinite(least), least, 0.0)

    @cached_property
    def demands(self) -> np.ndarray:
        """The margin [S, A] by which a designed reward must prefer the teacher's action: for suboptimal actions the
        gap, less a tolerance; for optimal actions 0. Optimal policies then stay optimal, and no others become so."""
        return np.where(self.optimal, 0.0, self.gaps[:, None] / (1 + 1e-5))

    def moves(self, policy: np.ndarray) -> np.ndarray:
        """[S, S]: transitions under a policy [S, A] of probabilities, or [S] of actions."""
        if policy.ndim == 1:
            return self.mdp.transitions[np.arange(self.mdp.states), policy]
        return np.einsum("sa,sat->st", policy, self.mdp.transitions)

    def occupancy(self, policy: np.ndarray) -> np.ndarray:
        """Compute the discounted state distribution [S] of a policy under a uniform start; it sums to 1 and is 0 at
        terminal states."""
        start = np.where(self.terminal, 0.0, 1.0)
        visits = np.linalg.solve(np.eye(self.mdp.states) - self.mdp.discount * self.moves(policy).T, start)
        visits[self.terminal] = 0.0
        return visits / visits.sum()


def check_policy(problem: RewardProblem, policy: np.ndarray) -> np.ndarray:
    """Check that the rows of a policy [S, A] are distributions, and return it as an array of floats.

    Raises:
        InputError: a row is no distribution, or the shape is wrong.
    """
    policy = np.asarray(policy, float)
    if policy.shape != problem.primary.shape or policy.min() < 0 or not np.allclose(policy.sum(1), 1.0):
        raise InputError(f"a policy has a distribution over actions in each row [S, A], not shape {policy.shape}.")
    return policy
