"""Formulas on the scores of an episode's steps: pure functions from arrays to arrays, one formula each.

Arguments carry the time step in their name: ``r_t`` rewards and ``s_t`` scores of steps 1..K, [K]; ``v_k`` values of
the prefixes 0..K, [K + 1]. Every function takes any sequence of numbers of one dimension and returns float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError


def _vector(values: ArrayLike, least: int = 0) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < least:
        raise InputError(f"step values must be a sequence of {least} or more numbers, not of shape {array.shape}.")
    return array


def suffix_sums(r_t: ArrayLike, discount: float = 1.0) -> np.ndarray:
    """Return the discounted sum of rewards from each step on, ``r_t + discount * r_{t+1} + ...``, [K]."""
    r_t = _vector(r_t)
    returns, later = np.zeros_like(r_t), 0.0
    for t in range(len(r_t) - 1, -1, -1):
        returns[t] = later = r_t[t] + discount * later
    return returns


def clip_steps(s_t: ArrayLike, threshold: float) -> np.ndarray:
    """Return ``min(s_t - threshold, 0)``: only steps below the threshold count (arXiv 2410.15115, Clip)."""
    return np.minimum(_vector(s_t) - threshold, 0.0)


def delta_steps(s_t: ArrayLike) -> np.ndarray:
    """Return ``s_t - s_{t+1}`` (s_K for the last step): the return from step t is s_t (arXiv 2410.15115, Delta)."""
    s_t = _vector(s_t)
    return s_t - np.append(s_t[1:], 0.0)[: len(s_t)]


def min_form_steps(r_t: ArrayLike, temperature: float = 0.1) -> np.ndarray:
    """Return ``softmax(-r / temperature) * r``: rewards whose sum is a soft minimum (PURE, arXiv 2504.15275).

    At temperature 0 the worst step keeps its reward and all others get 0; steps that tie for worst share the reward.

    Raises:
        InputError: the temperature is negative.
    """
    r_t = _vector(r_t)
    if not temperature >= 0:
        raise InputError(f"temperature must be 0 or more, not {temperature!r}.")
    if not len(r_t):
        return r_t
    above = r_t - r_t.min()
    weights = (above == 0).astype(float) if temperature == 0 else np.exp(-above / temperature)
    return weights / weights.sum() * r_t


def renorm_steps(process_t: ArrayLike, outcome: float) -> np.ndarray:
    """Return ``process_t + outcome - 1``: both scores, in [0, 1], minus one half (PPR ReNorm, arXiv 2509.25598)."""
    return _vector(process_t) + outcome - 1.0


def merge_runs(labels: Sequence[bool]) -> list[tuple[int, int, bool]]:
    """Merge consecutive steps of equal labels into runs (start, stop, label), TP-GRPO's thoughts (arXiv 2507.23317)."""
    runs: list[tuple[int, int, bool]] = []
    for t, label in enumerate(labels):
        if runs and runs[-1][2] == bool(label):
            runs[-1] = (runs[-1][0], t + 1, bool(label))
        else:
            runs.append((t, t + 1, bool(label)))
    return runs


def thought_rewards(labels: Sequence[bool], correct: bool, outcome: float, scale: float) -> np.ndarray:
    """Return process rewards [K], non-zero only on the last step of each thought (TP-GRPO, arXiv 2507.23317).

    A thought is a run of steps of equal labels (`merge_runs`). ``outcome + suffix_sums(result)`` is then, in a correct
    solution, ``outcome`` on correct thoughts and ``outcome - scale`` on wrong ones; in a wrong solution, ``outcome`` on
    thoughts that lead to the wrong answer and 0 on the others. For thoughts with alternating labels the rewards are the
    paper's: plus and minus ``scale`` (``outcome`` in wrong solutions), and 0 on the last thought.

    Args:
        labels: for each step, true if it is correct (correct solution) or leads to the wrong answer (wrong solution).
        correct: true if the solution is correct.
        outcome: the standardised outcome of the solution.
        scale: the penalty of a wrong thought, the group's `ability_scale`.
    """
    other = outcome - scale if correct else 0.0
    rewards = np.zeros(len(labels))
    runs = merge_runs(labels)
    targets = [outcome if label else other for *_, label in runs]
    for (_, stop, _), target, after in zip(runs, targets, [*targets, outcome][1:], strict=True):
        rewards[stop - 1] = target - after
    return rewards


def ability_scale(successes: Sequence[bool], weight: float = 1.0) -> float:
    """Return ``weight`` times the group's share of successes (0 for an empty group): a weak policy loses less by wrong
    thoughts (TP-GRPO)."""
    return weight * float(np.mean(np.asarray(successes, dtype=float))) if len(successes) else 0.0


def prefix_gains(v_k: ArrayLike) -> np.ndarray:
    """Return ``v_k - v_{k-1}``, the change of the prefix value by each step, [K] (DenseGRPO, arXiv 2601.20218)."""
    return np.diff(_vector(v_k, least=1))


def turning_points(v_k: ArrayLike) -> np.ndarray:
    """Return a mask [K] of the steps that move towards the final value right after a step that moved away from it.

    With ``s_k = sign(v_k - v_{k-1}) * sign(v_K - v_0)`` a turning point has ``s_{k-1} < 0 < s_k`` (TP-GRPO,
    TurningPoint, arXiv 2602.06422).
    """
    v_k = _vector(v_k, least=1)
    s_k = np.sign(np.diff(v_k)) * np.sign(v_k[-1] - v_k[0])
    return np.append(False, (s_k[:-1] < 0) & (s_k[1:] > 0))[: len(s_k)]


def turning_point_gains(v_k: ArrayLike, first: bool = False) -> np.ndarray:
    """Return `prefix_gains`, but with the whole later gain ``v_K - v_{k-1}`` at turning points (arXiv 2602.06422).

    Args:
        v_k: values of prefixes 0..K.
        first: give the whole later gain also to the first step, if it moves towards the final value.
    """
    v_k = _vector(v_k, least=1)
    gains, turns = np.diff(v_k), turning_points(v_k)
    if first and len(gains) and np.sign(gains[0]) * np.sign(v_k[-1] - v_k[0]) > 0:
        turns[0] = True
    return np.where(turns, v_k[-1] - v_k[:-1], gains)


def propagated_gains(v_k: ArrayLike, threshold: float = 0.0, ahead: int = 3, discount: float = 0.9) -> np.ndarray:
    """Return prefix gains, where a step without a gain gets a share of the next gain (VSRM, arXiv 2508.10293). A step
    keeps its gain if the gain's absolute value exceeds ``threshold``. Any other step gets ``discount ** q`` times the
    first such gain, q steps later, with sign, for q up to ``ahead``; if there is none, the step keeps its own gain."""
    gains = prefix_gains(v_k)
    result = gains.copy()
    large = np.abs(gains) > threshold
    for k in np.flatnonzero(~large):
        later = np.flatnonzero(large[k + 1 : k + 1 + ahead])
        if len(later):
            q = int(later[0]) + 1
            result[k] = discount**q * gains[k + q]
    return result


def cumulative_regret(v_k: ArrayLike, best: float = 1.0, lengths: ArrayLike | None = None) -> float:
    """Return the sum over prefixes of ``best - v_k``, weighted by ``lengths`` in tokens if given (MRT, arXiv
    2503.07572).

    Raises:
        InputError: the numbers of lengths and values differ.
    """
    v_k = _vector(v_k)
    weights = np.ones_like(v_k) if lengths is None else _vector(lengths)
    if len(weights) != len(v_k):
        raise InputError(f"{len(v_k)} prefix values need as many lengths, not {len(weights)}.")
    return float(weights @ (best - v_k))


def potential_differences(phi_k: ArrayLike, discount: float = 1.0) -> np.ndarray:
    """Return ``discount * phi_{k+1} - phi_k`` [K] for states 0..K of an episode (Ng, Harada, Russell, ICML 1999)."""
    phi_k = _vector(phi_k, least=1)
    return discount * phi_k[1:] - phi_k[:-1]


def waypoint_potentials(positions: ArrayLike, waypoints: ArrayLike, radius: float = 0.0) -> np.ndarray:
    """Return potentials [K + 1]: minus the length of the path from each position through all waypoints not yet reached.

    The number of waypoints reached is part of the state, so a loop that reaches none sums to 0 (KAGI, arXiv 2407.10341,
    whose constants are not published; distances are Euclidean here).

    Args:
        positions: [K + 1, D], the states of an episode.
        waypoints: [W, D]; with none the potential is 0 everywhere.
        radius: distance at which a waypoint counts as reached.
    """
    positions, waypoints = np.asarray(positions, dtype=np.float64), np.asarray(waypoints, dtype=np.float64)
    if not len(waypoints):
        return np.zeros(len(positions))
    legs = np.linalg.norm(np.diff(waypoints, axis=0), axis=1)
    remaining = np.append(suffix_sums(legs), 0.0)
    potentials, reached = np.zeros(len(positions)), 0
    for k, position in enumerate(positions):
        while reached < len(waypoints) and np.linalg.norm(position - waypoints[reached]) <= radius:
            reached += 1
        if reached < len(waypoints):
            potentials[k] = -float(np.linalg.norm(position - waypoints[reached]) + remaining[reached])
    return potentials
