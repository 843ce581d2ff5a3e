"""Curricula from easy to hard that need little or no feedback: stages, growing sets, annealed mixtures.

Arms are grouped into stages by `arms.difficulty`. A schedule is a function of the number of proposals made so far (the
position), so that a saved state holds one number and the generator's state.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_count, check_number, keyword_declared, option
from ...errors import InputError
from ..protocol import OUTCOMES, Draw, Evidence
from ..registration import Preset, register
from ..saved_state import Kept
from .arm_teacher import ArmTeacher

DECIMALS = 9  # difficulties that agree to this many decimals count as equal


def stages_of(difficulty: np.ndarray, stages: int) -> np.ndarray:
    """Return int64[n], the stage of each arm, 0 for the easiest.

    There are ``stages`` stages, or one per distinct difficulty if there are fewer; each holds about the same number of
    distinct difficulties.
    """
    check_count("stages", stages, low=1)
    values, rank = np.unique(difficulty.round(DECIMALS), return_inverse=True)
    return (rank.ravel() * min(int(stages), len(values)) // len(values)).astype(np.int64)


@keyword_declared
class StagedTeacher(ArmTeacher):
    """Base of schedules over stages: the probability of a stage is split evenly among its arms.

    A subclass writes `_mass`, and `_until` where the mass changes at a certain position.

    Attributes:
        stage_of: int64[n], stage of each arm.
        stages: number of stages.
        position: number of proposals made so far.
    """

    kept = ("position",)

    stages: int = option(default=4, low=1, says="number of stages (see `stages_of`).")

    def setup(self) -> None:
        super().setup()
        self.stage_of = stages_of(self.arms.difficulty, self.stages)
        self.stages = int(self.stage_of.max()) + 1
        self._sizes = np.bincount(self.stage_of)
        self.position = 0

    @abstractmethod
    def _mass(self) -> np.ndarray:
        """Return float64[stages], summing to 1: the probability of each stage at the present position."""

    def _until(self) -> int | None:
        """Return the position at which the mass changes next; None if it does not change within a batch."""
        return None

    def _probabilities(self) -> np.ndarray:
        return (self._mass() / self._sizes)[self.stage_of]

    def _draw(self, k: int) -> list[Draw]:
        draws: list[Draw] = []
        while len(draws) < k:
            until = self._until()
            here = k - len(draws) if until is None else min(k - len(draws), until - self.position)
            draws += super()._draw(here)
            self.position += here
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        pass


@register("sequential")
class SequentialStages(StagedTeacher):
    """One stage after another, from easy to hard.

    The next stage begins once the mean of the last `window` outcomes of the present one is at least `threshold`, or, if
    `tasks` is given, after that many proposals. Outcomes of tasks of other stages do not count, and the window starts
    empty at each stage. The last stage does not end.

    Attributes:
        stage: index of the present stage.
    """

    paper = "Bengio, Louradour, Collobert, Weston, ICML 2009"
    when = (
        "Stages that build on each other, each to be mastered before the next. Nothing is repeated, so that earlier "
        "stages can be forgotten."
    )
    state_name = "Sequential"
    kept = ("_stage", Kept("_recent", deque[float]))
    stages: int = 10
    threshold: float = option(default=0.8, low=0, high=1, says="mean return that ends a stage.")
    window: int = option(default=20, low=1, says="number of latest outcomes over which the mean is taken.")
    tasks: int | None = option(
        default=None, low=1, says="number of proposals in each stage; overrides `threshold` and `window`."
    )
    review: float = option(
        default=0.0, low=0, high=1, says="share of proposals that are uniform over the present stage and all before it."
    )

    def setup(self) -> None:
        super().setup()
        self._stage = 0
        self._recent: deque[float] = deque(maxlen=self.window)

    @property
    def stage(self) -> int:
        return self._stage if self.tasks is None else min(self.position // self.tasks, self.stages - 1)

    def _mass(self) -> np.ndarray:
        mass = np.eye(1, self.stages, self.stage)[0]
        passed = np.where(np.arange(self.stages) <= self.stage, self._sizes, 0)
        return (1 - self.review) * mass + self.review * passed / passed.sum()

    def _until(self) -> int | None:
        return None if self.tasks is None else (self.position // self.tasks + 1) * self.tasks

    def _learn(self, evidence: list[Evidence]) -> None:
        if self.tasks is not None:
            return
        for item in evidence:
            if self.stage_of[int(item.record)] == self._stage:
                self._recent.append(float(item.returns.mean()))
                reached = sum(self._recent) >= self.threshold * self.window - 1e-9  # equal means differ by rounding
                if len(self._recent) == self.window and reached:
                    self._stage = min(self._stage + 1, self.stages - 1)
                    self._recent.clear()

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "stage": float(self.stage)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if not 0 <= self._stage < self.stages:
            raise ValueError(f"stage {self._stage} of {self.stages}")


SYLLABUSES = "Collier, Beel, AICS 2018, arXiv 1809.10789"
Preset(
    "look-back",
    SequentialStages,
    "One stage after another, with a tenth of what was before.",
    SYLLABUSES,
    when="A ladder of stages with a known order on which earlier stages are forgotten: a tenth of the tasks repeats "
    "them.",
    review=0.1,
)
Preset(
    "look-back-and-forward",
    SequentialStages,
    "One stage after another, with a fifth of everything: the best hand-made syllabus of six.",
    SYLLABUSES,
    when="The strongest syllabus by hand to compare with: stages in order, and a fifth of the tasks from everywhere.",
    floor=0.2,
)


def _check_plan(name: str, value: Any) -> int | list[int]:
    lengths = [check_count(name, length, 1) for length in ([value] if np.ndim(value) == 0 else value)]
    return lengths[0] if len(lengths) == 1 else lengths


def _check_weights(name: str, value: Any) -> list[float]:
    return [check_number(name, weight, 0) for weight in value]


def _check_rise(name: str, value: Any) -> list[float]:
    begin, end = (check_number(name, share, 0, 1) for share in value)
    if begin >= end:
        raise InputError(f"{name} must be two rising shares of the run, such as (0.3, 0.7), not {list(value)}.")
    return [begin, end]


@register("cumulative")
class Cumulative(StagedTeacher):
    """A set of arms that grows by one stage after each number of proposals in a plan.

    In phase k every arm of the stages 0 to k is equally likely. The last phase, of all arms, does not end.

    Raises:
        InputError: an option out of range, or a plan of the wrong length.
    """

    paper = "SkyRL, curriculum example (NovaSky, 2026)"
    when = "A plan by hand that never drops what was practised: stages are added, and all of them stay equally likely."
    plan: int | Sequence[int] = option(
        default=1000,
        check=_check_plan,
        says="proposals in each phase but the last: one number for all, or one for each.",
    )

    def setup(self) -> None:
        super().setup()
        lengths = [self.plan] * (self.stages - 1) if isinstance(self.plan, int) else self.plan
        if len(lengths) != self.stages - 1:
            raise InputError(f"plan={lengths} has {len(lengths)} phases; {self.stages} stages need {self.stages - 1}.")
        self._ends = np.cumsum(lengths)

    @property
    def phase(self) -> int:
        """Number of stages in use besides the first."""
        return int(np.searchsorted(self._ends, self.position, side="right"))

    def _mass(self) -> np.ndarray:
        sizes = np.where(np.arange(self.stages) <= self.phase, self._sizes, 0)
        return sizes / sizes.sum()

    def _until(self) -> int | None:
        return int(self._ends[self.phase]) if self.phase < len(self._ends) else None

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "phase": float(self.phase)}


@register("annealed")
class Annealed(StagedTeacher):
    """A mixture of K stages whose weights move from the easiest to the hardest within a horizon (E2H Reasoner).

    With s the share of the horizon that has passed, "cosine" mixes weights K - i, with factor (1 + cos(pi s)) / 2, and
    weights i + 1, with the rest (both normalised); the least probability is 2 / (K (K + 1)). "gaussian" is proportional
    to exp(-(i - mu)^2 / (2 sigma^2)) with mu = s^beta (K - 1). A whole batch uses the mixture at the beginning of the
    batch.
    """

    paper = "2506.06632"
    when = (
        "The order of difficulty is known, and so is the length of the run: the mixture moves from easy to hard "
        "without feedback."
    )
    horizon: int = option(
        default=10_000, low=1, says="number of proposals after which the mixture stays at its final form."
    )
    shape: Literal["cosine", "gaussian"] = option(default="cosine", says="form of the mixture, see the class.")
    beta: float = option(
        default=0.5, above=0, says='exponent of the path of "gaussian"; below 1 it is faster at first.'
    )
    sigma: float = option(default=0.5, above=0, says='width of "gaussian" in stages.')

    def _mass(self) -> np.ndarray:
        done, i = min(self.position / self.horizon, 1.0), np.arange(self.stages)
        if self.shape == "cosine":
            early = (1 + math.cos(math.pi * done)) / 2
            total = self.stages * (self.stages + 1) / 2
            return (early * (self.stages - i) + (1 - early) * (i + 1)) / total
        distance = (i - done**self.beta * (self.stages - 1)) ** 2
        weights = np.exp(-(distance - distance.min()) / (2 * self.sigma**2))
        return weights / weights.sum()


@register("tiers")
class TierMixture(StagedTeacher):
    """A mixture of stages with given weights, which move in a straight line to other weights during a part of the run
    (RMT): the weights are ``early`` up to the share ``rise[0]`` of the run, ``late`` from ``rise[1]`` on.

    Where tasks have fewer difficulties than there are weights, the first weights count.

    Raises:
        InputError: there are fewer weights than stages, or none of them is above 0.
    """

    paper = "RMT, arXiv 2509.24375, section 3.3"
    when = "Tiers of tasks with a known order, of which easy ones shall be frequent at first and hard ones at the end."
    kept = ("_length",)
    stages: int = 3
    early: Sequence[float] = option(default=(0.6, 0.3, 0.1), check=_check_weights, says="weights at the beginning.")
    late: Sequence[float] = option(default=(0.1, 0.3, 0.6), check=_check_weights, says="weights at the end.")
    rise: Sequence[float] = option(
        default=(0.3, 0.7), check=_check_rise, says="shares of the run between which the weights move."
    )
    horizon: int | None = option(
        default=None, low=1, says="number of proposals of the run; None: as many as the run announces."
    )

    def setup(self) -> None:
        super().setup()
        weights = [each[: self.stages] for each in (self.early, self.late)]
        if min(map(len, weights)) < self.stages or not all(map(sum, weights)):
            raise InputError(
                f"early={list(self.early)} and late={list(self.late)} must have a weight for each of {self.stages} "
                "stages, and one above 0 among these."
            )
        self._weights = [np.array(each, dtype=float) / sum(each) for each in weights]
        self._length = self.horizon or OUTCOMES

    def _expect(self, outcomes: int) -> None:
        self._length = self.horizon or outcomes

    def _mass(self) -> np.ndarray:
        begin, end = self.rise
        done = min(max((self.position / self._length - begin) / (end - begin), 0.0), 1.0)
        early, late = self._weights
        return (1 - done) * early + done * late
