"""CurrOT: a cloud of tasks that optimal transport carries towards the target, no further than the student can follow
(Klink et al., ICML 2022; journal version arXiv 2309.14091).

Each particle is one task. At every update, particles are matched to samples of the target so that the total squared
distance is least. Then each particle moves within a small ball towards the sample, as far as a regression of returns
predicts enough performance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import proportional
from ..saved_state import Kept
from .assignment import assign
from .box_teacher import BoxTeacher
from .recent import Recent

SEARCH = 0.25  # std of the search around the best tasks so far where performance is lowest; the authors' code
LEAST_SEARCH = 0.005  # the same where performance is sufficient, in units of the radius


@register("currot")
class CurrOT(BoxTeacher):
    """Particles of tasks moved towards a target by constrained optimal transport.

    Until the median return of the best tasks so far reaches `performance`, particles search around those tasks. From
    then on a buffer keeps the successful tasks that match the target best, and particles whose predicted return is too
    low restart from buffered tasks. Matching is exact; the authors' code uses sliced projections for the particles.
    """

    paper = "2309.14091"
    when = (
        "One target distribution of tasks is what the student must master, and the way there is not straight: tasks "
        "move towards it as far as returns allow."
    )
    kept = (
        Kept("cloud", key="particles"),
        "_failures",
        Kept("_batch", list[list[float]]),
        Kept(("_reached", "_updated", "_worst"), key="flags"),
    )
    performance: float = option(
        default=0.5,
        low=0,
        high=1,
        says="return, mapped to [0, 1], that a task must reach (ours: the papers give raw returns).",
    )
    target: Sequence[Sequence[float]] | None = option(
        default=None,
        check=lambda name, value: np.array(value, dtype=np.float64).tolist(),
        says="points of the unit cube that form the target, float[m, d]; None is uniform over the cube, drawn anew "
        "at each update.",
    )
    particles: int = option(
        default=50, low=2, says="number of tasks in the cloud, and in the buffer of successes (ours)."
    )
    radius: float = option(
        default=0.1,
        above=0,
        says="largest move of a particle, as a share of the axes. The paper's point-mass task has 0.5 on axes 8 "
        "and 7.5 long.",
    )
    update_rate: int = option(default=20, low=1, says="outcomes between updates (20 in the paper).")
    candidates: int = option(default=100, low=1, says="moves tried for each particle (100 in the authors' code).")

    def setup(self) -> None:
        super().setup()
        d = self.cube.dimension
        points = None if self.target is None else np.array(self.target)
        if points is not None and (
            points.ndim != 2 or points.shape[1] != d or not ((points >= 0) & (points <= 1)).all()
        ):
            raise InputError(f"target has shape {points.shape}; it must be points [m, {d}] with coordinates in [0, 1].")
        self._target = points
        self.cloud = self._rng.random((self.particles, d))
        self._buffer = np.empty((0, d + 1))  # tasks with their returns
        self._failures = Recent(self.particles, d + 1)
        self._batch: list[list[float]] = []
        self._reached = False  # True once the median return of the buffer has reached `performance`
        self._updated = False
        self._worst = 1.0  # lowest return of the first batch, the zero of the search

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        chosen = self._rng.integers(self.particles, size=k)
        return self.cloud[chosen].copy(), np.nan, "exploit" if self._updated else "warmup"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            self._batch.append([*item.record, float(item.returns.mean())])
            if len(self._batch) == self.update_rate:
                self._update(np.array(self._batch))
                self._batch = []

    def _goals(self) -> np.ndarray:
        d = self.cube.dimension
        if self._target is None:
            return self._rng.random((self.particles, d))
        # Repeat the whole target equally often, and draw the remainder at random.
        whole, rest = divmod(self.particles, len(self._target))
        chosen = np.concatenate(
            [np.tile(np.arange(len(self._target)), whole), self._rng.permutation(len(self._target))]
        )
        return self._target[chosen[: whole * len(self._target) + rest]]

    def _update(self, batch: np.ndarray) -> None:
        if not self._updated:
            self._worst = float(batch[:, -1].min())
        self._updated = True
        goals = self._goals()
        if self._reached:
            for row in batch[batch[:, -1] < self.performance]:
                self._failures.add(row[:-1], row[-1])
            self._keep_successes(batch[batch[:, -1] >= self.performance], goals)
        else:
            self._keep_best(batch)
        seen = np.concatenate([self._failures.rows, self._buffer])

        def predict(points: np.ndarray) -> np.ndarray:
            return kernel_mean(points, seen[:, :-1], seen[:, -1], 0.3 * self.radius)

        origin, able = self._origins(predict)
        goals = goals[assign(_squares(origin, goals))]
        self.cloud = self._move(origin, goals, able, predict)

    def _keep_best(self, batch: np.ndarray) -> None:
        """Update a buffer whose median is below `performance`: tasks not below it replace the worst ones."""
        buffer = self._buffer
        if len(buffer):
            middle = len(buffer) // 2
            batch = batch[batch[:, -1] >= buffer[middle, -1]]
            buffer = buffer[min(middle + 1, len(batch)) :]
        buffer = np.concatenate([batch, buffer])
        self._buffer = buffer[np.argsort(buffer[:, -1], kind="stable")][-self.particles :]
        self._reached = bool(self._buffer[len(self._buffer) // 2, -1] >= self.performance)

    def _keep_successes(self, successes: np.ndarray, goals: np.ndarray) -> None:
        """Update a buffer whose median has reached `performance`: successes replace failures. If there are too many
        rows, keep the tasks that match the target best."""
        if not len(successes):
            return
        order = np.argsort(self._buffer[:, -1], kind="stable")
        failed = int((self._buffer[:, -1] < self.performance).sum())
        kept = self._buffer[order[min(failed, len(successes)) :]]
        pool = np.concatenate([successes, kept])
        if len(pool) > self.particles:
            pool = pool[assign(_squares(goals, pool[:, :-1]))]
        self._buffer = pool

    def _origins(self, predict: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[particles, d], the points from which the particles move, and bool[particles], True where the
        predicted return reaches `performance`."""
        origin = self.cloud.copy()
        able = predict(origin) >= self.performance
        lost = np.flatnonzero(~able)
        if len(lost):
            seeds = self._seeds()
            good = predict(seeds) >= self.performance
            if good.sum() >= len(lost):
                seeds, good = seeds[good], good[good]
            chosen = assign(_squares(origin[lost], seeds))
            origin[lost], able[lost] = seeds[chosen], good[chosen]
        return origin, able

    def _seeds(self) -> np.ndarray:
        """Draw float64[particles, d], tasks around buffered tasks, at distances that grow as their returns fall."""
        tasks, returns = self._buffer[:, :-1], self._buffer[:, -1]
        lack = np.clip(self.performance - returns, 0.0, None) / max(self.performance - self._worst, 1e-9)
        spread = LEAST_SEARCH * self.radius + SEARCH * np.minimum(lack, 1.0)
        if self._reached:
            extra = self._rng.integers(len(tasks), size=self.particles - len(tasks))
            chosen = np.concatenate([np.arange(len(tasks)), extra])
        else:
            half = len(tasks) // 2
            gain = returns[half:] - returns[max(half - 1, 0)]
            chosen = half + self._rng.choice(len(gain), self.particles, p=proportional(gain))
        noise = spread[chosen, None] * self._rng.standard_normal((self.particles, tasks.shape[1]))
        return (tasks[chosen] + noise).clip(0.0, 1.0)

    def _move(self, origin: np.ndarray, goals: np.ndarray, able: np.ndarray, predict: Any) -> np.ndarray:
        d, way = self.cube.dimension, goals - origin
        distance = np.sqrt(np.square(way).sum(1))
        noise = self._rng.standard_normal((self.candidates, d))
        noise /= np.sqrt(np.square(noise).sum(1, keepdims=True))
        noise *= self._rng.random((self.candidates, 1)) ** (1 / d)  # uniform in the ball
        towards = way / np.maximum(distance, 1e-12)[:, None]
        along = towards @ noise.T
        # Moves away from the goal are mirrored, except for particles that start where performance is too low.
        back = np.where((along < 0) & able[:, None], along, 0.0)
        moves = noise[None] - 2 * back[:, :, None] * towards[:, None]
        reach = np.minimum(self.radius, distance)
        reach = np.where(able, reach, self.radius)
        options = (origin[:, None] + reach[:, None, None] * moves).clip(0.0, 1.0)
        options = np.concatenate([options, origin[:, None]], axis=1)  # staying is a candidate too
        predicted = predict(options.reshape(-1, d)).reshape(len(origin), -1)
        away = np.square(options - goals[:, None]).sum(2)
        allowed = predicted >= self.performance
        away[~allowed] = np.inf
        best = np.where(allowed.any(1), away.argmin(1), predicted.argmax(1))
        return options[np.arange(len(origin)), best]

    def _metrics(self) -> dict[str, float]:
        successes = self._buffer[:, -1] >= self.performance
        return {"successes": float(successes.sum()), "spread": float(self.cloud.std(0).mean())}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "buffer": self._buffer.tolist()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        buffer = np.array(own["buffer"], dtype=np.float64).reshape(-1, self.cube.dimension + 1)
        if len(buffer) > self.particles:
            raise ValueError(f"{len(buffer)} successes where at most {self.particles} are kept")
        self._buffer = buffer


def kernel_mean(points: np.ndarray, tasks: np.ndarray, returns: np.ndarray, width: float) -> np.ndarray:
    """Return float64[m], the Nadaraya-Watson mean (Gaussian kernel) of ``returns`` [n] at each of ``points``."""
    exponent = _squares(points, tasks) / (-2 * width**2)
    exponent -= exponent.max(1, keepdims=True)  # far from everything the nearest decides
    weights = np.exp(exponent, out=exponent)
    return weights @ returns / weights.sum(1)


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return float64[n, m], the squared distances between rows of ``a`` and ``b``."""
    return np.maximum(np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2 * a @ b.T, 0.0)
