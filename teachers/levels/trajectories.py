"""Measurements of an actor-critic learner on one level, from which level scores are computed.

Functions take rewards float64[T], values float64[T + 1] (including the state after the last step) and dones bool[T].
`trajectory_extras` returns the extras of an `Outcome`, by the names that `scores` uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError


def td_errors(rewards: Any, values: Any, dones: Any, gamma: float) -> np.ndarray:
    """Return float64[T], r_t + gamma V_{t+1} - V_t, with V_{t+1} = 0 after the end of an episode.

    The one-step error of the released level-replay code has a wrong sign and a wrong discount; this is the usual one.

    Raises:
        InputError: lengths do not fit.
    """
    r, v, end = (np.asarray(x, dtype=np.float64) for x in (rewards, values, dones))
    if r.ndim != 1 or end.shape != r.shape or v.shape != (len(r) + 1,):
        raise InputError(
            f"rewards {r.shape}, values {v.shape} and dones {end.shape} do not fit; give T, T + 1 and T numbers."
        )
    return r + gamma * v[1:] * (1 - end) - v[:-1]


def estimate_advantages(rewards: Any, values: Any, dones: Any, gamma: float, lam: float) -> np.ndarray:
    """Return float64[T], generalised advantage estimates, sum_k (gamma lam)^k delta_{t+k} up to the end of the episode
    (arXiv 1506.02438, equation 16)."""
    deltas = td_errors(rewards, values, dones, gamma)
    advantages, running = np.empty_like(deltas), 0.0
    for t in range(len(deltas) - 1, -1, -1):
        running = deltas[t] + (0.0 if dones[t] else gamma * lam * running)
        advantages[t] = running
    return advantages


def negative_advantages(rewards: Any, values: Any, dones: Any, gamma: float, lam: float) -> np.ndarray:
    """Compute float64[T] <= 0, n-step advantages against the highest value that the critic assigned along the way
    (maximised negative advantage, arXiv 2601.14957).

    A_t^(n) = min(0, A_t^(n-1) + gamma^n delta_{t+n}) are n-step advantages without any surplus, averaged with the
    weights (1 - lam) lam^n; the last step of the episode gets all remaining weight.
    """
    deltas = td_errors(rewards, values, dones, gamma)
    total, steps = np.zeros_like(deltas), len(deltas)
    episode_end = np.asarray(dones, dtype=bool).copy()
    episode_end[-1:] = True
    ends = np.flatnonzero(episode_end)
    last = ends[np.searchsorted(ends, np.arange(steps))]  # last step of the episode of each step
    running = np.zeros_like(deltas)
    for n in range(steps):
        at = np.flatnonzero(np.arange(steps) + n <= last)
        if not len(at):
            break
        running[at] = np.minimum(0.0, running[at] + gamma**n * deltas[at + n])
        total[at] += np.where(at + n == last[at], lam**n, (1 - lam) * lam**n) * running[at]
    return total


def normalised_entropy(probabilities: Any) -> float:
    """Return the mean entropy of float64[T, actions], divided by its maximum, the logarithm of the number of actions.
    (In dcd a misplaced parenthesis sums logarithms before weighting them.)"""
    p = np.asarray(probabilities, dtype=np.float64)
    logs = np.log(np.where(p > 0, p, 1.0))
    return float(-(p * logs).sum(-1).mean() / np.log(max(p.shape[-1], 2)))


def mean_least_confidence(probabilities: Any) -> float:
    """Return the mean of 1 - max_a pi(a), for float64[T, actions]."""
    return float(1 - np.asarray(probabilities, dtype=np.float64).max(-1).mean())


def mean_margin(probabilities: Any) -> float:
    """Return the mean gap between the two most likely actions, for float64[T, actions >= 2]."""
    two = np.sort(np.asarray(probabilities, dtype=np.float64), -1)[..., -2:]
    return float((two[..., 1] - two[..., 0]).mean())


CRITIC_EXTRAS = frozenset(
    {"value_l1", "positive_value_loss", "signed_value_loss", "one_step_td", "mean_value", "negative_advantage"}
)
"""Names of the extras that `trajectory_extras` computes without ``probabilities``."""


def trajectory_extras(
    rewards: Any, values: Any, dones: Any, gamma: float, lam: float, probabilities: Any | None = None
) -> dict[str, float]:
    """Return a trajectory's extras by name.

    "value_l1", "positive_value_loss", "signed_value_loss", "one_step_td" and "mean_value" are means over steps,
    "negative_advantage" is a sum. If the policy's ``probabilities`` (float64[T, actions]) are given, "policy_entropy",
    "least_confidence" and "min_margin" are added.
    """
    advantages = estimate_advantages(rewards, values, dones, gamma, lam)
    extras = {
        "value_l1": float(np.abs(advantages).mean()),
        "positive_value_loss": float(advantages.clip(0.0).mean()),
        "signed_value_loss": float(advantages.mean()),
        "one_step_td": float(np.abs(td_errors(rewards, values, dones, gamma)).mean()),
        "mean_value": float(np.asarray(values, dtype=np.float64)[:-1].mean()),
        "negative_advantage": float(-negative_advantages(rewards, values, dones, gamma, lam).sum()),
    }
    if probabilities is not None:
        extras["policy_entropy"] = normalised_entropy(probabilities)
        extras["least_confidence"] = mean_least_confidence(probabilities)
        extras["min_margin"] = mean_margin(probabilities)
    return extras
