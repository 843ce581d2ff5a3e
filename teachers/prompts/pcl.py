"""PCL, prompt curriculum learning: a value model picks prompts of medium difficulty without rollouts (2510.01135).

Every step draws some candidates at random, predicts the pass rate of each, and keeps the nearest to a target. The model
learns only from the rewards of the kept prompts, by squared error against the mean reward of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import restore_array
from ..signals import is_flat, success_rate
from .prompt_teacher import PromptTeacher

STEPS = 4  # steps of gradient descent for each batch observed


class PassRateModel:
    """Logistic model of pass rates: sigmoid(w x + b) of standardised features, fitted by Adam to the squared error.

    Args:
        features: float64[n, d] of all tasks.
        rate: step size.
    """

    def __init__(self, features: np.ndarray, rate: float):
        spread = features.std(0)
        standard = (features - features.mean(0)) / np.where(spread > 0, spread, 1.0)
        self._x = np.column_stack([standard, np.ones(len(features))])
        self.rate, self.steps = rate, 0
        self.weights, self._first, self._second = np.zeros((3, self._x.shape[1]))

    def predict(self, tasks: np.ndarray) -> np.ndarray:
        """Return float64[m] in [0, 1], the pass rates of m tasks given by index; 0.5 before the first update."""
        return 1 / (1 + np.exp(-np.clip(self._x[tasks] @ self.weights, -30.0, 30.0)))

    def learn(self, tasks: np.ndarray, rates: np.ndarray) -> None:
        x = self._x[tasks]
        for _ in range(STEPS):
            value = self.predict(tasks)
            slope = ((value - rates) * value * (1 - value)) @ x * (2 / len(tasks))
            self.steps += 1
            self._first = 0.9 * self._first + 0.1 * slope
            self._second = 0.999 * self._second + 0.001 * slope**2
            first, second = self._first / (1 - 0.9**self.steps), self._second / (1 - 0.999**self.steps)
            self.weights = self.weights - self.rate * first / (np.sqrt(second) + 1e-8)

    def save(self) -> dict[str, Any]:
        moments = [self.weights.tolist(), self._first.tolist(), self._second.tolist()]
        return {"moments": moments, "steps": self.steps}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.weights, self._first, self._second = restore_array(saved["moments"], np.zeros((3, len(self.weights))))
        self.steps = int(saved["steps"])


@register("pcl")
class PCL(PromptTeacher):
    """Prompt curriculum learning: among `factor` times as many candidates, the prompts with predicted rate nearest to
    tau.

    Candidates are drawn uniformly without replacement. Equal distances are ordered at random, so that a constant value
    model chooses uniformly.

    Raises:
        InputError: an option out of range; from `propose`, a ``value`` that does not return one finite number per
            prompt.
    """

    paper = "2510.01135"
    when = (
        "A data set too large to visit each prompt often: a value model predicts which prompts are of medium "
        "difficulty."
    )
    kept = ("_error", "_effective")
    tau: float = option(default=0.5, low=0, high=1, says="pass rate to aim at.")
    factor: int = option(
        default=4, low=1, says="number of candidates for each chosen prompt (k in the paper, which uses 4)."
    )
    value: Callable[[np.ndarray], Sequence[float] | np.ndarray] | None = option(
        default=None,
        saved=False,
        says="``value(indices) -> float[m]``, predicted pass rates of prompts by their index in the list, such as "
        "the learner's own value model. None fits a logistic model of ``pool.features`` here; the paper's is a"
        " language model that reads the prompts.",
    )
    rate: float = option(default=0.05, above=0, says="step size of the logistic model (our choice).")

    def setup(self) -> None:
        self.settings = {"value": self.value is not None}
        super().setup()
        self._model = None if self.value else PassRateModel(self.pool.features, self.rate)
        self._error, self._effective = 0.0, 0.0  # of the last batch

    def predict(self, tasks: np.ndarray) -> np.ndarray:
        """Return float64[m], the predicted pass rates of m prompts given by index."""
        if self._model is not None:
            return self._model.predict(tasks)
        values = np.asarray(self.value(tasks), dtype=np.float64) if self.value else np.empty(0)
        if values.shape != tasks.shape or not np.isfinite(values).all():
            raise InputError(f"value() gave {values!r} for {len(tasks)} prompts; give one finite number for each.")
        return values

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        n = self.pool.n
        candidates = self._rng.permutation(n)[: min(self.factor * k, n)]
        return candidates[argsmallest(np.abs(self.predict(candidates) - self.tau), k, self._rng)], np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        tasks = np.array([int(item.record) for item in evidence])
        rates = np.array([success_rate(item) for item in evidence])
        self._error = float(((self.predict(tasks) - rates) ** 2).mean())
        self._effective = float(np.mean([not is_flat(item.returns) for item in evidence]))
        if self._model is not None:
            self._model.learn(tasks, rates)

    def _metrics(self) -> dict[str, float]:
        return {"value_error": self._error, "effective_ratio": self._effective}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "model": None if self._model is None else self._model.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if self._model is not None:
            self._model.restore(own["model"])
