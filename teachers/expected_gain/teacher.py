"""The teacher "palaestra": practise where practice changes the return, for boxes and arms alike.

Some teachers take the variance of returns as a sign of progress, but variance is largest for pure luck. Others take the
difference between neighbouring tasks, but it is large wherever hard tasks lie next to easy ones. This teacher estimates
for each place the trend of returns under practice, the error of that estimate, and the remaining gain. The teacher
needs only returns of single episodes or of groups.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..pools import Arms, as_arms
from ..protocol import OUTCOMES, Draw, Evidence, Teacher
from ..registration import register
from ..sampling import effective_number, pick
from ..spaces import Cube, as_cube
from .cells import LEAST, cut_cells
from .gains import Gains, add_return, ages_within, fit_gains, sum_moments
from .points import Points

EXHAUSTED = 0.0025  # (1/20)^2: at 1/20 of the record gain, half of the draws are by the remaining gain
WINDOW, REFIT = 0.05, 0.00375  # default `window` and `refit`, as shares of the run's outcomes
SHORTEST, SOONEST = 100, 8  # lower bounds of these defaults, in outcomes
RESERVE = 0.05  # least share of the draws for cells, and for points
VALUED = 4  # outcomes between valuations of the points
VARIED = 0.25  # share of the draws of points that are variations
TABLE = 2**17  # most elements of the temporary arrays when densities are computed
FEWEST_VISITS = 3  # an arm with fewer outcomes gets the value of the best arm


class PlaceWeights:
    """Computes the probabilities of places (arms or cells) from their estimated gains.

    Keeps the record, the largest significant gain so far, with which present gains are compared.
    """

    def __init__(self, memory: float) -> None:
        self.memory = memory  # outcomes over which the record is forgotten
        self.record = 0.0  # squared
        self.share = 1.0
        self.gain = 0.0

    def weigh(
        self, known: Gains, value: np.ndarray, level: np.ndarray, volume: np.ndarray, outcomes: int
    ) -> np.ndarray:
        """Return float64[n], summing to 1 (see `Palaestra`). The record decays by the ``outcomes`` since the last
        call."""
        best = float((known.gain**2).max(initial=0.0))
        record = self.record * math.exp(-2 * outcomes / self.memory)
        self.record = max(record, float((known.proven**2).max(initial=0.0)))
        self.share = best / (best + EXHAUSTED * self.record) if self.record > 0 else 1.0
        self.gain = math.sqrt(best)
        room = _normalise(volume * np.maximum(1 - level, 0.0), volume)
        focus = _normalise(volume * value * np.maximum(1 - level, 0.0), room)
        return self.share * focus + (1 - self.share) * room


def _normalise(weights: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    total = weights.sum()
    return weights / total if total > 0 else otherwise / otherwise.sum()


class _CellPlaces:
    """Places of a cube: the last ``window`` outcomes, cut anew into cells at every fit."""

    def __init__(self, dimension: int, window: int, scales: np.ndarray):
        self.points, self.returns = np.zeros((window, dimension)), np.zeros(window)
        self.mixed = np.zeros(window)  # 1 if the returns of an outcome's group differ
        self.scales, self.count = scales, 0
        self.matters = np.ones(dimension)  # how far each axis is cut
        self._set_cells(np.zeros((0, dimension)), np.zeros((0, dimension)), np.zeros(0))

    def add(self, records: Sequence[Sequence[float]], returns: Sequence[float], mixed: Sequence[bool]) -> None:
        at = np.arange(self.count, self.count + len(returns)) % len(self.returns)
        # If the batch is longer than the window, later outcomes overwrite earlier ones.
        self.points[at], self.returns[at], self.mixed[at] = records, returns, mixed
        self.count += len(returns)

    def fit(self, weights: PlaceWeights, outcomes: int, margin: float) -> None:
        seen, at = min(self.count, len(self.returns)), self.count % len(self.returns)
        oldest_first = np.arange(seen) if seen < len(self.returns) else np.roll(np.arange(seen), -at)
        points, returns, mixed = self.points[oldest_first], self.returns[oldest_first], self.mixed[oldest_first]
        cells = cut_cells(points, returns)
        n = len(cells.low)
        found = fit_gains(sum_moments(ages_within(cells.index, n), returns, cells.index, n, self.scales))
        # One imagined mixed group keeps a cell of few outcomes from a share of 0.
        share = (np.bincount(cells.index, mixed, n) + 1) / (np.bincount(cells.index, minlength=n) + 1)
        chances = weights.weigh(found, found.value, found.level, cells.volume * share**2, outcomes)
        self.matters = 1 - (cells.high - cells.low).mean(0)
        widening = margin * (cells.high - cells.low)
        self._set_cells(np.maximum(cells.low - widening, 0.0), np.minimum(cells.high + widening, 1.0), chances)

    def _set_cells(self, low: np.ndarray, high: np.ndarray, chances: np.ndarray) -> None:
        self.low, self.high, self.chances = low, high, chances
        self._upto = chances.cumsum()[:-1]
        self._heights = chances / (high - low).prod(1)

    def draw(self, k: int, rng: np.random.Generator) -> np.ndarray:
        cell = self._upto.searchsorted(rng.random(k), side="right")
        low = self.low[cell]
        return low + (self.high[cell] - low) * rng.random(low.shape)

    def density(self, points: np.ndarray) -> np.ndarray:
        # In parts, so that a large batch does not make a table of axes x points x cells.
        most, low, high = max(1, TABLE // self.low.size), self.low.T[:, None], self.high.T[:, None]
        parts = (points[i : i + most].T[:, :, None] for i in range(0, max(len(points), 1), most))
        return np.concatenate([((low <= x) & (x <= high)).all(0) @ self._heights for x in parts])

    def save(self) -> dict[str, Any]:
        n = min(self.count, len(self.returns))
        arrays = {"points": self.points[:n], "returns": self.returns[:n], "low": self.low, "high": self.high}
        arrays["mixed"] = self.mixed[:n]
        arrays["matters"] = self.matters
        lists = {name: array.tolist() for name, array in {**arrays, "chances": self.chances}.items()}
        return {"count": self.count, **lists}

    def restore(self, saved: Mapping[str, Any]) -> None:
        count = int(saved["count"])
        n, d = min(count, len(self.returns)), self.points.shape[1]
        points, returns = _array(saved["points"], n, d), _array(saved["returns"], n)
        chances = np.array(saved["chances"], dtype=np.float64)
        low, high = (_array(saved[name], len(chances), d) for name in ("low", "high"))
        self.matters = _array(saved["matters"], d)
        self.points[:n], self.returns[:n], self.count = points, returns, count
        self.mixed[:n] = _array(saved["mixed"], n)
        self._set_cells(low, high, chances)


class _ArmPlaces:
    """Places that are arms: running sums for each arm."""

    def __init__(self, n: int, scales: np.ndarray):
        self.sums, self.visits = np.zeros((len(scales), 6, n)), np.zeros(n, dtype=np.int64)
        self.keep = np.exp(-1 / scales)
        self.chances = np.full(n, 1 / n)

    def add(self, records: Sequence[int], returns: Sequence[float]) -> None:
        for arm, ret in zip(records, returns):
            add_return(self.sums, arm, ret, self.keep)
            self.visits[arm] += 1

    def fit(self, weights: PlaceWeights, outcomes: int, margin: float) -> None:
        tried = np.flatnonzero(self.visits >= FEWEST_VISITS)
        known = fit_gains(self.sums[:, :, tried])
        best = known.value.max(initial=0.0)
        value, level = np.full(len(self.visits), best if best > 0 else 1.0), np.zeros(len(self.visits))
        value[tried], level[tried] = known.value, known.level
        self.chances = weights.weigh(known, value, level, np.ones(len(value)), outcomes)

    def save(self) -> dict[str, Any]:
        tried = np.flatnonzero(self.visits)
        arrays = {"tried": tried, "visits": self.visits[tried], "sums": self.sums[:, :, tried]}
        return {name: array.tolist() for name, array in {**arrays, "chances": self.chances}.items()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        tried = np.array(saved["tried"], dtype=np.int64)
        visits = _array(saved["visits"], len(tried))
        sums = _array(saved["sums"], *self.sums.shape[:2], len(tried))
        chances = _array(saved["chances"], len(self.chances))
        self.sums, self.visits = np.zeros_like(self.sums), np.zeros_like(self.visits)
        self.sums[:, :, tried], self.visits[tried], self.chances = sums, visits, chances


def _array(values: Any, *shape: int) -> np.ndarray:
    array = np.array(values, dtype=np.float64).reshape(shape if 0 in shape else np.shape(values))
    if array.shape != shape:
        raise ValueError(f"an array of shape {array.shape}, not {shape}")
    return array


def _check_scales(name: str, value: Any) -> list[float]:
    scales = list(check_numbers(name, value))
    if not scales or scales[0] < 1 or any(b <= a for a, b in itertools.pairwise(scales)):
        raise InputError(f"{name}={list(value)} must be one or more ascending numbers of at least 1.")
    return scales


@register("palaestra")
class Palaestra(Teacher):
    """Practises where practice changes the return by more than chance explains.

    One outcome is one observation, the mean return r of its group. The teacher divides the tasks into places and keeps
    the returns of each place:

    * Every arm of a Discrete, `FiniteTasks` or `discretise` is a place.
    * A cube is cut into cells at each fit, by a regression tree on the last ``window`` outcomes: cell boundaries fall
      where the return changes with the task, and irrelevant axes are not cut (`cut_cells`). In addition, single tasks
      are kept, repeated and varied (`Points`). If returns are noisy, cells are more informative, as they pool many
      tasks; otherwise single points are better. The share of draws from points therefore follows their reliability
      (`Points.reliability`).

    For each place, with returns r_a at age a (0 the newest, counted in outcomes of that place), lines are fitted with
    weights w_a = exp(-a / h) at every scale h. The slope at scale h is the gain g_h per outcome, with standard error
    e_h, e_h^2 = sigma^2 / (4 sum_a w_a (a - mean)^2), sigma^2 the variance of the residuals. The teacher uses the
    longest scale whose interval g_h +- 5 e_h still meets the intervals of all shorter scales: long memory for steady or
    noisy returns, short memory after a change. The value of a place is its expected squared gain,

        v = g^2 + e^2,

    so that an uncertain place is tried until its gain is certain, a place of coin flips loses value with more trials, a
    mastered place loses value because its return stays constant, and a forgotten place regains it. Arms with fewer than
    3 outcomes have the highest v.

    When all places change much more slowly than the fastest did before, v is mostly noise. With G the record, the
    largest significant gain |g| - 4 e so far (decaying over the run), and g_max the largest present gain, places are
    drawn by

        P(place) = q V v (1 - r) / sum(V v (1 - r)) + (1 - q) V (1 - r) / sum(V (1 - r)),
        q = g_max^2 / (g_max^2 + (G / 20)^2),

    with V the volume of a cell times the squared share of recent groups whose returns differ, as groups of equal
    returns teach nothing (single returns count as different); V = 1 for an arm; and r the recent mean return. Solved
    places are avoided, and with little change anywhere, places are drawn by the remaining gain 1 - r. In a cube the
    task is uniform over the cell widened by ``margin`` of its size on every side, so that the neighbourhood of progress
    is tried. A share ``floor`` of all proposals is uniform over the space.

    Memory does not grow: ``window`` outcomes and 32 points for a cube, six numbers per scale for an arm.

    In a cube, proposals from cells and the floor have a density in ``prob``; repeats and variations of points have NaN.
    """

    kind = "any"
    when = (
        "Any space, when you do not know its structure, returns are noisy, and tasks may have to be learned one after "
        "the other. It needs nothing but returns."
    )

    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box, Discrete, `FiniteTasks` or `discretise`.")
    floor: float = option(default=0.1, low=0, high=1, says="share of proposals that are uniform over the space.")
    window: int | None = option(
        default=None,
        low=2 * LEAST,
        says="number of latest outcomes from which the cells of a cube are made; None gives 5 % of the run (see "
        "`expect`), at least 100.",
    )
    refit: int | None = option(
        default=None,
        low=1,
        says="outcomes between fits of a cube's cells; None gives 0.375 % of the run, at least 8. Arms have no "
        "cells: they are fitted every 8 outcomes (or ``refit`` if that is less), or every n / 16 outcomes for "
        "n arms if that is more.",
    )
    margin: float = option(
        default=0.25, low=0, says="widening of a drawn cell on every side, as a share of the cell's sides."
    )
    scales: Sequence[float] = option(
        default=(8, 32, 128, 512),
        check=_check_scales,
        says="time scales of the weights of a place's returns, in outcomes of the place, ascending.",
    )

    def setup(self) -> None:
        listed = isinstance(self.space, Arms | gym.spaces.Discrete)
        self.domain = as_arms(self.space) if listed else as_cube(self.space)
        self.begin(self.domain.signature)
        self._expect(OUTCOMES)

    def _expect(self, outcomes: int) -> None:
        self._outcomes = outcomes
        self._place_weights = PlaceWeights(float(outcomes))
        self._waiting = 0  # outcomes since the last fit
        refit = max(SOONEST, round(REFIT * outcomes)) if self.refit is None else self.refit
        if isinstance(self.domain, Arms):
            self._places = _ArmPlaces(self.domain.n, np.array(self.scales))
            self._due = max(min(8, refit), self.domain.n // 16)
        else:
            window = max(SHORTEST, round(WINDOW * outcomes)) if self.window is None else self.window
            self._places = _CellPlaces(self.domain.dimension, window, np.array(self.scales))
            self._points = Points(self.domain.dimension)
            self._due, self._new = refit, 0  # and outcomes since the last valuation of the points

    def distribution(self) -> np.ndarray | None:
        if not isinstance(self._places, _ArmPlaces):
            return None
        return (1 - self.floor) * self._places.chances + self.floor / len(self._places.chances)

    def _draw(self, k: int) -> list[Draw]:
        uniform = self._rng.random(k) < self.floor
        if isinstance(self.domain, Arms):
            return self._draw_arms(self.domain, uniform)
        return self._draw_points(self.domain, uniform)

    def _draw_arms(self, arms: Arms, uniform: np.ndarray) -> list[Draw]:
        rng, chances, k = self._rng, self._places.chances, len(uniform)
        drawn = np.where(uniform, rng.integers(arms.n, size=k), pick(chances, k, rng))
        prob = (1 - self.floor) * chances[drawn] + self.floor / arms.n
        return [
            Draw(arm, arms.task(arm, rng), p, "explore" if free else "exploit")
            for arm, p, free in zip(drawn.tolist(), prob.tolist(), uniform.tolist())
        ]

    def _draw_points(self, cube: Cube, uniform: np.ndarray) -> list[Draw]:
        """Draw a task for each entry of ``uniform``: uniformly where it is True, otherwise from a point or a cell."""
        k, rng, cells, kept = len(uniform), self._rng, self._places, self._points
        assert isinstance(cells, _CellPlaces)
        # Before any gain is proven, the points may be mere noise: draw more from cells.
        trust = kept.reliability * (1.0 if kept.gain_proven else 0.5)
        share = RESERVE + (1 - 2 * RESERVE) * trust if kept.size else 0.0
        from_point = ~uniform & (rng.random(k) < share)
        points, sources = rng.random((k, cube.dimension)), [(-1, False)] * k  # id of the origin, True for a variation
        if from_point.any():
            points[from_point], ids, varied = kept.draw(int(from_point.sum()), VARIED, cells.matters, rng)
            for place, *source in zip(np.flatnonzero(from_point).tolist(), ids.tolist(), varied.tolist()):
                sources[place] = (source[0], source[1])
        if len(cells.chances):
            from_cell = ~uniform & ~from_point
            points[from_cell] = cells.draw(int(from_cell.sum()), rng)
            density = cells.density(points)
            origins = np.where(uniform, "explore", "exploit")
        else:
            density = np.ones(k)
            origins = np.where(from_point, "exploit", "warmup")
        density = np.where(from_point, np.nan, self.floor + (1 - self.floor) * (1 - share) * density)
        tasks = cube.decode_all(points)
        if any(cube.sizes):  # on an axis of finitely many values, use the coordinate of the value
            points = np.array([cube.encode(task) for task in tasks])
        return [
            Draw([point, *source], task, p, origin)
            for point, source, task, p, origin in zip(
                points.tolist(), sources, tasks, density.tolist(), origins.tolist(), strict=True
            )
        ]

    def _record(self, task: Any) -> Any:
        if isinstance(self.domain, Arms):
            return self.domain.arm(task)
        return [self.domain.encode(task).tolist(), -1, False]

    def _learn(self, evidence: list[Evidence]) -> None:
        returns = [item.mean for item in evidence]
        if isinstance(self._places, _ArmPlaces):
            self._places.add([item.record for item in evidence], returns)
        else:
            mixed = [len(item.returns) == 1 or bool(np.ptp(item.returns)) for item in evidence]
            self._places.add([item.record[0] for item in evidence], returns, mixed)
            for item, ret, differing in zip(evidence, returns, mixed):
                point, origin, varied = item.record
                self._points.add(point, ret, origin, varied, differing)
            self._new += len(evidence)
            if self._new >= VALUED:
                self._points.fit()
                self._new = 0
        self._waiting += len(evidence)
        if self._waiting >= self._due:
            self._places.fit(self._place_weights, self._waiting, self.margin)
            self._waiting = 0

    def _metrics(self) -> dict[str, float]:
        chances = self._places.chances
        metrics = {"places": float(len(chances)), "gain": self._place_weights.gain, "focus": self._place_weights.share}
        if not isinstance(self.domain, Arms):
            metrics |= {"points": float(self._points.size), "reliability": self._points.reliability}
        return {**metrics, "effective_places": effective_number(chances) if len(chances) else 0.0}

    def _save(self) -> dict[str, Any]:
        weights = self._place_weights
        points = {} if isinstance(self.domain, Arms) else {"points": self._points.save(), "new": self._new}
        return {
            "outcomes": self._outcomes,
            "places": self._places.save(),
            "focus": [weights.record, weights.share, weights.gain],
            "waiting": self._waiting,
            **points,
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        record, rate, gain = (float(value) for value in own["focus"])
        waiting = int(own["waiting"])
        self._expect(int(own["outcomes"]))
        self._places.restore(own["places"])
        if not isinstance(self.domain, Arms):
            self._points, self._new = Points.restore(own["points"], self.domain.dimension), int(own["new"])
        weights = self._place_weights
        weights.record, weights.share, weights.gain = record, rate, gain
        self._waiting = waiting
