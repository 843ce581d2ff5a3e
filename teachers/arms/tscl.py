"""Teacher-student curriculum learning (Matiisen, Oliver, Cohen, Schulman 2017, arXiv 1707.00183).

A student's score on an arm is its mean return. The value of an arm is the slope of its learning curve: practise where
scores rise, and, with `absolute`, where they fall because the student forgets. The paper's fourth rule is in
`tscl_sampling`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import keyword_declared, option
from ..protocol import Draw, Evidence
from ..registration import register
from ..sampling import epsilon_greedy, pick, softmax
from ..saved_state import Kept
from .arm_teacher import ArmTeacher

OPTIMISM = 1.0  # value of an untried arm: the largest possible slope or change, as scores lie in [0, 1]


def slope(times: Sequence[float], scores: Sequence[float]) -> float:
    """Return the slope of the least-squares line through (times, scores), both float[m].

    Raises:
        ValueError: fewer than two different times, which have no slope.
    """
    if len(set(times)) < 2:
        raise ValueError(f"no slope through {len(times)} scores at fewer than two times")
    x = np.asarray(times, dtype=np.float64)
    x = x - x.mean()
    return float(x @ np.asarray(scores, dtype=np.float64)) / float(x @ x)


@keyword_declared
class TSCL(ArmTeacher):
    """Base of teachers that choose by the slope of learning curves; a subclass writes `_learn`, which updates ``q``.

    Attributes:
        q: float64[n], value of each arm.
    """

    paper = "1707.00183"
    kept = ("q",)
    policy: Literal["epsilon-greedy", "boltzmann"] = option(
        default="epsilon-greedy",
        says='choice of arms by value: "epsilon-greedy" (ties shared evenly) or "boltzmann" (softmax).',
    )
    epsilon: float = option(default=0.1, low=0, high=1, says='share of random arms under "epsilon-greedy".')
    temperature: float = option(
        default=4e-4,
        above=0,
        says='temperature of "boltzmann". The paper\'s 4e-4 suits slopes; changes of score need more.',
    )
    absolute: bool = option(
        default=True,
        says="choose by |q|, as the paper does, so that forgotten arms are practised again; False chooses by q.",
    )

    def setup(self) -> None:
        super().setup()
        self.q = np.zeros(self.arms.n)

    @abstractmethod
    def _learn(self, evidence: list[Evidence]) -> None: ...

    def _probabilities(self) -> np.ndarray:
        values = np.abs(self.q) if self.absolute else self.q
        if self.policy == "boltzmann":
            return softmax(values, self.temperature)
        return epsilon_greedy(values, self.epsilon)

    def _values(self) -> np.ndarray:
        return self.q


@register("tscl-online")
class Online(TSCL):
    """Teacher-student curriculum, online rule: an average of the changes between an arm's successive scores.

    An outcome of arm a with score r sets q(a) <- q(a) + alpha (r - last(a) - q(a)), where last(a) is the previous score
    of the arm, initially 0, the lowest return (algorithm 1).
    """

    when = "The simplest rule on progress of few arms, to compare with. With noisy scores take `tscl-window`."

    kept = ("last",)

    alpha: float = option(default=0.1, above=0, high=1, says="step size.")

    def setup(self) -> None:
        super().setup()
        self.last = np.zeros(self.arms.n)

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm, score = int(item.record), float(item.returns.mean())
            self.q[arm] += self.alpha * (score - self.last[arm] - self.q[arm])
            self.last[arm] = score


@register("tscl-naive")
class Naive(TSCL):
    """Teacher-student curriculum, naive rule: the slope within a run of tasks of one arm.

    A chosen arm is proposed `window` times in a row. As soon as there are `window` scores of an arm, in whatever order
    outcomes arrive, q(a) <- q(a) + alpha (slope - q(a)) with the slope per task (algorithm 2). During a run,
    ``distribution()`` is 1 for its arm.
    """

    when = "An arm can be practised several times in a row and scores are noisy: the slope is taken within such a run."

    kept = (Kept(("_arm", "_left"), key="run"), Kept("_scores", dict[int, list[float]]))

    window: int = option(default=10, low=2, says="number of tasks in a run.")
    alpha: float = option(default=0.1, above=0, high=1, says="step size.")

    def setup(self) -> None:
        super().setup()
        self._arm, self._left = 0, 0  # arm of the present run, and number of its remaining proposals
        self._scores: dict[int, list[float]] = {}

    def distribution(self) -> np.ndarray:
        return np.eye(1, self.arms.n, self._arm)[0] if self._left else super().distribution()

    def _draw(self, k: int) -> list[Draw]:
        draws: list[Draw] = []
        while len(draws) < k:
            probability = 1.0
            if not self._left:
                probabilities = super().distribution()
                self._arm, self._left = int(pick(probabilities, 1, self._rng)[0]), self.window
                probability = float(probabilities[self._arm])
            run = min(self._left, k - len(draws))
            self._left -= run
            for place in range(run):
                task = self.arms.task(self._arm, self._rng)
                draws.append(Draw(self._arm, task, 1.0 if place else probability, "exploit"))
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            scores = self._scores.setdefault(arm, [])
            scores.append(float(item.returns.mean()))
            if len(scores) == self.window:
                self.q[arm] += self.alpha * (slope(range(self.window), self._scores.pop(arm)) - self.q[arm])

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if not (0 <= self._arm < self.arms.n and 0 <= self._left <= self.window):
            raise ValueError(f"run {own['run']}")


@register("tscl-window")
class Window(TSCL):
    """Teacher-student curriculum, window rule: the slope through an arm's latest scores over time.

    Time counts the outcomes of all arms. The value of an arm with fewer than two scores is 1, the largest possible
    slope, so that each arm is tried twice before any is preferred (algorithm 3).
    """

    when = "Few arms with noisy scores: the slope over the latest scores is smoother than single changes."

    kept = ("t",)

    window: int = option(default=10, low=2, says="number of latest scores stored for each arm.")

    def setup(self) -> None:
        super().setup()
        self.q = np.full(self.arms.n, OPTIMISM)
        self.t = 0
        self._latest: dict[int, deque[tuple[int, float]]] = {}

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            latest = self._latest.setdefault(arm, deque(maxlen=self.window))
            latest.append((self.t, float(item.returns.mean())))
            self.t += 1
            if len(latest) > 1:
                self.q[arm] = slope(*zip(*latest))

    def _save(self) -> dict[str, Any]:
        latest = [[arm, [list(point) for point in points]] for arm, points in self._latest.items()]
        return {**super()._save(), "latest": latest}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._latest = {
            int(arm): deque(((int(t), float(score)) for t, score in points), maxlen=self.window)
            for arm, points in own["latest"]
        }
