"""SEC, the self-evolving curriculum: a bandit over categories whose reward is the size of the advantages they gave
(arXiv 2505.14970, sections 3.1 and 3.2).

For binary returns normalised within the group, the mean |advantage| is 2 sqrt(p(1-p)): largest where the student
succeeds half of the time. The teacher computes it from the returns, so that a learner's own normalisation does not
matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from .protocol import Draw, Evidence, Teacher, finite, share, whole_number
from .registry import register
from .spaces import as_arms

OBJECTIVES = ("advantage", "deviation", "progress")
EPSILON = 1e-6  # added to the standard deviation, as learners do; it also keeps rounding in equal returns at 0
METRIC_ARMS = 32  # with more arms, only summaries are logged


def mean_absolute_advantage(returns: np.ndarray) -> float:
    """Mean |(r - mean) / (std + 1e-6)| of one group, by the population standard deviation (GRPO, arXiv 2402.03300)."""
    return float(np.abs(returns - returns.mean()).mean() / (returns.std() + EPSILON))


def softmax(values: np.ndarray, temperature: float) -> np.ndarray:
    """float64[n] probabilities proportional to exp(values / temperature), computed without overflow."""
    weights = np.exp((values - values.max()) / temperature)
    return weights / weights.sum()


@register("sec")
class SEC(Teacher):
    """Self-evolving curriculum.

    Each `observe` is one batch: for every arm c in it, Q(c) <- alpha r(c) + (1 - alpha) Q(c), where r(c) averages over
    the arm's returns. Arms are drawn independently from softmax(Q / tau).

    A group of one has no advantage. Where outcomes carry single returns (`TeacherWrapper`, `update`), an arm's returns
    are collected until `group` of them make a group; the arm then gets its update.

    Args:
        space: a Discrete (one arm per value), or a ParamSpace or Box, cut into a grid.
        alpha: step size of Q, in (0, 1]. The paper's runs use 0.5, the released code's default is 0.1.
        tau: temperature > 0. The paper uses 1.0 (Countdown), 0.4 (mathematics), 0.2 (types x difficulties). As mean |A|
            is at most 1, tau = 1 keeps every ratio of probabilities below e.
        objective: "advantage" as above; "deviation", mean |r - mean| without normalisation; "progress", the mean return
            minus the arm's mean return in its last batch.
        absent: what happens to arms that are not in a batch: "hold" keeps Q, as the paper's text; "decay" gives them
            r = 0, as the released code.
        bins: cells per axis for a ParamSpace or Box; None gives about 25 arms.
        group: single returns that make a group.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    def __init__(
        self,
        space: Any,
        *,
        seed: int = 0,
        alpha: float = 0.5,
        tau: float = 1.0,
        objective: Literal["advantage", "deviation", "progress"] = "advantage",
        absent: Literal["hold", "decay"] = "hold",
        bins: int | Sequence[int] | None = None,
        group: int = 8,
        return_range: tuple[float, float] = (0.0, 1.0),
        max_in_flight: int = 10_000,
    ):
        if finite([tau], "tau")[0] <= 0:
            raise InputError(f"tau={tau:g} must be positive.")
        if objective not in OBJECTIVES:
            raise InputError(f"objective={objective!r} must be one of {', '.join(map(repr, OBJECTIVES))}.")
        if absent not in ("hold", "decay"):
            raise InputError(f"absent={absent!r} must be 'hold' or 'decay'.")
        whole_number("group", group, low=2)
        self.arms = as_arms(space, bins)
        self.alpha = share("alpha", alpha, low_open=True)
        self.tau, self.objective, self.absent, self.group = float(tau), objective, absent, int(group)
        settings = {"alpha": self.alpha, "tau": self.tau, "objective": objective, "absent": absent, "group": self.group}
        super().__init__(
            self.arms.signature, seed=seed, return_range=return_range, max_in_flight=max_in_flight, settings=settings
        )
        self.q = np.zeros(self.arms.n)
        self._waiting: dict[int, list[float]] = {}  # single returns that do not make a group yet, by arm
        self._last_mean: dict[int, float] = {}  # an arm's mean return in its last batch, for "progress"

    @property
    def probabilities(self) -> np.ndarray:
        """float64[arms]: the chance of each arm in the next proposal."""
        return softmax(self.q, self.tau)

    def _draw(self, k: int) -> list[Draw]:
        probabilities = self.probabilities
        arms = np.searchsorted(np.cumsum(probabilities)[:-1], self._rng.random(k), side="right")
        return [
            Draw(int(arm), self.arms.task(int(arm), self._rng), float(probabilities[arm]), "exploit") for arm in arms
        ]

    def _record(self, task: Any) -> int:
        return self.arms.arm(task)

    def _learn(self, evidence: list[Evidence]) -> None:
        present: dict[int, list[np.ndarray]] = {}
        for item in evidence:
            groups = present.setdefault(int(item.record), [])
            groups.extend([item.returns] if self.objective == "progress" else self._groups(item))
        targets = np.zeros(len(self.q))
        updated = np.full(len(self.q), self.absent == "decay")
        for arm, groups in present.items():
            updated[arm] = bool(groups)  # an arm whose group is still incomplete is neither rewarded nor decayed
            if groups:
                targets[arm] = self._reward(arm, groups)
        self.q = np.where(updated, self.alpha * targets + (1 - self.alpha) * self.q, self.q)

    def _groups(self, item: Evidence) -> list[np.ndarray]:
        if len(item.returns) > 1:
            return [item.returns]
        waiting = self._waiting.setdefault(int(item.record), [])
        waiting.append(float(item.returns[0]))
        if len(waiting) < self.group:
            return []
        return [np.array(self._waiting.pop(int(item.record)))]

    def _reward(self, arm: int, groups: list[np.ndarray]) -> float:
        if self.objective == "progress":
            mean = float(np.concatenate(groups).mean())
            previous = self._last_mean.get(arm, mean)  # an arm's first batch shows no progress yet
            self._last_mean[arm] = mean
            return mean - previous
        if self.objective == "advantage":
            signals = [mean_absolute_advantage(returns) for returns in groups]
        else:
            signals = [float(np.abs(returns - returns.mean()).mean()) for returns in groups]
        return float(np.average(signals, weights=[len(returns) for returns in groups]))

    def _metrics(self) -> dict[str, float]:
        probabilities = self.probabilities
        metrics = {
            "q_max": float(self.q.max()),
            "effective_arms": math.exp(-float((probabilities * np.log(probabilities.clip(1e-300))).sum())),
        }
        if self.arms.n <= METRIC_ARMS:
            for arm in range(self.arms.n):
                metrics[f"q/{self.arms.name(arm)}"] = float(self.q[arm])
        return metrics

    def _save(self) -> dict[str, Any]:
        return {
            "q": self.q.tolist(),
            "waiting": [[arm, list(returns)] for arm, returns in self._waiting.items()],
            "last_mean": [[arm, mean] for arm, mean in self._last_mean.items()],
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        q = np.array(own["q"], dtype=np.float64)
        if q.shape != (self.arms.n,):
            raise ValueError(f"{q.shape} values for {self.arms.n} arms")
        self.q = q
        self._waiting = {int(arm): [float(r) for r in returns] for arm, returns in own["waiting"]}
        self._last_mean = {int(arm): float(mean) for arm, mean in own["last_mean"]}
