"""Rate at which returns change with practice in each place, and the standard error of that rate.

The returns of a place, newest first, have ages 0, 1, 2 ... in outcomes of that place. At several scales h a line is
fitted to them with weights exp(-age / h); its slope is the gain per outcome. Long scales are precise but respond late,
short scales respond early but are imprecise: each place uses the longest scale that no shorter one contradicts (Lepski
1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AGREEMENT = 5.0  # standard errors within which slopes at two scales count as equal
CERTAIN = 4.0  # standard errors subtracted from a gain's absolute value to give its significant part
FEWEST = 5.0  # sum of weights at the shortest scale below which no gain is significant
NOTHING = 1e-16  # squared gains below this are rounding errors
# The sums of `sum_moments` (w, w a, w r, w a^2, w a r, w r^2) when each age a becomes a + 1, but for the factor of w.
OLDER = np.eye(6)
OLDER[0, 1] = OLDER[0, 3] = OLDER[2, 4] = 1.0
OLDER[1, 3] = 2.0


@dataclass(frozen=True, eq=False)
class Gains:
    """Estimated gains of n places.

    Attributes:
        gain: float64[n], change of the return per outcome of the place; negative for falling returns.
        variance: float64[n], variance of the gain's error.
        level: float64[n], recent mean return.
        proven: float64[n], significant part of the gain's absolute value, mostly 0.
    """

    gain: np.ndarray
    variance: np.ndarray
    level: np.ndarray
    proven: np.ndarray

    @property
    def value(self) -> np.ndarray:
        """float64[n], the expected squared gain, gain^2 + variance. For a constant place it tends to 0."""
        value = self.gain**2 + self.variance
        return np.where(value < NOTHING, 0.0, value)


def sum_moments(ages: np.ndarray, returns: np.ndarray, places: np.ndarray, n: int, scales: np.ndarray) -> np.ndarray:
    """Compute float64[scales, 6, n], sums of w, w a, w r, w a^2, w a r, w r^2 with w = exp(-a / scale)."""
    terms = [np.ones_like(returns), ages, returns, ages * ages, ages * returns, returns * returns]
    decay = [np.exp(-ages / scale) for scale in scales]
    return np.array([[np.bincount(places, w * term, n) for term in terms] for w in decay])


def add_return(sums: np.ndarray, place: int, ret: float, keep: np.ndarray) -> None:
    """Add one return of age 0 to the sums of `sum_moments`, in place; all earlier returns age by one.

    Args:
        sums: float64[scales, 6, n].
        place: index of the place.
        ret: the return, in [0, 1].
        keep: float64[scales], exp(-1 / scale).
    """
    sums[:, :, place] = (sums[:, :, place] @ OLDER) * keep[:, None] + (1.0, 0.0, ret, 0.0, 0.0, ret * ret)


def ages_within(places: np.ndarray, n: int) -> np.ndarray:
    """Return float64[m], the number of later entries of ``places`` (oldest first) with the same place."""
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places, minlength=n)
    ages = np.empty(len(places))
    ages[order] = np.repeat(counts.cumsum(), counts) - 1 - np.arange(len(places))
    return ages


def fit_gains(sums: np.ndarray) -> Gains:
    """Fit lines to the sums of `sum_moments` and choose a scale for each place.

    The variance of the residuals is (residual sum + pooled) / (weight - 1), where pooled is the mean squared residual
    over all places at the shortest scale, which is least affected by change: one imagined outcome of ordinary noise
    keeps a place with few equal returns uncertain. The slope's error has variance sigma^2 / (4 sum w (a - mean)^2),
    exact for exponential weights on a history much longer than the scale.
    """
    w, a, r, aa, ar, rr = np.moveaxis(sums, 1, 0)
    weight = np.maximum(w, 1e-9)
    spread = np.maximum(aa - a * a / weight, 0.0)
    known = spread > 1e-9
    spread = np.where(known, spread, 1e-9)
    slope = np.where(known, (a * r / weight - ar) / spread, 0.0)  # ages run backwards
    residual = np.maximum(rr - r * r / weight - slope * slope * spread, 0.0)
    pooled = residual[0].sum() / max(w[0].sum(), 1.0)
    variance = (residual + pooled) / np.maximum(w - 1, 1.0) / (4 * spread)
    error = np.sqrt(variance)
    # A scale is in agreement while its interval meets the intersection of all shorter ones.
    lower = np.maximum.accumulate(slope - AGREEMENT * error)
    upper = np.minimum.accumulate(slope + AGREEMENT * error)
    agree = np.minimum.accumulate(lower <= upper)
    chosen = agree.sum(0) - 1
    place = np.arange(sums.shape[2])
    gain, error = slope[chosen, place], error[chosen, place]
    proven = np.where(w[0] < FEWEST, 0.0, np.maximum(np.abs(gain) - CERTAIN * error, 0.0))
    medium = min(1, len(sums) - 1)
    return Gains(gain, error**2, r[medium] / weight[medium], proven)
