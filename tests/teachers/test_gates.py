"""Gates after a group has been played."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome
from palaestra.teachers.gates import AdvantageRange, Gates, PassRateBand


def group(*returns, successes=None):
    return Outcome(0, 0, returns, successes)


@pytest.mark.parametrize(
    ("successes", "admitted"), [(0, False), (1, False), (2, True), (7, True), (8, False), (10, False)]
)
def test_a_band_is_open_on_both_sides(successes, admitted):
    outcome = group(*[0.3] * 10, successes=[i < successes for i in range(10)])
    assert PassRateBand(0.1, 0.8)(outcome) is admitted


def test_the_whole_band_is_dynamic_sampling():
    verdicts = [PassRateBand()(group(*[1.0] * k, *[0.0] * (4 - k))) for k in range(5)]
    assert verdicts == [False, True, True, True, False]


def test_groups_without_variance_have_no_advantage():
    assert not AdvantageRange()(group(0.1, 0.1, 0.1))
    assert AdvantageRange()(group(0.1, 0.2))
    # one success in four: advantages 1.732 and -0.577
    assert not AdvantageRange(-2.0, 2.0)(group(1.0, 0.0, 0.0, 0.0))
    assert AdvantageRange(-2.0, 1.7)(group(1.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize("value", [-200.0, 1.5])
def test_returns_that_are_no_rates_are_refused_where_successes_are_unknown(value):
    with pytest.raises(InputError, match=f"a return of {value:g} is no success rate"):
        PassRateBand()(group(0.5, value))
    assert PassRateBand()(group(0.5, value, successes=[True, False]))


def test_nothing_valid_is_nothing_to_train_on():
    assert not PassRateBand()(group())
    assert not AdvantageRange()(group())


def test_every_gate_is_asked_about_every_outcome():
    gates = Gates({"band": PassRateBand(0.4, 0.6), "spread": AdvantageRange()})
    assert [gates(group(*returns)) for returns in ([0, 1], [1, 1], [0, 0], [1, 1, 1, 0])] == [True, False, False, False]
    assert gates.metrics() == {"seen": 4, "band/refused": 0.75, "spread/refused": 0.5}
    other = Gates({"band": PassRateBand(), "spread": AdvantageRange()})
    other.load_state_dict(gates.state_dict())
    assert other.metrics() == gates.metrics()
    with pytest.raises(InputError, match="band"):
        Gates({"other": PassRateBand()}).load_state_dict(gates.state_dict())


@pytest.mark.parametrize("band", [(0.5, 0.5), (-0.1, 1.0), (0.0, 1.1), (0.8, 0.2)])
def test_an_empty_band_is_refused(band):
    with pytest.raises(InputError, match="band"):
        PassRateBand(*band)
