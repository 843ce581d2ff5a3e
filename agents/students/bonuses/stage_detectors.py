"""Detectors of the stages of a task, fitted on a few successful demonstrations, which they first split into stages.

Source: Sermanet, Xu and Levine, "Unsupervised Perceptual Rewards", arXiv 1612.06699. Demonstrations are arrays of
features, one row per state.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import InputError

MOST_FEATURES = 256
"""Most features used for detecting stages: those that vary most over the demonstrations."""
_PASSES = 8


@dataclass(frozen=True)
class _Moments:
    """Number, sum and sum of squares of rows of features."""

    count: int
    total: np.ndarray
    squares: np.ndarray

    def spread(self, count: Any = 0, total: Any = 0.0, squares: Any = 0.0) -> Any:
        """Return the standard deviation of these rows together with further rows, given by their moments, averaged over
        the features; [n] for n alternative sets of further rows."""
        number = np.asarray(self.count + count, dtype=np.float64)[..., None]
        mean = (self.total + total) / number
        return np.sqrt(np.maximum((self.squares + squares) / number - mean**2, 0.0)).mean(-1)


def split_stages(demonstrations: Sequence[np.ndarray], stages: int, least: int = 1) -> list[list[int]]:
    """Split demonstrations into stages that minimise the sum over stages of the features' mean standard deviation.

    One demonstration is split exactly, by dynamic programming over the ends of its stages. With several, the states of
    each stage are pooled: each demonstration is split again given the others, until no split changes (at most 8
    times).

    Args:
        demonstrations: arrays [T, F].
        stages: number of stages.
        least: smallest number of states in a stage.

    Returns:
        For each demonstration the first index of stages 2, 3, ....

    Raises:
        InputError: a demonstration has too few states.
    """
    for rows in demonstrations:
        if len(rows) < stages * least:
            raise InputError(
                f"a demonstration of {len(rows)} states has no {stages} stages of at least {least}; ask for fewer."
            )
    nothing = [_Moments(0, np.zeros(1), np.zeros(1))] * stages
    alone = [_split(rows, nothing, least) for rows in demonstrations]
    if len(demonstrations) == 1:
        return alone
    # A good split of one demonstration can be a bad start for all: try several starts and take the best result.
    shares = [np.linspace(0, 1, stages + 1)[1:-1] ** power for power in (0.5, 1.0, 2.0)]
    beginnings = [alone, *([_place(len(rows), share, least) for rows in demonstrations] for share in shares)]
    ends = [_split_together(demonstrations, begun, stages, least) for begun in beginnings]
    return min(ends, key=lambda found: _total(demonstrations, found, stages))


def _place(length: int, shares: np.ndarray, least: int) -> list[int]:
    """Return starts of stages at shares of a demonstration's length, at least ``least`` states apart."""
    found = [0]
    for number, share in enumerate(shares):
        last = length - (len(shares) - number) * least
        found.append(min(max(round(share * length), found[-1] + least), last))
    return found[1:]


def _pool(demonstrations: Sequence[np.ndarray], found: Sequence[list[int]], stages: int) -> list[_Moments]:
    parts = [cut(rows, starts) for rows, starts in zip(demonstrations, found, strict=True)]
    return [_moments(np.concatenate([part[stage] for part in parts])) for stage in range(stages)]


def _total(demonstrations: Sequence[np.ndarray], found: Sequence[list[int]], stages: int) -> float:
    return float(sum(stage.spread() for stage in _pool(demonstrations, found, stages)))


def _split_together(
    demonstrations: Sequence[np.ndarray], begun: Sequence[list[int]], stages: int, least: int
) -> list[list[int]]:
    """Split each demonstration in turn, given the splits of the others, until no split changes."""
    found = [list(starts) for starts in begun]
    for _ in range(_PASSES):
        before = [list(starts) for starts in found]
        for number, rows in enumerate(demonstrations):
            rest = [*demonstrations[:number], *demonstrations[number + 1 :]]
            starts = [*found[:number], *found[number + 1 :]]
            found[number] = _split(rows, _pool(rest, starts, stages), least)
        if found == before:
            break
    return found


def cut(rows: np.ndarray, starts: Sequence[int]) -> list[np.ndarray]:
    """Cut the rows of a demonstration at the starts of stages 2, 3, ...; return the rows of each stage."""
    return [rows[start:stop] for start, stop in itertools.pairwise([0, *starts, len(rows)])]


def _moments(rows: np.ndarray) -> _Moments:
    return _Moments(len(rows), rows.sum(0), (rows**2).sum(0))


def _split(rows: np.ndarray, others: Sequence[_Moments], least: int) -> list[int]:
    """Split one demonstration into as many stages as there are ``others``, the moments of other demonstrations' stages,
    whose rows are included in the deviations."""
    length, stages = len(rows), len(others)
    sums = np.concatenate([np.zeros((1, rows.shape[1])), rows.cumsum(0)])
    squares = np.concatenate([np.zeros((1, rows.shape[1])), (rows**2).cumsum(0)])
    best = np.full((stages + 1, length + 1), math.inf)  # [k, t]: least cost of the first k stages, which end at t
    best[0, 0], origin = 0.0, np.zeros((stages + 1, length + 1), dtype=int)
    for stage, other in enumerate(others, start=1):
        for stop in range(stage * least, length - (stages - stage) * least + 1):
            starts = np.arange(stop - least + 1)
            spreads = other.spread(stop - starts, sums[stop] - sums[starts], squares[stop] - squares[starts])
            costs = best[stage - 1, starts] + spreads
            origin[stage, stop] = int(costs.argmin())
            best[stage, stop] = costs[origin[stage, stop]]
    found, stop = [], length
    for stage in range(stages, 1, -1):
        stop = int(origin[stage, stop])
        found.append(stop)
    return found[::-1]


@dataclass(frozen=True)
class StageDetector:
    """Independent Gaussians of the features that distinguish a stage.

    Attributes:
        features: indices of the features, the most distinctive one first.
        mean, deviation: mean and standard deviation of each of these features in the stage.
    """

    features: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    def log_likelihood(self, row: np.ndarray) -> float:
        """Return the log-density of a state, averaged over the detector's features; 0 without features."""
        if not len(self.features):
            return 0.0
        z = (row[self.features] - self.mean) / self.deviation
        return float((-0.5 * z**2 - np.log(self.deviation) - 0.5 * math.log(2 * math.pi)).mean())

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in ("features", "mean", "deviation")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StageDetector:
        return cls(np.array(data["features"], dtype=int), np.array(data["mean"]), np.array(data["deviation"]))


def telling_scores(inside: np.ndarray, outside: np.ndarray, contrast: float = 1.0) -> np.ndarray:
    """Return ``z = contrast * |mean+ - mean-| - (deviation+ + deviation-)`` [F], for the states inside (+) and outside
    (-) a stage; larger for more distinctive features."""
    apart = np.abs(inside.mean(0) - outside.mean(0))
    return contrast * apart - (inside.std(0) + outside.std(0))


def fit_detectors(
    stages: Sequence[np.ndarray], most: int = 32, contrast: float = 1.0, floor: float = 0.1
) -> list[StageDetector]:
    """Fit the detector of each stage on its states, against the states of all other stages.

    Args:
        stages: for each of at least two stages the states of all demonstrations, [n, F].
        most: most features of a detector: those with the largest z (`telling_scores`), if z is above 0.
        contrast: weight of the distance of the means in z.
        floor: lower bound of the standard deviations, without which constant features would dominate.
    """
    found = []
    for number, inside in enumerate(stages):
        z = telling_scores(inside, np.concatenate([*stages[:number], *stages[number + 1 :]]), contrast)
        chosen = np.argsort(-z, kind="stable")[:most]
        chosen = chosen[z[chosen] > 0]
        deviation = np.maximum(inside[:, chosen].std(0), floor)
        found.append(StageDetector(chosen, inside[:, chosen].mean(0), deviation))
    return found


def stage_reward(detectors: Sequence[StageDetector], row: np.ndarray) -> float:
    """Return ``sum over stages i = 2 ... n of R_i * 2^(i - 1)`` with log-likelihoods R_i of a state in stage i."""
    later = enumerate(detectors[1:], start=1)
    return float(sum(detector.log_likelihood(row) * 2**power for power, detector in later))
