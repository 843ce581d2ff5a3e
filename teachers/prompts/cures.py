"""CurES (arXiv 2510.01037): prompts in proportion to exp(sqrt(p(1-p)) / tau).

The paper bounds the gain of one policy step on a prompt by the standard deviation sqrt(p(1-p)) of its reward. Prompts
are therefore drawn, and with the option `rollouts` also rollouts allocated, by an estimate of that deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..budgets.allocators import allocate_by_deviation as neyman
from ..protocol import Draw, Evidence
from ..registration import register
from ..sampling import draw_without_replacement, effective_number, softmax
from ..saved_state import restore_array
from ..signals import PassRates, check_prior
from .prompt_teacher import PromptTeacher

RELEASED = 0.01  # constant of the released code's temperature


@register("cures")
class CurES(PromptTeacher):
    """Draws prompts by the softmax of the estimated standard deviation of their reward.

    Success rates are means of a Beta posterior that every group updates. The paper probes each prompt with four
    rollouts first; here an unseen prompt has the prior's mean, 1/2, at which the weight is highest.
    """

    paper = "2510.01037"
    when = "Prompts and groups of samples, where also the number of rollouts should follow the variance of the reward."
    kept = ("rates", "current", "_seen")
    tau: float = option(
        default=0.1,
        above=0,
        says="temperature. No value with a noticeable effect is published (see `temperature`); 0.1 makes a "
        "prompt of rate 0.5 seven times as likely as one of rate 0.1.",
    )
    temperature: Literal["fixed", "released"] = option(
        default="fixed",
        says='"fixed" uses tau for all prompts; "released" follows the released code, where each prompt has the '
        "temperature (1 + its groups so far) / 0.01, so that no two probabilities differ by more than half a "
        "percent.",
    )
    prior: tuple[float, float] = option(
        default=(1.0, 1.0), check=check_prior, says="(alpha, beta) of the prior of every success rate."
    )
    subsets: int = option(
        default=1,
        low=1,
        says="number of disjoint subsets of the prompts, used one at a time; the paper has 15. The posterior "
        "starts afresh with each subset.",
    )
    batches: int = option(
        default=8,
        low=1,
        says="number of batches observed before the next subset is taken (the first again after the last).",
    )
    rollouts: int | None = option(
        default=None,
        low=2,
        says="mean number of rollouts per proposal; they are allocated within each batch by the estimated standard "
        "deviation, at least two per proposal. None leaves n open.",
    )

    def setup(self) -> None:
        super().setup()
        if self.subsets > self.pool.n:
            raise InputError(f"subsets={self.subsets} are more than the {self.pool.n} tasks; give fewer.")
        self.rates = PassRates(self.pool.n, self.prior)
        deal = np.arange(self.pool.n) % self.subsets
        self.subset = self._rng.permutation(deal) if self.subsets > 1 else deal
        self.current, self._seen = 0, 0

    def _logits(self) -> np.ndarray:
        p = self.rates.mean
        temperature = self.tau if self.temperature == "fixed" else (self.rates.visits + 1) / RELEASED
        return np.where(self.subset == self.current, np.sqrt(p * (1 - p)) / temperature, -np.inf)

    def distribution(self) -> np.ndarray:
        return softmax(self._logits(), 1.0)

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, str]:
        return *draw_without_replacement(self._logits(), k, self._rng), "exploit"

    def _draw(self, k: int) -> list[Draw]:
        draws = super()._draw(k)
        if self.rollouts is None:
            return draws
        total = k * self.rollouts
        counts = neyman(self.rates.mean[[draw.record for draw in draws]], total, 2, total)
        return [replace(draw, n=n) for draw, n in zip(draws, counts.tolist(), strict=True)]

    def _learn(self, evidence: list[Evidence]) -> None:
        self.rates.learn(evidence)
        self._seen += 1
        if self.subsets > 1 and self._seen >= self.batches:
            self.current, self._seen = (self.current + 1) % self.subsets, 0
            self.rates.reset()

    def _metrics(self) -> dict[str, float]:
        return {"effective_prompts": effective_number(self.distribution()), "subset": self.current}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "subset": self.subset.tolist() if self.subsets > 1 else None}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if own["subset"] is not None:
            self.subset = restore_array(own["subset"], self.subset)
