"""SPDL, self-paced deep reinforcement learning (Klink et al., NeurIPS 2020, arXiv 2004.11812), in its two versions.

Tasks come from a Gaussian that moves in small steps towards a target distribution, as fast as the student's expected
value allows: either the weight of the target grows with the returns, or the Gaussian moves as far as the expected value
stays above a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import Preset, register
from ..saved_state import Kept, restore_array
from .box_teacher import BoxTeacher
from .ladder import SMALLEST, from_hardness, per_axis
from .recent import Recent
from .self_paced import Gaussian, ReturnRegression, kl_divergence, move_by_threshold, move_by_weight

REDRAWS = 20  # coordinates outside the cube are redrawn at most this many times, then clipped to the border
MOST_ALPHA, LEAST_KL = 1e5, 1e-10  # bounds of the weight in the authors' code


def _take_pair(name: str, value: Any) -> Any:
    return value and [np.asarray(part, dtype=np.float64).tolist() for part in value]


@register("spdl")
class SPDL(BoxTeacher):
    """A Gaussian over tasks that moves towards a target, paced by expected value.

    Every `update_rate` outcomes the Gaussian p moves inside KL(p || old) <= max_kl. "alpha" maximises
    E[V] - alpha KL(p || target), with alpha = zeta (mean return) / KL(old || target), 0 for the first `offset` updates.
    "delta" minimises KL(p || target) subject to E[V] >= delta, and maximises E[V] while it is below delta; the authors'
    code maximises it only until delta has been reached once. V is a kernel regression of the returns of the last
    `memory` tasks, or of their values by `value_estimator`. The authors estimate E[V] by importance sampling; here it
    is the expectation of the regression in closed form. The authors' covariances are full, ours diagonal.
    """

    paper = "2004.11812"
    when = (
        "A target distribution of tasks and a student with smooth returns: a Gaussian widens and moves there as "
        "returns rise."
    )
    kept = ("_outcomes", Kept("_waiting", list[float]), "_updates")
    mode: Literal["alpha", "delta"] = option(
        default="alpha", says='pace by a weight, "alpha", or by a threshold, "delta".'
    )
    zeta: float = option(
        default=1.0,
        above=0,
        says='factor of "alpha". TeachMyAgent tries 0.05 to 0.5, on raw returns. Our default is for returns mapped to '
        "[0, 1]; lower values leave the Gaussian narrow around the easiest tasks.",
    )
    offset: int = option(
        default=0, says='number of first updates of "alpha" with weight 0; TeachMyAgent tries 0 to 10.'
    )
    delta: float = option(
        default=0.5,
        low=0,
        high=1,
        says='threshold of "delta", a return mapped to [0, 1] (ours: the papers give raw returns).',
    )
    max_kl: float = option(default=0.1, above=0, says="size of a step in nats; TeachMyAgent tries 0.1 and 0.8.")
    update_rate: int = option(
        default=50, low=1, says="outcomes between steps (ours: the papers count environment steps)."
    )
    initial: tuple[Any, Any] | None = option(
        default=None,
        check=_take_pair,
        says="(mean, std) as shares of the axes, each one number or one per axis. None takes a mean 0.1 away from the "
        "easiest corner and std 0.1.",
    )
    target: tuple[Any, Any] | None = option(
        default=None,
        check=_take_pair,
        says="(mean, std) of the target, in the form of `initial`; None takes mean 0.5 and std 0.25, TeachMyAgent's"
        " target without prior knowledge.",
    )
    least_std: float = option(
        default=0.02,
        above=0,
        says="lower bound of the standard deviations, unless the initial or the target's are below it.",
    )
    memory: int = option(default=300, low=2, says="number of latest tasks to whose returns values are fitted.")
    value_estimator: Callable[[list[Any]], Sequence[float]] | None = option(
        default=None,
        saved=False,
        says="takes a list of tasks and returns one expected return each, on the scale of `return_range`; values "
        "outside that range are clipped to it. None uses the observed returns.",
    )

    def setup(self) -> None:
        self.settings = {"value_estimator": self.value_estimator is not None}
        super().setup()
        d = self.cube.dimension
        easiest = from_hardness(self.cube, np.full(d, 0.1))
        self.goal = self._gaussian("target", self.target or (0.5, 0.25))
        self._set_gaussian(self._gaussian("initial", self.initial or (easiest, 0.1)))
        self._outcomes = Recent(self.memory, d + 1)
        self._waiting: list[float] = []  # returns since the last step
        self._updates = 0

    def _gaussian(self, name: str, given: tuple[Any, Any]) -> Gaussian:
        mean, std = (per_axis(name, part, self.cube.dimension) for part in given)
        if not ((mean >= 0) & (mean <= 1) & (std > 0)).all():
            raise InputError(f"{name}={given!r} must be means in [0, 1] and positive standard deviations.")
        return Gaussian(mean, np.log(std))

    def _set_gaussian(self, current: Gaussian) -> None:
        """Make ``current`` the Gaussian from which tasks are drawn, truncated to the cube."""
        self.current = current
        inside = [_mass(m, s) for m, s in zip(current.mean.tolist(), current.std.tolist())]
        scale = float(np.prod(current.std * inside * math.sqrt(2 * math.pi)))
        self._scale = scale if scale > SMALLEST else math.nan

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        mean, std = self.current.mean, self.current.std
        points = mean + std * self._rng.standard_normal((k, len(mean)))
        for _ in range(REDRAWS):
            outside = (points < 0) | (points > 1)
            if not outside.any():
                break
            axes = np.nonzero(outside)[1]
            points[outside] = mean[axes] + std[axes] * self._rng.standard_normal(len(axes))
        clipped = points.clip(0.0, 1.0)
        density = np.exp(-0.5 * np.square((clipped - mean) / std).sum(1)) / self._scale
        density[(clipped != points).any(1) | (density <= 0)] = np.nan
        return clipped, density, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            ret = float(item.returns.mean())
            self._outcomes.add(np.array(item.record, dtype=np.float64), ret)
            self._waiting.append(ret)
            if len(self._waiting) == self.update_rate:
                self._step(float(np.mean(self._waiting)))
                self._waiting = []

    def _step(self, mean_return: float) -> None:
        rows = self._outcomes.rows
        tasks, values = rows[:, :-1], rows[:, -1]
        if self.value_estimator is not None:
            low, high = self.return_range
            raw = check_numbers(
                "a value of value_estimator", self.value_estimator([self.cube.decode(u) for u in tasks])
            )
            if len(raw) != len(tasks):
                raise InputError(f"value_estimator gave {len(raw)} values for {len(tasks)} tasks; give one each.")
            values = np.clip((np.array(raw) - low) / (high - low), 0.0, 1.0)
        value = ReturnRegression(tasks, values).expectation
        common = (value, self.goal, self.current, self.max_kl)
        if self.mode == "delta":
            moved = move_by_threshold(*common, self.delta, self.least_std)
        else:
            kl = max(kl_divergence(self.current, self.goal)[0], LEAST_KL)
            alpha = 0.0 if self._updates < self.offset else min(self.zeta * mean_return / kl, MOST_ALPHA)
            moved = move_by_weight(*common, alpha, self.least_std)
        self._updates += 1
        self._set_gaussian(moved)

    def _metrics(self) -> dict[str, float]:
        return {
            "kl_to_target": kl_divergence(self.current, self.goal)[0],
            "std": float(self.current.std.mean()),
            "updates": float(self._updates),
        }

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "mean": self.current.mean.tolist(), "log_std": self.current.log_std.tolist()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        mean, log_std = (restore_array(own[name], self.current.mean) for name in ("mean", "log_std"))
        self._set_gaussian(Gaussian(mean, log_std))


def _mass(mean: float, std: float) -> float:
    """Return the probability that a normal variable lies in [0, 1]."""
    return 0.5 * (math.erf((1 - mean) / (std * math.sqrt(2))) + math.erf(mean / (std * math.sqrt(2))))


Preset(
    "spdl-delta",
    SPDL,
    "SPDL that goes as far towards its target as the expected value stays above a threshold.",
    "2309.14091",
    when="As `spdl`, where a least performance can be stated that must hold on the way to the target.",
    mode="delta",
)
