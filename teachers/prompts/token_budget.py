"""Train long, think short (arXiv 2508.08940): a limit on the answer's length that shrinks as training goes on.

The student first learns to solve the tasks, then to answer in fewer tokens. Every proposal has the limit of the present
step in ``meta["max_tokens"]``; the learner states it in the prompt, and the recipe "train_long_think_short" rewards
short answers.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from .prompt_teacher import PromptTeacher


@register("token-budget")
class TokenBudget(PromptTeacher):
    """Uniform prompts with a token budget that decays over the batches observed."""

    paper = "2508.08940"
    when = "Answers are right and too long: the limit shrinks while the tasks stay the same."
    asks = frozenset({"max_tokens"})
    kept = ("step",)
    start: int = option(default=256, low=1, says="B_0, the initial budget in tokens; the paper has 256.")
    factor: float = option(
        default=0.7,
        above=0,
        high=1,
        says="gamma, factor on the budget after each `every` batches; 0.7 and 100 in the paper.",
    )
    every: int = option(default=100, low=1, says="T, number of batches between two changes of the budget.")
    decay: Literal["exponential", "linear"] = option(
        default="exponential",
        says='"exponential" multiplies by `factor`; "linear", the paper\'s ablation, subtracts (1 - factor) B_0 each'
        " time.",
    )

    def setup(self) -> None:
        super().setup()
        self.step = 0

    @property
    def budget(self) -> float:
        """B(t) = max(1, B_0 gamma^floor(t/T)) tokens, before rounding down."""
        return token_budget(self.step, self.start, self.factor, self.every, self.decay)

    def distribution(self) -> np.ndarray:
        return np.full(self.pool.n, 1 / self.pool.n)

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        return self._rng.choice(self.pool.n, min(k, self.pool.n), replace=False), 1 / self.pool.n, "explore"

    def _draw_fields(self, index: int) -> dict[str, Any]:
        return {"meta": {"max_tokens": int(self.budget)}}

    def _learn(self, evidence: list[Evidence]) -> None:
        self.step += 1

    def _metrics(self) -> dict[str, float]:
        return {"max_tokens": int(self.budget)}


def token_budget(
    step: int, start: float = 256, factor: float = 0.7, every: int = 100, decay: str = "exponential"
) -> float:
    """Return the number of tokens allowed at a step counted from 0, at least 1 (arXiv 2508.08940, section 3)."""
    times = step // every
    return max(1.0, start * (factor**times if decay == "exponential" else 1 - (1 - factor) * times))
