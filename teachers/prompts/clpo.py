"""CLPO (arXiv 2509.25004): hard prompts are simplified, prompts of medium difficulty are rephrased.

The teacher only requests a rewriting; the learner rewrites the prompt, whose answer must stay the same. The released
code shows the right answer to the rewriter, so that the answer may leak into the question; here the rewriter sees only
the task.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Draw, Evidence
from ..registration import register
from ..saved_state import Kept
from ..signals import success_rate
from .latest import LatestGroups
from .prompt_teacher import PromptTeacher
from .screening import Turns

MODES = {"hard_only": ("simplify",), "medium_only": ("diversify",), "both": ("simplify", "diversify")}


@register("clpo")
class CLPO(PromptTeacher):
    """Passes over the prompts, and requests rewritten ones where the last accuracy was low or medium.

    Each group of an original prompt grades the prompt by accuracy: hard up to 0.3, medium up to 0.7, easy above. A hard
    prompt is proposed again with ``meta["rewrite"] = "simplify"``, a medium one with "diversify". Rewritten prompts are
    at most half of the proposals; the others come in shuffled passes over the list. (The paper rewrites within the
    step; a teacher never waits, so it proposes the rewriting in the next step.) ``meta["kl_scale"]`` is a factor on the
    KL coefficient: 0.5 for a prompt last graded as hard, else 1.

    The outcome of a rewritten prompt does not change the prompt's accuracy; `metrics` counts it as "rescued" if its
    group has successes and failures. If the learner refused the rewriting and showed the original (`Outcome.done`), the
    group counts for the original.
    """

    paper = "2509.25004"
    when = "Prompts can be rewritten by the model: hard ones are simplified, medium ones rephrased."
    asks = frozenset({"rewrite", "kl_scale"})
    kept = (
        "latest",
        Kept("_waiting", dict[int, str]),
        "_turns",
        Kept(("_rewritten", "_rescued", "_odd"), key="counts"),
    )
    mode: Literal["hard_only", "medium_only", "both"] = option(
        default="both", says="grades of prompts that are rewritten."
    )
    hard: float = option(default=0.3, low=0, high=1, says="the highest accuracy of a hard prompt.")
    medium: float = option(default=0.7, low=0, high=1, says="the highest accuracy of a medium prompt.")
    hard_kl: float = option(default=0.5, low=0, high=1, says="factor on the KL coefficient for hard prompts.")
    group: int = option(default=4, low=2, says="number of single returns that make a group; the paper rolls out 4.")
    queue: int = option(
        default=4096, low=1, says="largest number of prompts that wait to be rewritten; the oldest are dropped first."
    )

    def setup(self) -> None:
        if not self.hard < self.medium:
            raise InputError(f"hard={self.hard:g} must lie below medium={self.medium:g}.")
        super().setup()
        self.latest = LatestGroups(self.pool.n, self.group)
        self._waiting: dict[int, str] = {}  # prompts to rewrite, the oldest first
        self._turns = Turns(self.pool.n)
        self._rewritten, self._rescued = 0, 0
        self._odd = 0  # 1 if earlier batches of odd size leave half a rewritten proposal over

    def grade(self, accuracy: float) -> str:
        """Return "hard", "medium" or "easy"."""
        return "hard" if accuracy <= self.hard else "medium" if accuracy <= self.medium else "easy"

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        return self._turns.take(k, self._rng), np.nan, "explore"

    def _draw(self, k: int) -> list[Draw]:
        half, self._odd = divmod(k + self._odd, 2)
        rewrites = [(index, self._waiting.pop(index)) for index in list(self._waiting)[:half]]
        draws = [
            Draw([index, how], self.pool.task(index, self._rng), origin="edit", meta=self._meta(index, rewrite=how))
            for index, how in rewrites
        ]
        for draw in super()._draw(k - len(draws)):
            draws.append(replace(draw, record=[draw.record, None], meta=self._meta(draw.record)))
        return draws

    def _meta(self, index: int, **advice: str) -> dict[str, Any]:
        hard = self.grade(self.latest.rate[index]) == "hard"
        return {**advice, "kl_scale": self.hard_kl if hard else 1.0}

    def _record(self, task: Any) -> Any:
        return [self.pool.arm(task), None]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            index, how = item.record
            if how is not None and item.outcome.done.get("rewrite", "used") == "used":
                self._rewritten += 1
                self._rescued += 0 < success_rate(item) < 1
            elif self.latest.add(index, item):
                self._queue_rewrite(index)

    def _queue_rewrite(self, index: int) -> None:
        how = {"hard": "simplify", "medium": "diversify"}.get(self.grade(self.latest.rate[index]))
        self._waiting.pop(index, None)
        if how in MODES[self.mode]:
            self._waiting[index] = str(how)
        if len(self._waiting) > self.queue:
            del self._waiting[next(iter(self._waiting))]

    def _metrics(self) -> dict[str, float]:
        known = self.latest.rate[self.latest.size > 0]
        hard, medium = (known <= self.hard).sum(), (known <= self.medium).sum()
        shares = {"hard": hard, "medium": medium - hard, "easy": len(known) - medium}
        return {
            **{f"share_{name}": float(count / max(len(known), 1)) for name, count in shares.items()},
            "rewritten": self._rewritten,
            "rescued": self._rescued,
        }
