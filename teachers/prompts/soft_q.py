"""Soft Q-learning of sequences of actions by path consistency, and the reward of a prompt (RLPrompt, arXiv 2205.12548).

The logits of a policy are its soft action values Q, so that V = logsumexp Q and A = Q - V = log pi. For an episode with
one reward r at its end the values are right if A_t = V_{t+1} - V_t at each step, with r in place of V after the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

RIGHT, WRONG = 200.0, 180.0  # factors of a positive and of a negative gap, as in the released code
TINY = 1e-4  # added to the deviation of z-scores


def gap_reward(gap: float) -> float:
    """Return 200 times a positive gap P(y) - max P(y') of the right answer y over others y', 180 times another gap."""
    return (RIGHT if gap > 0 else WRONG) * gap


def z_scores(rewards: ArrayLike) -> np.ndarray:
    """Return (r - mean) / (std + 1e-4) of the rewards of different prompts for the same input, float64[n]."""
    values = np.asarray(rewards, dtype=np.float64)
    return (values - values.mean()) / (values.std() + TINY)


def shape_range(
    reward: float, old: tuple[float, float] = (0.0, 100.0), new: tuple[float, float] = (-10.0, 10.0)
) -> float:
    """Map a reward linearly from the range ``old`` to the range ``new``; rewards outside are not clipped."""
    return new[0] + (reward - old[0]) / (old[1] - old[0]) * (new[1] - new[0])


class PathConsistency(NamedTuple):
    """Losses of an episode, and the derivative of half their sum with respect to A_t, float64[T]."""

    single_step: float
    multi_step: float
    slope_t: np.ndarray

    @property
    def loss(self) -> float:
        """1/2 (single-step + multi-step)."""
        return 0.5 * (self.single_step + self.multi_step)


def path_consistency(adv_t: ArrayLike, v_target_t: ArrayLike, reward: float) -> PathConsistency:
    """Compute the losses v2 and v3 of the released code, squared errors averaged over the T steps.

    Args:
        adv_t: A_t = log pi(a_t | s_t), float[T].
        v_target_t: the target network's V of the states before each action, float[T].
        reward: r.

    Returns:
        v2, whose targets are V_{t+1} - V_t and r - V_T, and v3, whose targets are r - V_t for the sum of A from t on.
    """
    adv, value = np.asarray(adv_t, dtype=np.float64), np.asarray(v_target_t, dtype=np.float64)
    single = adv - (np.append(value[1:], reward) - value)
    multi = np.cumsum(adv[::-1])[::-1] - (reward - value)
    steps = len(adv)
    slope = 0.5 * (single + np.cumsum(multi)) / steps
    return PathConsistency(float(0.5 * np.mean(single**2)), float(0.5 * np.mean(multi**2)), slope)
