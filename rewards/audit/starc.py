"""STARC: a distance between rewards that is 0 exactly if they order all policies alike (arXiv 2309.15257)."""

from __future__ import annotations

import numpy as np

from .mdp import TabularMDP, as_reward, policy_values


def canonical(mdp: TabularMDP, reward: np.ndarray) -> np.ndarray:
    """Compute ``c(R)(s, a) = E_s'[R(s, a, s') - V(s) + discount V(s')]`` [S, A], with V the values of the uniform
    policy. The result is invariant to potential shaping and to moving reward between next states with equal expectation
    (value-adjusted levelling, STARC, section 3)."""
    values = policy_values(mdp, reward)
    adjusted = as_reward(mdp, reward) - values[:, None, None] + mdp.discount * values[None, None, :]
    return (mdp.transitions * adjusted).sum(-1)


def standardise_reward(mdp: TabularMDP, reward: np.ndarray) -> np.ndarray:
    """Return `canonical` divided by its L2 norm, [S, A]; zeros for a reward that values all policies alike."""
    level = canonical(mdp, reward)
    norm = float(np.linalg.norm(level))
    # A reward that values all policies alike leaves only rounding errors, whose direction means nothing.
    negligible = 1e-10 * max(1.0, float(np.abs(as_reward(mdp, reward)).max()))
    return level / norm if norm > negligible else np.zeros_like(level)


def starc_distance(mdp: TabularMDP, one: np.ndarray, two: np.ndarray) -> float:
    """Compute ``1/2 |s(R1) - s(R2)|_2`` in [0, 1]: 0 for rewards that order all policies alike, 1 for opposite orders.

    Args:
        mdp: the dynamics for the comparison.
        one, two: rewards of shape [S], [S, A] or [S, A, S].
    """
    return float(np.linalg.norm(standardise_reward(mdp, one) - standardise_reward(mdp, two)) / 2)
