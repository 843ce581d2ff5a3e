"""Positive-negative pairing (arXiv 2602.03452): a prompt that is rarely solved with one that is rarely failed.

Normalised within its group, the rare outcome has the large advantage (with one of eight, 2.47 against 0.35): a rare
success on a hard prompt reinforces strongly, a rare failure on an easy one penalises strongly. Prompts are probed
first, then proposed in such pairs, with factors on the advantages of successes and failures in ``meta``.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Draw, Evidence
from ..registration import register
from ..saved_state import Kept
from .latest import LatestGroups
from .prompt_teacher import PromptTeacher
from .screening import Turns


@register("pairing")
class Pairing(PromptTeacher):
    """Probes prompts, then serves pairs of a hard but solvable and an easy but brittle one.

    In its latest group, a hard but solvable prompt has 1 to `odd` successes out of `group` episodes, and an easy but
    brittle prompt 1 to `odd` failures. Each pair joins a prompt of each side, drawn uniformly, in consecutive
    proposals. ``meta`` has the pair's number ("pair"), the side ("role": "hard" or "easy"), the list index of the
    partner ("partner"), and factors on the advantages of successes ("success_weight", 1) and of failures
    ("failure_weight"). (Factors on rewards would be undone by normalising within the group.)

    Prompts are proposed for evaluation only, the least recently probed first, if there is no hard or no easy prompt,
    and for the share `probe` of each batch until all prompts have been seen.
    """

    paper = "2602.03452"
    when = "Rare successes and rare failures should weigh most, on few prompts, and the learner can scale advantages."
    asks = frozenset({"pair", "role", "partner", "success_weight", "failure_weight"})
    kept = ("latest", "_turns", Kept("_halves", deque[tuple[int, int, str, int]]), "_pairs")
    group: int = option(
        default=8, low=3, says="n of every proposal, and number of single returns that make a group; the paper has 8."
    )
    odd: int = option(
        default=2,
        low=1,
        says="largest number of rare outcomes in a group (successes of a hard prompt, failures of an easy one), "
        "less than half of it. No value is published.",
    )
    failure_weight: float = option(
        default=1.0, above=0, says="lambda_neg, factor on the advantages of failures. No value is published."
    )
    probe: float = option(
        default=0.5, low=0, high=1, says="share of each batch that is probes, as long as there are unseen prompts."
    )

    def setup(self) -> None:
        if not 2 * self.odd < self.group:
            raise InputError(f"odd={self.odd} must be less than half of group={self.group}.")
        super().setup()
        self.latest = LatestGroups(self.pool.n, self.group)
        self._turns = Turns(self.pool.n)
        self._halves: deque[tuple[int, int, str, int]] = deque()  # index, pair, role, partner: proposals to come
        self._pairs = 0

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two int64 arrays of indices: the prompts now hard but solvable, and those easy but brittle."""
        rate, few = self.latest.rate, self.odd / self.group + 1e-9
        known = self.latest.size > 0
        return np.flatnonzero(known & (rate > 0) & (rate <= few)), np.flatnonzero(
            known & (rate < 1) & (rate >= 1 - few)
        )

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        return self._turns.take(k, self._rng), np.nan, "explore"

    def _draw(self, k: int) -> list[Draw]:
        hard, easy = self.sides()
        unseen = bool((self.latest.size == 0).any())
        served = k - int(self.probe * k + self._rng.random()) if unseen else k
        while len(self._halves) < served and len(hard) and len(easy):
            first, second = int(self._rng.choice(hard)), int(self._rng.choice(easy))
            self._halves.append((first, self._pairs, "hard", second))
            self._halves.append((second, self._pairs, "easy", first))
            self._pairs += 1
        draws = [self._make_half(*self._halves.popleft()) for _ in range(min(served, len(self._halves)))]
        self._turns.mark(np.array([draw.record for draw in draws], dtype=np.int64))
        return draws + super()._draw(k - len(draws))

    def _make_half(self, index: int, pair: int, role: str, partner: int) -> Draw:
        meta = {
            "pair": pair,
            "role": role,
            "partner": partner,
            "success_weight": 1.0,
            "failure_weight": self.failure_weight,
        }
        return Draw(index, self.pool.task(index, self._rng), origin="exploit", n=self.group, meta=meta)

    def _draw_fields(self, index: int) -> dict[str, Any]:
        return {"n": self.group, "train": False}

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            self.latest.add(int(item.record), item)

    def _metrics(self) -> dict[str, float]:
        hard, easy = self.sides()
        return {"hard": len(hard), "easy": len(easy), "pairs": self._pairs}
