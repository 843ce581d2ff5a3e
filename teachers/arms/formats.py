"""Curricula over answer formats: the same question as a choice of four, of ten, a cloze, an open question.

One column of the arms' features, the ladder, is the answer format; the other columns identify the question. On a grid
the columns are the axes: by default the last axis is the ladder, as in palaestra/Formats-v0, and every cell of the
other axes is a question. In a list of tasks, a question need not have all formats.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ...checks import check_share, keyword_declared, option
from ...errors import InputError
from ..pools import MAX_RUNGS, Arms, Grid, as_arms, chances_of, default_bins
from ..protocol import Draw, Evidence
from ..registration import register
from ..saved_state import Kept
from ..signals import Groups
from ..spaces import FamilySpaceLike, as_cube
from .arm_teacher import ArmTeacher

GROUPS = 16  # number of latest groups of a question that are stored
ODDS = 1e-5  # returns that guessing reaches with at most this probability are no guesses
DECIMALS = 9  # features that agree to this many decimals count as equal


def cut_ladder(space: Any, bins: int | Sequence[int] | None, axis: int) -> Arms:
    """Cut ``space`` into arms. Without ``bins``, each of at most `MAX_RUNGS` values of the ladder is a cell."""
    if bins is not None or isinstance(space, Arms | FamilySpaceLike | gym.spaces.Discrete):
        return as_arms(space, bins)
    cube = as_cube(space)
    cells = [default_bins(cube.dimension)] * cube.dimension
    if -cube.dimension <= axis < cube.dimension and (cube.sizes[axis] or math.inf) <= MAX_RUNGS:
        cells[axis] = cube.sizes[axis] or 1
    return Grid(cube, cells)


def find_ladder(features: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the questions and formats of arms.

    Args:
        features: float64[n, d].
        axis: the column of the features that is the ladder.

    Returns:
        question: int64[n], index of the arm's question, which is its row of features without the column ``axis``.
        level: int64[n], rank of the arm's format among all formats, 0 for the easiest.
        rung: int64[n], rank of the arm's format among the formats of its question, 0 for the easiest.
    """
    if not -features.shape[1] <= axis < features.shape[1]:
        raise InputError(f"axis={axis} must name one of the {features.shape[1]} axes.")
    rounded = features.round(DECIMALS)
    others = np.delete(rounded, axis, axis=1)
    question = (
        np.unique(others, axis=0, return_inverse=True)[1].ravel() if others.shape[1] else np.zeros(len(others), int)
    )
    level = np.unique(rounded[:, axis], return_inverse=True)[1].ravel()
    order = np.lexsort((level, question))
    q, v = question[order], level[order]
    new_question = np.r_[True, q[1:] != q[:-1]]
    steps = np.cumsum(np.r_[True, (q[1:] != q[:-1]) | (v[1:] != v[:-1])])
    rung = np.empty(len(order), dtype=np.int64)
    rung[order] = steps - steps[new_question][np.cumsum(new_question) - 1]
    return question.astype(np.int64), level.astype(np.int64), rung


def _find_chances(space: Any, arms: Arms, axis: int) -> np.ndarray | None:
    """Return float64[n], the success rate of guessing in each arm; None if the space does not state it."""
    if (listed := getattr(space, "chances", None)) is not None:
        return np.array(listed, dtype=np.float64)
    rates = chances_of(space) if axis == -1 else {}
    if not rates or not isinstance(arms, Grid):
        return None
    rng, name = np.random.default_rng(0), list(space.names)[-1]
    return np.array([rates.get(arms.task(arm, rng)[name], 0.0) for arm in range(arms.n)])


def is_no_guessing(groups: Sequence[tuple[int, float]], guess: float) -> bool:
    """Return True if, for some number of the latest groups, returns are too high for guessing, by Chernoff's bound.

    Args:
        groups: (number of returns in [0, 1], their sum) of each group, the latest group last.
        guess: mean return of guesses.
    """
    if guess <= 0:
        return True
    count, total = 0, 0.0
    for returns, own in reversed(groups):
        count, total = count + returns, total + own
        mean = min(total / count, 1.0)
        if mean > guess:
            miss = (1 - mean) * math.log((1 - mean) / (1 - guess)) if mean < 1 else 0.0
            if count * (mean * math.log(mean / guess) + miss) >= -math.log(ODDS):
                return True
    return False


@keyword_declared
class FormatTeacher(ArmTeacher):
    """Base of teachers of answer formats: arms are cut so that every format has separate arms."""

    climbs_formats = True
    axis: int = option(
        default=-1,
        check=lambda _, axis: axis,  # `find_ladder` raises InputError for an axis outside the space
        says="axis (column of the features) that is the ladder of formats, easiest first.",
    )

    def setup(self) -> None:
        self.space, self.bins = cut_ladder(self.space, self.bins, self.axis), None
        super().setup()


@register("format-ladder")
class FormatLadder(FormatTeacher):
    """Moves each question up its ladder of answer formats once its success rate is high enough (Cog-DRIFT).

    A question starts at its easiest format. Once the mean of its last `window` group means exceeds `threshold`, it
    moves to its next format, never back, and the window is emptied. Outcomes in other formats than the current
    one are ignored. Questions are drawn uniformly.

    If outcomes carry single returns, they are collected until `group` of them make a group.

    If the space states the success rate of guessing in a format, as palaestra/Formats-v0 does, a question moves only
    when guessing cannot explain its latest groups: for some number of latest groups, with n returns in all,
    exp(-n KL(mean || guess)) <= 1e-5 must hold (Chernoff).

    Attributes:
        position: int64[questions], the current rung of each question.
    """

    paper = "2604.04767"
    when = (
        "Questions that exist in several answer formats: each question climbs from a choice to an open answer as soon "
        "as it is mastered."
    )
    kept = ("position", Kept("_groups", key="waiting"))
    threshold: float | None = option(
        default=None,
        low=0,
        high=1,
        says="mean return above which a question moves up; by default 0.5, or 1.5 times the success rate of guessing "
        "if that is more.",
    )
    window: int = option(default=1, low=1, says="number of groups in the mean.")
    guess: float | None = option(
        default=None,
        low=0,
        high=1,
        says="success rate of guessing at the easiest format; by default the rate that the space states, else "
        "0.25, as for a choice of four. A threshold at or below it is refused: the ladder would climb without "
        "any learning.",
    )
    group: int = option(default=8, low=1, says="number of single returns that make a group.")

    def setup(self) -> None:
        arms = cut_ladder(self.space, self.bins, self.axis)
        question, _, rung = find_ladder(arms.features, self.axis)
        # Success rate of guessing in each arm; None if the space does not state it.
        self._chances = None if self.guess is not None else _find_chances(self.space, arms, self.axis)
        if self._chances is not None:
            self.guess = check_share("guess", float(self._chances[rung == 0].max()))
        elif self.guess is None:
            self.guess = 0.25
        if self.threshold is None:
            self.threshold = max(0.5, min(1.5 * self.guess, 0.99))
        if self.threshold <= self.guess:
            raise InputError(
                f"threshold={self.threshold:g} is not above guess={self.guess:g}: guessing would move questions up; "
                "raise it."
            )
        self._bar = self.threshold * self.window + 1e-9  # means that equal the threshold may differ from it by rounding
        self.space, self.bins = arms, None
        super().setup()
        self._question, self._rung = question, rung
        self._top = np.zeros(self._question.max() + 1, dtype=np.int64)
        np.maximum.at(self._top, self._question, self._rung)
        self.position = np.zeros_like(self._top)
        self._means: dict[int, deque[float]] = {}  # by question
        self._seen: dict[int, deque[tuple[int, float]]] = {}  # returns and their sum of the latest groups, by question
        self._groups = Groups(self.group)

    def _probabilities(self) -> np.ndarray:
        active = self._rung == self.position[self._question]
        alike = np.bincount(self._question[active], minlength=len(self.position))  # tasks of one question and format
        return active / (alike[self._question] * len(self.position))

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            question = int(self._question[arm])
            if self._rung[arm] != self.position[question]:
                continue
            group = self._groups.add(arm, item.returns)
            if group is None:
                continue
            means = self._means.setdefault(question, deque(maxlen=self.window))
            means.append(float(group.mean()))
            seen = self._seen.setdefault(question, deque(maxlen=GROUPS))
            seen.append((len(group), float(group.sum())))
            above = len(means) == self.window and sum(means) > self._bar
            if above and (self._chances is None or is_no_guessing(seen, float(self._chances[arm]))):
                self.position[question] = min(self.position[question] + 1, self._top[question])
                means.clear()
                seen.clear()

    def _metrics(self) -> dict[str, float]:
        topmost = self.position == self._top
        return {**super()._metrics(), "rung_mean": float(self.position.mean()), "at_top": float(topmost.mean())}

    def _save(self) -> dict[str, Any]:
        means = [[question, list(values)] for question, values in self._means.items()]
        seen = [[question, [list(pair) for pair in pairs]] for question, pairs in self._seen.items()]
        return {**super()._save(), "means": means, "seen": seen}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if (self.position < 0).any() or (self.position > self._top).any():
            raise ValueError(f"positions {self.position}")
        self._means = {int(q): deque(map(float, values), maxlen=self.window) for q, values in own["means"]}
        pairs = {int(q): [(int(n), float(total)) for n, total in values] for q, values in own.get("seen", ())}
        self._seen = {question: deque(values, maxlen=GROUPS) for question, values in pairs.items()}


@register("format-stages")
class FormatStages(FormatTeacher):
    """Trains all questions in one answer format after another, each for a fixed number of tasks (Curr-ReFT).

    Within a stage every task of its format is equally likely. The last stage does not end. The paper's final stage,
    supervised training on the best answers, is left to the learner.

    Attributes:
        position: number of proposals made so far.
    """

    paper = "2503.07065"
    when = (
        "Questions in several answer formats, where one fixed plan for all of them is enough, or is what you compare "
        "with."
    )
    kept = ("position",)
    tasks: int = option(
        default=1000, low=1, says="number of proposals in a stage. The paper has 1,000 to 4,000 questions in each."
    )

    def setup(self) -> None:
        super().setup()
        self._level = find_ladder(self.arms.features, self.axis)[1]
        self.position = 0

    @property
    def stage(self) -> int:
        """Index of the format now trained, from 0."""
        return min(self.position // self.tasks, int(self._level.max()))

    def _probabilities(self) -> np.ndarray:
        active = self._level == self.stage
        return active / active.sum()

    def _draw(self, k: int) -> list[Draw]:
        draws: list[Draw] = []
        while len(draws) < k:
            here = min(k - len(draws), self.tasks - self.position % self.tasks)
            draws += super()._draw(here)
            self.position += here
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        pass

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "stage": float(self.stage)}
