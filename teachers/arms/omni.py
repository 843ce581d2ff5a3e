"""OMNI: learning progress among interesting tasks (Zhang, Lehman, Stanley, Clune 2023, arXiv 2306.01711).

Learning progress may be high on many tasks that teach nothing new, such as a rephrased task or a part of a task already
mastered. A model of interestingness (in the paper a language model) marks such tasks as boring, and their probability
is multiplied by 0.001.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from .learning_progress import BidirectionalLP

Interesting = Callable[[list[int]], Sequence[bool]]


@register("omni")
class OMNI(BidirectionalLP):
    """Bidirectional learning progress, with a small factor on the probability of boring arms.

    An arm is mastered while its fast success average is at least `mastery`. Without a model of interestingness, an arm
    is boring if it is mastered, or if it is no harder than a mastered arm and within `nearness` of it. A model is
    called again whenever the set of mastered arms has changed. The sigmoid is centred at the mean, as in the authors'
    code.

    Attributes:
        boring: bool[n].

    Raises:
        InputError: an option out of range, or an answer of the wrong length.
    """

    paper = "2306.01711"
    when = (
        "Hundreds of arms of which many are variants of one another: progress counts only where a model, or a rule, "
        "finds the task interesting."
    )
    kept = ("_mastered", "boring", "_covers")
    quantile: float | None = None
    interesting: Interesting | None = option(
        default=None,
        saved=False,
        says="called with the indices of the mastered arms in ascending order; returns one bool per arm, True if it"
        " is interesting. A saved state holds the last answer, not the callable.",
    )
    mastery: float = option(
        default=0.9,
        above=0,
        high=1,
        says="success average from which an arm is mastered. The authors' code goes through all tasks, the most "
        "successful first, and has no such threshold.",
    )
    nearness: float = option(
        default=0.1,
        low=0,
        high=1,
        says="Euclidean distance between the features of two arms (each in [0, 1]) up to which they are near.",
    )
    boredom: float = option(default=0.001, low=0, high=1, says="factor on the probability of a boring arm.")

    def setup(self) -> None:
        self.settings = {"interesting": self.interesting is not None}
        super().setup()
        n = self.arms.n
        self._features, self._difficulty = self.arms.features, self.arms.difficulty
        self._covers = np.zeros(n, dtype=np.int64)  # number of mastered arms that make each arm boring
        self._mastered, self.boring = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)

    def _probabilities(self) -> np.ndarray:
        weights = super()._probabilities() * np.where(self.boring, self.boredom, 1.0)
        total = weights.sum()
        return weights / total if total > 0 else super()._probabilities()

    def _learn(self, evidence: list[Evidence]) -> None:
        super()._learn(evidence)
        mastered = self.fast >= self.mastery
        changed = np.flatnonzero(mastered != self._mastered)
        if not len(changed):
            return
        self._mastered = mastered
        if self.interesting is None:
            for arm in changed.tolist():
                self._covers[self._find_covered(arm)] += 1 if mastered[arm] else -1
            self.boring = self._covers > 0
        else:
            answer = np.asarray(self.interesting(np.flatnonzero(mastered).tolist()), dtype=bool)
            if answer.shape != (self.arms.n,):
                raise InputError(
                    f"interesting() returned {answer.shape} values; give one for each of {self.arms.n} arms."
                )
            self.boring = ~answer

    def _find_covered(self, arm: int) -> np.ndarray:
        """Return bool[n], the arms that become boring once ``arm`` is mastered, itself included."""
        near = np.linalg.norm(self._features - self._features[arm], axis=1) <= self.nearness
        return near & (self._difficulty <= self._difficulty[arm])

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "boring": float(self.boring.sum())}
