"""Covar-GMM: sample where the return rises during practice (Moulin-Frier, Nguyen and Oudeyer 2013, Frontiers in
Psychology 4:1006, as in the code of Portelas et al., arXiv 1910.07224).

Mixtures are fitted to rows (task, time, return), where time is the task's place in its batch. The utility of a
component is its covariance of time and return, which is large where returns rose within the batch.
"""

from __future__ import annotations

import numpy as np

from ...checks import option
from ..registration import register
from .gaussian_mixture import GaussianMixture
from .mixture_teacher import MixtureTeacher


@register("covar-gmm")
class CovarGMM(MixtureTeacher):
    """Gaussian mixture model over task, time and return, sampled by the covariance of time and return.

    The covariance is not a slope: a component that extends further in time has a larger covariance. With returns of 0
    and 1 the covariance is mostly noise, and so is the choice. The defaults of `fit_rate`, `random_share`, `components`
    and `criterion` are those of the authors' code.
    """

    paper = "10.3389/fpsyg.2013.01006"
    when = (
        "A continuous space with returns of many values. With returns of 0 and 1 its covariance is mostly noise: take "
        "`alp-gmm`."
    )
    columns = 2
    absolute: bool = option(
        default=False, says="count falling returns (forgetting) like rising ones; by default they count as 0."
    )

    def _measure(self, points: np.ndarray, returns: np.ndarray) -> np.ndarray:
        place = (self._count + np.arange(len(points))) % self.period
        return np.column_stack([place / self.period, returns])

    def _utility(self, mixture: GaussianMixture) -> np.ndarray:
        covariance = mixture.covariances[:, -2, -1]
        return np.abs(covariance) if self.absolute else covariance.clip(0.0)

    def _metrics(self) -> dict[str, float]:
        if self._mixture is None:
            return {}
        return {"progress": float(self._mixture.weights @ self._utility(self._mixture)), **super()._metrics()}
