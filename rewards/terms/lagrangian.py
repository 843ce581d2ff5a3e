"""Constrained RLHF: the weights of several rewards are multipliers that learn to hold each one at its threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_number
from ...errors import InputError
from ..algebra.composite import Composite
from ..algebra.siblings import standardised
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .format import Format
from .par import sigmoid
from .verifiable import Verifiable


def multiplier(xi: float, mode: str) -> tuple[float, float]:
    """The multiplier and its derivative at ``xi``: a sigmoid in (0, 1) for "inequality", tanh for "equality"."""
    if mode == "inequality":
        value = sigmoid(xi)
        return value, value * (1.0 - value)
    value = math.tanh(xi)
    return value, 1.0 - value * value


def mixing_weights(multipliers: Sequence[float]) -> list[float]:
    """The weight N - sum of the N multipliers of the task, then the multipliers, the weights of the constraints."""
    return [len(multipliers) - math.fsum(multipliers), *multipliers]


@register("lagrangian")
class LagrangianMix(Composite):
    """A mix of one task reward with constraint rewards whose weights are learnt while it is used.

    A constraint whose batch mean lies below its threshold gains weight, at the task's expense, until it is held. Every
    batch (or group judged alone) is one step of the multipliers. With any constraint at full weight the task counts
    for nothing, so nothing is promised of success.

    Args:
        task: None is 1 for a success and 0 for a failure.
        constraints: by name; None is the format.
        thresholds: what the batch mean of each constraint should reach, by the same names.
        mode: "inequality": multipliers in (0, 1), starting at 0.5 (the paper's μ-PPO). "equality": in (-1, 1), starting
            at 0; a constraint above its threshold is then pushed down (ξ-PPO).
        lr: step size, above 0.
        momentum: in [0, 1).
        normalise: standardise every reward over the batch before mixing, as the paper does with advantages.
        learning: False holds the multipliers, for evaluation.

    Raises:
        InputError: thresholds for other names than the constraints, or an argument out of its range.
    """

    paper = "Confronting Reward Model Overoptimization with Constrained RLHF, arXiv 2310.04373"
    complete = True

    def __init__(
        self,
        task: Reward | None = None,
        constraints: Mapping[str, Reward] | None = None,
        thresholds: Mapping[str, float] | None = None,
        mode: str = "inequality",
        lr: float = 0.01,
        momentum: float = 0.1,
        normalise: bool = False,
        learning: bool = True,
    ):
        held: Mapping[str, Reward] = {"format": Format()} if constraints is None else constraints
        if "task" in held:
            raise InputError("a constraint cannot be named 'task'; that is the task reward's name.")
        super().__init__({"task": Verifiable(scale=1.0) if task is None else task, **held})
        given = {"format": 0.9} if thresholds is None and constraints is None else dict(thresholds or {})
        if set(given) != set(held) or not held:
            raise InputError(
                f"every constraint needs a threshold: the constraints are {sorted(held)}, the thresholds are for "
                f"{sorted(given)}."
            )
        self.thresholds = {name: check_number(f"the threshold of {name}", given[name]) for name in held}
        self.mode = check_choice("mode", mode, ("inequality", "equality"))
        self.lr = check_number("lr", lr, low=1e-12)
        self.momentum = check_number("momentum", momentum, low=0.0, high=1.0 - 1e-9)
        self.normalise, self.learning = normalise, learning
        self.xi = dict.fromkeys(held, 0.0)
        self.velocity = dict.fromkeys(held, 0.0)

    @property
    def multipliers(self) -> dict[str, float]:
        """The weight of each constraint now."""
        return {name: multiplier(xi, self.mode)[0] for name, xi in self.xi.items()}

    def update(self, means: Mapping[str, float]) -> None:
        """One step of descent on sum_i multiplier_i * (mean_i - threshold_i), given each constraint's mean."""
        for name, xi in self.xi.items():
            gradient = multiplier(xi, self.mode)[1] * (means[name] - self.thresholds[name])
            self.velocity[name] = self.momentum * self.velocity[name] + gradient
            self.xi[name] = xi - self.lr * self.velocity[name]

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        rows = [[parts[name].reward for name in self.children] for group in verdicts for parts in group]
        if not rows:
            return [[] for _ in verdicts]
        table = np.asarray(rows, dtype=float)
        scales = mixing_weights(list(self.multipliers.values()))
        shown = standardised(table, eps=0.0, ddof=0) if self.normalise else table
        weighed = iter((shown * np.asarray(scales)).tolist())
        terms = [[dict(zip(self.children, next(weighed), strict=True)) for _ in group] for group in verdicts]
        if self.learning:
            self.update(dict(zip(self.xi, table[:, 1:].mean(axis=0).tolist(), strict=True)))
        return [list(group) for group in terms]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "multipliers": {name: [self.xi[name], self.velocity[name]] for name in self.xi}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "multipliers"})
        saved = state.get("multipliers", {})
        if set(saved) != set(self.xi):
            raise InputError(f"the saved multipliers are for {sorted(saved)}, not for {sorted(self.xi)}.")
        for name, (xi, velocity) in saved.items():
            self.xi[name], self.velocity[name] = float(xi), float(velocity)
