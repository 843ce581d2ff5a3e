"""DOTS: predict every prompt's difficulty from a few reference prompts, and train near the target (arXiv 2506.05316).

At intervals a random set of reference prompts is rolled out. The success rate of any other prompt is predicted as a
similarity-weighted mean of the reference rates, calibrated on the reference prompts. The paper's second part, replay of
old rollouts, belongs to the learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import draw_without_replacement
from ..saved_state import Kept
from ..signals import success_rate
from .screening import ScreeningTeacher

CLIP = 1e-4  # rates are clipped to [CLIP, 1 - CLIP] before a logit, as in the released code
ROWS = 4096  # prompts predicted at a time, which bounds the memory


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, width: float, *, skip_own: bool = False):
    """Return float64[q], attention with a Gaussian kernel: sum_i softmax_i(-|x - x_i|^2 / (2 width^2)) v_i.

    Args:
        queries, keys: float64[q, d] and float64[m, d], m >= 1.
        values: float64[m].
        width: width of the kernel, > 0.
        skip_own: True if queries and keys are the same (at least two); query i then leaves out key i.
    """
    logits = queries @ keys.T - (keys**2).sum(1) / 2
    if skip_own:
        np.fill_diagonal(logits, -np.inf)
    logits = (logits - logits.max(1, keepdims=True)) / width**2
    weights = np.exp(logits)
    return weights @ values / weights.sum(1)


def platt(predicted: np.ndarray, rates: np.ndarray, ridge: float = 1.0) -> tuple[float, float]:
    """Return (scale, shift) for which sigmoid(scale * logit(predicted) + shift) fits ``rates`` by cross-entropy.

    Platt's calibration with soft labels, by 20 Newton steps; ``ridge`` is the strength of a prior around (1, 0), no
    change.
    """
    x = np.column_stack([logit(predicted), np.ones(len(predicted))])
    prior = np.array([1.0, 0.0])
    theta = prior.copy()
    for _ in range(20):
        p = 1 / (1 + np.exp(-np.clip(x @ theta, -30, 30)))
        slope = x.T @ (p - rates) + ridge * (theta - prior)
        curve = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(2)
        step = np.linalg.solve(curve, slope)
        theta = theta - step / max(1.0, float(np.abs(step).max()))  # no step longer than 1, so that it cannot overshoot
    return float(theta[0]), float(theta[1])


def logit(rate: np.ndarray) -> np.ndarray:
    clipped = np.clip(rate, CLIP, 1 - CLIP)
    return np.log(clipped) - np.log1p(-clipped)


@register("dots")
class DOTS(ScreeningTeacher):
    """Difficulty-targeted selection: rates predicted from reference prompts, draws from softmax(-|p - target| / tau).

    At the start, and after every ``period`` prompts trained on, ``reference`` random prompts are proposed with
    ``train=False``. The prediction is renewed whenever a further quarter of their rates has arrived. Before the first
    quarter every prediction is the target, so the first choices are uniform. Draws are without replacement within a
    batch.

    The paper uses attention on a learned embedding, and predicts scale and shift by a trained layer. Here attention is
    a Gaussian kernel on ``pool.features``, and scale and shift are fitted to the reference prompts, each predicted from
    the other ones.
    """

    paper = "2506.05316"
    when = (
        "Thousands of prompts with features, of which only some hundred can be tried: rates of the rest are predicted "
        "from them."
    )
    kept = ("predicted", Kept("_ask", list[int]), Kept(("_trained", "_fitted"), key="counts"), "_error")
    target: float = option(default=0.5, low=0, high=1, says="success rate to aim at.")
    tau: float = option(
        default=1e-3,
        above=0,
        says="temperature. At the released script's 1e-3 the choice is nearly always the k prompts nearest to the "
        "target.",
    )
    reference: int = option(
        default=256,
        low=1,
        says="number of prompts in a reference set (256 in the paper); at most a quarter of the list.",
    )
    period: int = option(
        default=1024,
        low=1,
        says="number of prompts trained on between two reference sets (the paper renews the set every 2 steps; 1024"
        " is our choice).",
    )
    width: float = option(
        default=0.1, above=0, says="width of the kernel, in features scaled by sqrt(d) (0.1 is our choice)."
    )
    screen: int = option(
        default=8,
        low=1,
        says="number of rollouts of a reference prompt. Single outcomes are used as rates: the kernel averages them.",
    )

    def setup(self) -> None:
        super().setup()
        self._features = self.pool.features / np.sqrt(self.pool.features.shape[1])
        self._size = min(self.reference, max(self.pool.n // 4, 1))
        self.predicted = np.full(self.pool.n, self.target)
        self._rates: dict[int, float | None] = {}  # of the reference prompts; None until the outcome arrives
        self._ask: list[int] = []  # reference prompts not yet proposed
        self._trained = self.period  # prompts trained on since the last set; the first set is due at once
        self._fitted = 0  # number of rates used in the present prediction
        self._error = 0.0

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        if self._trained >= self.period:
            self._ask = self._rng.permutation(self.pool.n)[: self._size].tolist()
            self._rates, self._trained, self._fitted = dict.fromkeys(self._ask), 0, 0
        look, self._ask = self._ask[:k], self._ask[k:]
        self._screening = set(look)
        log_weights = -np.abs(self.predicted - self.target) / self.tau
        log_weights[look] = -np.inf
        count = min(k, self.pool.n) - len(look)
        drawn, probs = np.empty(0, np.int64), np.empty(0)
        if count:
            drawn, probs = draw_without_replacement(log_weights, count, self._rng)
        self._trained += count
        chosen, unknown = np.concatenate([np.array(look, dtype=np.int64), drawn]), np.full(len(look), np.nan)
        return chosen, np.concatenate([unknown, probs]), ["explore"] * len(look) + ["exploit"] * count

    def _learn_outcome(self, item: Evidence, screened: bool) -> None:
        if screened and item.record in self._rates:
            self._rates[item.record] = success_rate(item)

    def _learn(self, evidence: list[Evidence]) -> None:
        super()._learn(evidence)
        known = [task for task, rate in self._rates.items() if rate is not None]
        if len(known) > self._fitted and len(known) >= min(self._fitted + self._size / 4, self._size):
            self._fit(np.array(known))

    def _fit(self, known: np.ndarray) -> None:
        rates = np.array([self._rates[task] for task in known.tolist()], dtype=np.float64)
        x = self._features[known]
        scale, shift = 1.0, 0.0
        if len(known) > 1:
            own = attend(x, x, rates, self.width, skip_own=True)
            scale, shift = platt(own, rates)
            self._error = float(((1 / (1 + np.exp(-(scale * logit(own) + shift))) - rates) ** 2).mean())
        for start in range(0, self.pool.n, ROWS):
            rows = slice(start, start + ROWS)
            raw = attend(self._features[rows], x, rates, self.width)
            self.predicted[rows] = 1 / (1 + np.exp(-(scale * logit(raw) + shift)))
        self._fitted = len(known)

    def _metrics(self) -> dict[str, float]:
        own = {"reference_known": float(self._fitted), "reference_error": self._error}
        return {**super()._metrics(), **own, "predicted_mean": float(self.predicted.mean())}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "rates": [[task, rate] for task, rate in self._rates.items()]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._rates = {int(task): None if rate is None else float(rate) for task, rate in own["rates"]}
