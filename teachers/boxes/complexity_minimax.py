"""Minimax over classes of difficulty, as in Learning to Actively Learn (Zhang, Katz-Samuels, Jamieson, arXiv
2010.15382): practise where the student falls furthest behind the best that is possible at that difficulty.

Classes are nested: class r holds all tasks of levels 0 to r. The student's loss on a class is its loss on the worst
level. The gap is the excess over the loss of the best student trained on that class alone, so that hard classes on
which no student does well do not crowd out easy ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import pick, softmax
from .ladder import LadderTeacher


@register("complexity-minimax")
class ComplexityMinimax(LadderTeacher):
    """Levels drawn by a softmax over the gap between the student's worst-case loss and the best possible one.

    Losses are 1 - return, as running means per level; an unseen level has loss 1. A class is drawn from
    softmax(gap / temperature), then one of its levels from softmax(loss / temperature): a soft form of the paper's two
    maxima, whose adversary holds weighted particles instead of levels.
    """

    paper = "2010.15382"
    when = "The worst level is what counts in the end, not the mean, and levels are ordered by difficulty."
    kept = ("losses", "_seen")
    start: int = option(default=0, init=False)
    reference: Sequence[float] | None = option(
        default=None,
        check=lambda name, value: list(check_numbers(name, value)),
        says="per class, the loss of the best student trained on that class alone, in [0, 1] and not falling. The "
        "paper computes these first; None takes 0 everywhere, which is plain minimax over classes.",
    )
    temperature: float = option(default=0.1, above=0, says="temperature of both draws (ours).")
    alpha: float = option(default=0.1, above=0, high=1, says="step size of the running means of losses (ours).")

    def setup(self) -> None:
        super().setup()
        n = self.ladder.n
        self._best = given = np.zeros(n) if self.reference is None else np.array(self.reference)
        if given.shape != (n,) or given.min() < 0 or given.max() > 1 or (np.diff(given) < 0).any():
            raise InputError(
                f"reference={self.reference!r} must be {n} losses in [0, 1], none below the one before it."
            )
        self.losses = np.ones(n)
        self._seen = np.zeros(n, dtype=bool)

    def gaps(self) -> np.ndarray:
        """Return float64[n]: for each class, the loss on its worst level minus the best possible loss."""
        return np.maximum.accumulate(self.losses) - self._best

    def distribution_of_levels(self) -> np.ndarray:
        """Return float64[n], the probability of each level."""
        n = self.ladder.n
        inside = np.tril(np.exp((self.losses - self.losses.max()) / self.temperature))  # row r: levels of class r
        inside = np.maximum(inside, np.tril(np.full((n, n), 1e-300)))
        return softmax(self.gaps(), self.temperature) @ (inside / inside.sum(1, keepdims=True))

    def _levels(self, k: int) -> tuple[np.ndarray, np.ndarray, Sequence[str] | str]:
        probabilities = self.distribution_of_levels()
        levels = pick(probabilities, k, self._rng)
        return levels, probabilities[levels], "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            level, loss = int(item.record[0]), 1.0 - float(item.returns.mean())
            step = self.alpha if self._seen[level] else 1.0
            self.losses[level] += step * (loss - self.losses[level])
            self._seen[level] = True

    def _metrics(self) -> dict[str, float]:
        return {"gap": float(self.gaps().max()), "loss": float(self.losses.mean())}
