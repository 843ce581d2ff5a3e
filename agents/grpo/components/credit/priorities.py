"""Priorities of objectives: improving or fluctuating ones get more weight than converged ones (RECAP, arXiv
2510.21978).

An objective is a kind of task or a named term of the reward. Its mean rewards in the latest batches are kept. Only
ratios are compared, so the scale of a reward does not matter. The paper does not publish its definitions of convergence
and instability or its constants; this module follows its description.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .....checks import check_count, check_number
from ...batch.batch import Batch
from ...batch.rounding import exact_sum
from ...batch.trajectory import Trajectory
from ...recipes.stages import RETURNS
from .units import Units, episode_units


def priority(history: list[float]) -> float:
    """Return (|mean of the later half - mean| + standard deviation) / mean absolute value of an objective's mean
    rewards in successive batches.

    0 for constant rewards; NaN for fewer than two batches.
    """
    values = np.array(history, dtype=np.float64)
    if len(values) < 2:
        return math.nan
    level = np.abs(values).mean()
    if level == 0:
        return 0.0
    change = abs(values[len(values) // 2 :].mean() - values.mean())
    return float((change + values.std()) / level)


class ObjectivePriorities:
    """Mean rewards of each objective in the latest ``window`` batches, and the weights computed from them."""

    def __init__(self, window: int, temperature: float):
        self.window = check_count("window", window, 2, "batches")
        self.temperature = check_number("temperature", temperature, 1e-3)
        self.history: dict[str, list[float]] = {}

    def weigh(self, rewards: Mapping[str, float]) -> dict[str, float]:
        """Record the mean reward of each of this batch's K objectives; return the weights K softmax(priority /
        temperature).

        The priority of an objective with fewer than two recorded batches is replaced by the mean priority of the
        others.
        """
        for name, value in rewards.items():
            self.history[name] = [*self.history.get(name, ()), value][-int(self.window) :]
        names = sorted(rewards)
        scores = np.array([priority(self.history[name]) for name in names])
        known = scores[~np.isnan(scores)]
        scores = np.where(np.isnan(scores), known.mean() if len(known) else 0.0, scores) / self.temperature
        shares = np.exp(scores - scores.max(initial=0.0))
        return dict(zip(names, (len(names) * shares / shares.sum()).tolist(), strict=True))

    def state_dict(self) -> dict[str, Any]:
        return {"history": {name: list(values) for name, values in self.history.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.history = {str(name): [float(v) for v in values] for name, values in state["history"].items()}


@RETURNS.register("prioritised_terms")
class PrioritisedTerms(ObjectivePriorities):
    """Sum of w_k x term_k over the named terms of an episode's reward, w = K softmax(priority / temperature) over the K
    terms in the batch; one unit per episode (RECAP, arXiv 2510.21978; see the weight "priorities").

    Equal weights give the outcome. The part of the environment's rewards that has no name is the term "environment".
    """

    def __init__(self, window: int = 20, temperature: float = 1.0):
        super().__init__(window, temperature)

    def __call__(self, batch: Batch) -> Units:
        terms = [split_outcome(t) for t in batch.trajectories]
        names = {name for named in terms for name in named}
        weights = self.weigh({name: math.fsum(t.get(name, 0.0) for t in terms) / len(terms) for name in names})
        value = [math.fsum(weights[name] * reward for name, reward in named.items()) for named in terms]
        return episode_units(batch, torch.tensor(value, dtype=batch.outcome.dtype))


def split_outcome(trajectory: Trajectory) -> dict[str, float]:
    """Split an episode's outcome into named parts, which add up to it."""
    parts = {f"shaping/{name}": value for name, value in trajectory.shaping.items()}
    if trajectory.replaced:
        return parts
    by_name: dict[str, list[float]] = {name: [value] for name, value in parts.items()}
    for turn in trajectory.turns:
        rest = turn.reward - exact_sum(turn.reward_terms.values())
        unnamed = {"environment": rest} if abs(rest) > 1e-9 else {}
        for name, value in {**turn.reward_terms, **unnamed}.items():
            by_name.setdefault(name, []).append(value)
    return {name: exact_sum(values) for name, values in by_name.items()}
