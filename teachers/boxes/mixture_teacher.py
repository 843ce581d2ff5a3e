"""Base of teachers that fit Gaussian mixtures to the last tasks and sample from components of high utility.

Every `fit_rate` tasks, mixtures with several numbers of components are fitted to the last `fit_rate` rows (task,
measurements); the mixture with the lowest information criterion is kept. Tasks are drawn from its components in
proportion to a utility that the subclass computes per component.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ...checks import check_count, check_number, keyword_declared, option
from ...errors import InputError
from ..protocol import OUTCOMES, Evidence
from ..sampling import effective_number, proportional
from .box_teacher import BoxTeacher
from .gaussian_mixture import GaussianMixture, fit


def check_tasks(name: str, value: Any, least: int = 2) -> float:
    """Check a number of tasks, at least ``least``, or a share of the run's tasks, in (0, 1), and return it."""
    return value if 0 < check_number(name, value) < 1 else check_count(name, value, least)


def _check_components(name: str, value: Any) -> list[int]:
    if counts := [check_count(name, k, 1) for k in value]:
        return counts
    raise InputError(f"{name}={list(value)} must be one or more numbers.")


@keyword_declared
class MixtureTeacher(BoxTeacher):
    """Base of teachers that draw from mixture components by utility; a subclass writes `_measure` and `_utility`.

    One outcome is one row, whatever the size of its group: the return is the group's mean. Tasks on integer or
    categorical axes are stored as the continuous points that were drawn for them.
    """

    columns: ClassVar[int]
    """Number of measurements per task; set by the subclass."""

    fit_rate: float = option(
        default=250,
        check=check_tasks,
        says="number of tasks between fits, and of rows in each fit. Below 1 it is a share of the run (see "
        "`expect`), with at least four tasks per component: 0.0125 gives 250 for a run of 20,000 tasks, and 40"
        " for 2,400.",
    )
    random_share: float = option(
        default=0.2, low=0, high=1, says="probability of a uniform task instead of one from the mixture."
    )
    components: Sequence[int] = option(
        default=tuple(range(2, 11)), check=_check_components, says="numbers of components tried."
    )
    criterion: Literal["aic", "bic", "aicc"] = option(
        default="aic", says="criterion that selects the mixture (see `GaussianMixture.criterion`)."
    )

    def setup(self) -> None:
        if max(self.components) > self.fit_rate >= 1:
            raise InputError(
                f"components={self.components} must be one or more numbers of at most fit_rate={self.fit_rate}."
            )
        super().setup()
        self._count = 0
        self._mixture: GaussianMixture | None = None
        self._sampler: GaussianMixture | None = None
        self._expect(OUTCOMES)

    def _expect(self, outcomes: int) -> None:
        self._outcomes = outcomes
        self.period = self._tasks(self.fit_rate, 4 * max(self.components))
        self._rows = np.zeros((self.period, self.cube.dimension + self.columns))  # row i is task i modulo period

    @property
    def _follows_run(self) -> bool:
        """True if an option that counts tasks is given as a share of the run."""
        return self.fit_rate < 1

    def _tasks(self, number: float, least: int) -> int:
        """Return a number of tasks; below 1, ``number`` is a share of the run, rounded to at least ``least`` tasks."""
        return max(least, round(number * self._outcomes)) if number < 1 else int(number)

    @property
    def mixture(self) -> GaussianMixture | None:
        """The mixture over (task, measurements) now in use; None before the first fit."""
        return self._mixture

    @property
    def sampler(self) -> GaussianMixture | None:
        """Mixture over the unit cube from which non-uniform tasks are drawn, before clipping; None before the first
        fit."""
        return self._sampler

    @abstractmethod
    def _measure(self, points: np.ndarray, returns: np.ndarray) -> np.ndarray:
        """Return float64[m, columns], the measurements of tasks at ``points`` [m, d] with ``returns`` [m].

        The tasks are in the order of their outcomes, after `self._count` earlier ones.
        """

    @abstractmethod
    def _utility(self, mixture: GaussianMixture) -> np.ndarray:
        """Return float64[k] >= 0, the utility of practising each component; all 0 makes the choice uniform."""

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        d = self.cube.dimension
        if self._sampler is None:
            return self._rng.random((k, d)), 1.0, "warmup"
        uniform = self._rng.random(k) < self.random_share
        points = self._rng.random((k, d))
        exploit = np.flatnonzero(~uniform)
        drawn = self._sampler.sample(len(exploit), self._rng)
        points[exploit] = inside = np.minimum(np.maximum(drawn, 0.0), 1.0)
        density = self.random_share + (1 - self.random_share) * np.exp(self._sampler.log_density(points))
        # The border carries a point mass, which no density describes.
        density[exploit[(inside != drawn).any(1)]] = np.nan
        return points, density, ["explore" if free else "exploit" for free in uniform.tolist()]

    def _learn(self, evidence: list[Evidence]) -> None:
        points = np.array([item.record for item in evidence], dtype=np.float64)
        returns = np.array([item.mean for item in evidence])
        while len(points):
            at = self._count % self.period
            rows = self._rows[at : at + len(points)]  # up to the next fit at most
            m, d = len(rows), points.shape[1]
            rows[:, :d], rows[:, d:] = points[:m], self._measure(points[:m], returns[:m])
            self._count += m
            if at + m == self.period:
                fitted = fit(self._rows, self.components, self._rng)
                self._set_mixture(min(fitted, key=lambda mixture: mixture.criterion(self._rows, self.criterion)))
            points, returns = points[m:], returns[m:]

    def _set_mixture(self, mixture: GaussianMixture) -> None:
        d = self.cube.dimension
        weights = proportional(self._utility(mixture))
        # Dropping the measured coordinates of a draw is drawing from the marginal over tasks.
        self._mixture = mixture
        self._sampler = GaussianMixture(weights, mixture.means[:, :d], mixture.covariances[:, :d, :d])

    def _metrics(self) -> dict[str, float]:
        if self._sampler is None:
            return {}
        weights = self._sampler.weights
        return {"components": float(len(weights)), "effective_components": effective_number(weights)}

    def _save(self) -> dict[str, Any]:
        mixture = self._mixture
        return {
            **({"outcomes": self._outcomes} if self._follows_run else {}),
            "count": self._count,
            "rows": self._rows.tolist(),
            "mixture": mixture and [a.tolist() for a in (mixture.weights, mixture.means, mixture.covariances)],
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        self._expect(int(own.get("outcomes", OUTCOMES)))
        rows = np.array(own["rows"], dtype=np.float64)
        if rows.shape != self._rows.shape:
            raise ValueError(f"rows of shape {rows.shape}")
        self._count, self._rows = int(own["count"]), rows
        self._mixture = self._sampler = None
        if own["mixture"] is not None:
            self._set_mixture(GaussianMixture(*(np.array(part, dtype=np.float64) for part in own["mixture"])))
