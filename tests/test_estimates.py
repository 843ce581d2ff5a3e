"""Student's interval, and interquartile means."""

from __future__ import annotations

import math

import pytest
import scipy.stats
from palaestra.estimates import estimate_mean, interquartile_mean


def test_the_interval_is_students():
    e = estimate_mean([1.0, 2.0, 3.0])
    assert (e.mean, e.n) == (2.0, 3)
    # With 2 degrees of freedom the quantile of p is (2p - 1) / √(2p(1 - p)); the standard deviation is 1.
    assert e.high - e.mean == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025) / math.sqrt(3), rel=1e-12)
    assert math.isnan(estimate_mean([1.0]).low)


def test_interquartile_means_are_those_of_the_field():
    scores = [9.0, 0.0, 1.0, 2.0, 100.0, 3.0, 4.0, 5.0, 7.0, 6.0]
    assert interquartile_mean(scores) == pytest.approx(4.5)  # of 2 to 7: floor(10 / 4) go from either end
    assert interquartile_mean(scores) == pytest.approx(scipy.stats.trim_mean(scores, 0.25))
