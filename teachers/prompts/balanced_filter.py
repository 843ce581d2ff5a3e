"""Online difficulty filtering: practise prompts whose pass rate lies strictly between two bounds (arXiv 2504.03380).

The batch is always full: a filtered prompt is replaced by the next one. The paper's bound p (1 - p) / (2 beta^2) on the
gain of a prompt is no bound, but the leading term for large beta of the exact KL, which `gain` computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import Preset, register
from ..saved_state import Kept
from .prompt_teacher import PromptTeacher
from .screening import Tallies, Turns

UNTRIED = -1.0


def in_band(rate: Any, low: float, high: float) -> Any:
    """Return ``low < rate < high`` as a bool, or as bool[n] for an array of rates."""
    return (low < rate) & (rate < high)


def gain(rate: float, beta: float) -> float:
    """Return KL(pi_0 || pi*) of the KL-regularised optimum for binary rewards: log(1 - p + p e^(1/beta)) - p / beta."""
    return float(np.log1p(rate * np.expm1(1 / beta)) - rate / beta)


@register("balanced-filter")
class BalancedFilter(PromptTeacher):
    """Proposes prompts whose latest group pass rate lies inside a band; all others are put off, not deleted.

    Prompts take turns. Untried prompts and prompts inside the band are proposed at every turn. A prompt outside the
    band waits for ``pause`` further passes, as a rate of 0 from few rollouts is weak evidence (0 of 8 happens 43 times
    in 100 at p = 0.1). After ``sure`` rollouts in a row outside, the prompt retires: it is proposed only in the share
    ``review`` of proposals, or when no other prompt is left. One group inside the band ends the retirement.

    Proposals carry ``meta["band"]``: a learner that filters trains on the group only if its rate lies inside, and asks
    for more until its batch is full.

    Raises:
        InputError: an option out of range, or ``low`` not below ``high``.
    """

    paper = "2504.03380"
    when = (
        "A fixed data set of which many prompts are always or never solved: batches stay full, and no prompt is lost "
        "for good."
    )
    asks = frozenset({"band"})
    kept = ("rates", "_outside", "_turns", "_tallies", Kept(("_groups", "_kept"), key="groups"))
    low: float = option(
        default=0.2,
        low=0,
        high=1,
        says="lower end of the open band. The paper's best bands are 0.3 to 0.7 and 0.2 to 0.8; 0 to 1 excludes "
        "only groups without variance.",
    )
    high: float = option(default=0.8, low=0, high=1, says="upper end of the band.")
    pause: float = option(
        default=1.0, low=0, says="number of passes through the pool that a prompt outside the band waits (our choice)."
    )
    sure: int | None = option(
        default=32,
        low=1,
        says="number of rollouts in a row outside the band after which a prompt retires; None disables retirement. "
        "With 32, a prompt of p = 0.1 retires without any success 3 times in 100 (our choice).",
    )
    review: float = option(
        default=0.05,
        low=0,
        high=1,
        says="share of proposals that are retired prompts, while there are any (our choice).",
    )
    group: int = option(default=8, low=2, says="number of single returns that make a group.")

    def setup(self) -> None:
        if self.low >= self.high:
            raise InputError(f"low={self.low:g} must be below high={self.high:g}.")
        super().setup()
        self._meta = {"band": [self.low, self.high]}
        self.rates = np.full(self.pool.n, UNTRIED)  # of the latest group
        self._outside = np.zeros(self.pool.n, dtype=np.int64)  # rollouts in a row outside the band
        self._turns, self._tallies = Turns(self.pool.n), Tallies(self.group)
        self._groups, self._kept = 0, 0

    @property
    def retired(self) -> np.ndarray:
        """bool[n], True for prompts that have retired and are proposed only in the share `review`."""
        return np.zeros(self.pool.n, dtype=bool) if self.sure is None else self._outside >= self.sure

    def _choose(self, k: int) -> tuple[np.ndarray, float, list[str]]:
        retired, rng = self.retired, self._rng
        reviews = int(rng.binomial(k, self.review)) if self.review and retired.any() else 0
        reviewed = self._turns.oldest(self._turns.last, reviews, rng, retired)
        due = self._turns.last + self.pause * self.pool.n * (self._outside > 0)
        chosen = self._turns.oldest(due, k - len(reviewed), rng, ~retired)
        retired[reviewed] = False
        spare = self._turns.oldest(self._turns.last, k - len(reviewed) - len(chosen), rng, retired)
        reviewed = np.concatenate([reviewed, spare])
        known = np.where(self.rates[chosen] == UNTRIED, "explore", "exploit").tolist()
        return self._turns.mark(np.concatenate([chosen, reviewed])), np.nan, known + ["review"] * len(reviewed)

    def _draw_fields(self, index: int) -> dict[str, Any]:
        return {"meta": self._meta}

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            done = self._tallies.add(item)
            if done is None:
                continue
            task, (rate, episodes) = int(item.record), done
            inside = bool(in_band(rate, self.low, self.high))
            self.rates[task] = rate
            self._outside[task] = 0 if inside else self._outside[task] + episodes
            self._groups += 1
            self._kept += inside

    def _metrics(self) -> dict[str, float]:
        untried = self.rates == UNTRIED
        return {
            "untried": float(untried.sum()),
            "inside": float((~untried & (self._outside == 0)).sum()),
            "retired": float(self.retired.sum()),
            "kept_share": self._kept / self._groups if self._groups else 0.0,
        }


Preset(
    "dapo",
    BalancedFilter,
    "Dynamic sampling: every prompt in turn, groups without variance are replaced by the next.",
    "2503.14476",
    when="Every group is to have a signal, at any price in rollouts: groups without variance are replaced as they "
    "come.",
    low=0.0,
    high=1.0,
    pause=0.0,
    sure=None,
    review=0.0,
)
