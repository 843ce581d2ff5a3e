"""Weighted sums of several rewards whose weights change during training.

Constrained RLHF learns a multiplier for each constraint, and searches for the thresholds of the constraints; Dynamic
Reward Weighting follows the hypervolume of the Pareto front or the gradients of the objectives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...checks import check_count, check_number, option
from ...errors import InputError, MissingExtra
from ..algebra.composite import Composite
from ..algebra.siblings import standardise_columns
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .format import Format
from .length_relative import BelowAverageLength
from .model_scores import sigmoid
from .outcome import Verifiable


def multiplier(xi: float, mode: str) -> tuple[float, float]:
    """Return multiplier and derivative at ``xi``: sigmoid for "inequality", tanh for "equality" (arXiv 2310.04373)."""
    if mode == "inequality":
        value = sigmoid(xi)
        return value, value * (1.0 - value)
    value = math.tanh(xi)
    return value, 1.0 - value * value


def mixing_weights(multipliers: Sequence[float]) -> list[float]:
    """Return the weights of the task and of N constraints: N minus the sum of the multipliers, then the multipliers."""
    return [len(multipliers) - math.fsum(multipliers), *multipliers]


@register("lagrangian")
class LagrangianMix(Composite):
    """Weighted sum of a task reward and constraint rewards, with weights learnt during training.

    A constraint whose batch mean is below its threshold gains weight, and the task loses it. Every batch (or group
    judged alone) is one gradient step on the multipliers. With all constraints at full weight the task has weight 0, so
    a failure can outrank a success.

    In mode "inequality" the multipliers lie in (0, 1) and start at 0.5 (the paper's μ-PPO); in mode "equality" they lie
    in (-1, 1) and start at 0, and a constraint above its threshold is pushed down (ξ-PPO).

    Raises:
        InputError: the thresholds and the constraints have different names.
    """

    paper = "Confronting Reward Model Overoptimization with Constrained RLHF, arXiv 2310.04373"
    complete = True
    task: Reward | None = option(default=None, says="the task's reward; None: 1 for a success and 0 for a failure.")
    constraints: Mapping[str, Reward] | None = option(
        default=None, says='rewards by name; None: "format" alone, with the threshold 0.9.'
    )
    thresholds: Mapping[str, float] = option(default=None, says="targets of the batch means, by constraint.")
    mode: Literal["inequality", "equality"] = option(default="inequality", says="range of the multipliers.")
    lr: float = option(default=0.01, above=0, says="step size of the multipliers.")
    momentum: float = option(default=0.1, low=0, high=1.0 - 1e-9, says="momentum of these steps; below 1.")
    normalise: bool = option(default=False, says="standardise every reward over the batch before mixing.")
    learning: bool = option(default=True, says="False keeps the multipliers fixed, for evaluation.")

    def setup(self) -> None:
        children: Mapping[str, Reward] = {"format": Format()} if self.constraints is None else self.constraints
        if "task" in children:
            raise InputError("a constraint cannot be named 'task'; that is the task reward's name.")
        self.take_parts({"task": Verifiable(scale=1.0) if self.task is None else self.task, **children})
        default = {"format": 0.9} if self.constraints is None else {}
        targets = default if self.thresholds is None else self.thresholds
        if set(targets) != set(children) or not children:
            raise InputError(
                f"every constraint needs a threshold: the constraints are {sorted(children)}, the thresholds are for "
                f"{sorted(targets)}."
            )
        self.thresholds = {name: check_number(f"the threshold of {name}", targets[name]) for name in children}
        self.xi = dict.fromkeys(children, 0.0)
        self.velocity = dict.fromkeys(children, 0.0)

    @property
    def multipliers(self) -> dict[str, float]:
        """Current weight of each constraint."""
        return {name: multiplier(xi, self.mode)[0] for name, xi in self.xi.items()}

    def update(self, means: Mapping[str, float]) -> None:
        """Take one descent step on sum_i multiplier_i * (mean_i - threshold_i), given the constraints' batch means."""
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
        weights = np.asarray(mixing_weights(list(self.multipliers.values())))
        rewards = standardise_columns(table, eps=0.0, ddof=0) if self.normalise else table
        weighted = iter((rewards * weights).tolist())
        terms: list[list[Mapping[str, float]]] = [
            [dict(zip(self.children, next(weighted), strict=True)) for _ in group] for group in verdicts
        ]
        if self.learning:
            self.update(dict(zip(self.xi, table[:, 1:].mean(axis=0).tolist(), strict=True)))
        return terms

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "multipliers": {name: [self.xi[name], self.velocity[name]] for name in self.xi}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "multipliers"})
        saved = state.get("multipliers", {})
        if set(saved) != set(self.xi):
            raise InputError(f"the saved multipliers are for {sorted(saved)}, not for {sorted(self.xi)}.")
        for name, (xi, velocity) in saved.items():
            self.xi[name], self.velocity[name] = float(xi), float(velocity)


@dataclass(frozen=True, slots=True)
class ThresholdSearch:
    """Result of `search_thresholds`.

    Attributes:
        thresholds: the best point.
        value: the value of that point.
        tried: every evaluated point with its value, in order.
    """

    thresholds: Mapping[str, float]
    value: float
    tried: tuple[tuple[Mapping[str, float], float], ...]


def search_thresholds(
    evaluate: Callable[[Mapping[str, float]], float],
    start: Mapping[str, float],
    spread: float = 0.1,
    evaluations: int = 50,
) -> ThresholdSearch:
    """Search for the thresholds of a `LagrangianMix` that maximise ``evaluate``, by Nelder-Mead (2310.04373, sec. 5).

    Args:
        evaluate: returns the true value of a policy trained under these thresholds (a held-out measure, not one of the
            rewards in the sum).
        start: first point, constraint name -> threshold.
        spread: extent of the first simplex along each threshold, in the threshold's own unit.
        evaluations: largest number of calls of ``evaluate``.

    Raises:
        InputError: no threshold, or an argument out of range.
        MissingExtra: scipy is absent.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingExtra("search_thresholds", "train") from error
    if not start:
        raise InputError("a search needs at least one threshold to start from, such as {'format': 0.9}.")
    names = list(start)
    first = [check_number(f"the threshold of {name}", start[name]) for name in names]
    check_number("spread", spread, low=1e-12)
    check_count("evaluations", evaluations, low=1)
    tried: list[tuple[Mapping[str, float], float]] = []

    def cost(point: list[float]) -> float:
        thresholds = dict(zip(names, map(float, point), strict=True))
        value = check_number("the value that evaluate returned", float(evaluate(thresholds)))
        tried.append((thresholds, value))
        return -value

    simplex = [first] + [[x + spread * (i == j) for j, x in enumerate(first)] for i in range(len(first))]
    minimize(cost, first, method="Nelder-Mead", options={"maxfev": evaluations, "initial_simplex": simplex})
    best, value = max(tried, key=lambda pair: pair[1])
    return ThresholdSearch(best, value, tuple(tried))


Point = tuple[float, ...]


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the distinct points that no other point equals or exceeds in every objective, in their order."""
    unique = list(dict.fromkeys(points))
    return [
        point
        for point in unique
        if not any(other != point and all(o >= p for o, p in zip(other, point, strict=True)) for other in unique)
    ]


def hypervolume(points: Sequence[Point], reference: Point) -> float:
    """Return the exact volume that ``points`` dominate above ``reference``; all objectives are maximised.

    The volume is summed over slices along the last objective, each a hypervolume in the other objectives; meant for
    fronts of up to a few hundred points in up to four objectives.
    """
    above = [point for point in points if all(p > r for p, r in zip(point, reference, strict=True))]
    if not above:
        return 0.0
    if len(reference) == 1:
        return max(point[0] for point in above) - reference[0]
    front = sorted(pareto_front(above), key=lambda point: -point[-1])
    volume = 0.0
    for count, point in enumerate(front, start=1):
        floor = front[count][-1] if count < len(front) else reference[-1]
        if point[-1] > floor:
            slab = [other[:-1] for other in front[:count]]
            volume += (point[-1] - floor) * hypervolume(slab, reference[:-1])
    return volume


def hypervolume_gain(point: Point, front: Sequence[Point], reference: Point) -> float:
    """Return the rise of the hypervolume of ``front`` by adding ``point``; 0 if the point is dominated."""
    return max(hypervolume([*front, point], reference) - hypervolume(front, reference), 0.0)


def hypervolume_multiplier(gain: float) -> float:
    """Return 0.5 + 1.5 tanh(gain), in [0.5, 2) for a gain of at least 0 (arXiv 2509.11452)."""
    return 0.5 + 1.5 * math.tanh(gain)


def _default_objectives() -> Mapping[str, Reward]:
    return {"correct": Verifiable(scale=1.0), "concise": BelowAverageLength(), "format": Format()}


@register("hypervolume")
class HypervolumeWeighting(Composite):
    """Weighted sum of objectives, times one multiplier for all episodes judged together.

    The means of the objectives over the valid episodes of a batch (or of a group judged alone) are a point. The
    multiplier grows with the rise of the front's hypervolume by this point, which then joins the front. The default
    objectives are correctness, conciseness (`BelowAverageLength`) and format, with weights 0.5, 0.25 and 0.25; for them
    `ranks_success` holds if the weight of correctness is at least the sum of the others. Other objectives have equal
    weights by default.

    Raises:
        InputError: weights or references for unknown objectives.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (hypervolume-guided)"
    complete = True
    scales_batch = True
    """True: all rewards of a batch are multiplied by one number."""
    ranks_success = True
    objectives: Mapping[str, Reward] | None = option(default=None, says="rewards by name.")
    weights: Mapping[str, float] = option(default=None, says="objective -> weight of at least 0.")
    reference: Any = option(default=None, says="objective -> worst value; 0 for objectives not named.")

    def setup(self) -> None:
        own = self.objectives is not None
        self.take_parts(_default_objectives() if self.objectives is None else self.objectives)
        names = list(self.children)
        default = dict.fromkeys(names, 1.0 / len(names)) if own else {"correct": 0.5, "concise": 0.25, "format": 0.25}
        for given in (self.weights or {}, self.reference or {}):
            if unknown := sorted(set(given) - set(names)):
                raise InputError(f"hypervolume has no objective {unknown}; its objectives are {names}.")
        weights, reference = self.weights or default, self.reference or {}
        self.weights = {name: check_number(f"the weight of {name}", weights.get(name, 0.0), low=0) for name in names}
        self.reference = tuple(check_number(f"the reference of {name}", reference.get(name, 0.0)) for name in names)
        self.front: list[Point] = []
        self.ranks_success = not own and self.weights["correct"] >= sum(self.weights.values()) - self.weights["correct"]

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        judged = [parts for group in verdicts for parts in group]
        factor = 1.0
        if judged:
            point = tuple(math.fsum(parts[name].reward for parts in judged) / len(judged) for name in self.children)
            gain = hypervolume_gain(point, self.front, self.reference)
            if gain > 0:
                self.front = pareto_front([*self.front, point])
            factor = hypervolume_multiplier(gain)
        return [
            [{name: factor * weight * parts[name].reward for name, weight in self.weights.items()} for parts in group]
            for group in verdicts
        ]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "front": [list(point) for point in self.front]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "front"})
        front = [tuple(map(float, point)) for point in state.get("front", [])]
        if any(len(point) != len(self.children) for point in front):
            raise InputError(f"the saved front does not have the {len(self.children)} objectives of this reward.")
        self.front = front


def influence_step(log_weights: np.ndarray, gram: np.ndarray, lr: float, mu: float) -> np.ndarray:
    """Return log w_i + lr / mu * sum_j <g_i, g_j>, shifted so that the weights sum to 1: mirror descent (arXiv
    2509.11452).

    Args:
        log_weights: [K].
        gram: inner products <g_i, g_j> of the objectives' gradients, [K, K].
        lr: step size.
        mu: strength of the pull towards the old weights.
    """
    raised = log_weights + lr / mu * gram.sum(axis=1)
    raised = raised - raised.max()
    return raised - np.log(np.exp(raised).sum())


@register("gradient-influence")
class GradientInfluence(Composite):
    """Weighted sum of objectives whose weights follow their gradients; uniform until `update` is called.

    An objective whose gradient improves all objectives gains weight. The weights can reach any point of the simplex,
    so a failure can outrank a success. A learner calls `update` in every step, before the policy is trained. The
    default objectives are those of `HypervolumeWeighting`.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (gradient-based)"
    complete = True
    update_measures = frozenset({"gradient_influence"})
    objectives: Mapping[str, Reward] | None = option(default=None, says="rewards by name.")
    lr: float = option(default=0.1, above=0, says="step size of the log-weights.")
    mu: float = option(default=1.0, above=0, says="strength of the pull towards the old weights.")

    def setup(self) -> None:
        self.take_parts(_default_objectives() if self.objectives is None else self.objectives)
        self.log_weights = np.full(len(self.children), -np.log(len(self.children)))

    @property
    def weights(self) -> dict[str, float]:
        """Current weights by objective; they sum to 1."""
        return dict(zip(self.children, np.exp(self.log_weights).tolist(), strict=True))

    def update(self, gram: ArrayLike) -> None:
        """Update the weights from the objectives' gradients at one update of the policy.

        Args:
            gram: inner products of the objectives' gradients, [K, K], in the order of the objectives.

        Raises:
            InputError: another shape, or a number that is not finite.
        """
        products = np.asarray(gram, dtype=float)
        size = len(self.children)
        if products.shape != (size, size) or not np.isfinite(products).all():
            raise InputError(f"gram must hold {size} x {size} finite inner products, not {products!r}.")
        self.log_weights = influence_step(self.log_weights, products, self.lr, self.mu)

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        return {name: weight * verdicts[name].reward for name, weight in self.weights.items()}

    def report(self, verdict: Verdict) -> Mapping[str, Any]:
        """Return the rewards of the objectives without their weights; empty for an invalid verdict."""
        weights = self.weights
        if not verdict.valid:
            return {}
        return {"objective_rewards": {name: value / weights[name] for name, value in verdict.terms.items()}}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "log_weights": self.log_weights.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "log_weights"})
        saved: Sequence[float] = state.get("log_weights", self.log_weights.tolist())
        if len(saved) != len(self.children):
            raise InputError(f"the saved weights are not those of the {len(self.children)} objectives of this reward.")
        self.log_weights = np.asarray(saved, dtype=float)
