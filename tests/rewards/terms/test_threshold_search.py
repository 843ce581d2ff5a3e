"""The search for thresholds, on functions whose maximum is known."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.terms.threshold_search import reached, search_thresholds


def test_it_finds_the_maximum_of_a_paraboloid():
    found = search_thresholds(
        lambda t: 1 - (t["format"] - 0.7) ** 2 - 4 * (t["length"] + 0.2) ** 2, {"format": 0.0, "length": 0.0}
    )
    assert dict(found.thresholds) == pytest.approx({"format": 0.7, "length": -0.2}, abs=0.02)
    assert found.value == pytest.approx(1, abs=1e-3)
    assert len(found.tried) <= 50


def test_the_best_point_is_one_that_was_tried_and_none_was_better():
    found = search_thresholds(lambda t: -abs(t["a"] - 3), {"a": 0.0}, spread=1.0, evaluations=7)
    assert len(found.tried) <= 7
    assert found.value == max(value for _, value in found.tried)
    assert (found.thresholds, found.value) in found.tried


def test_a_proxy_point_is_reached_within_five_percent():
    assert reached({"a": 0.96, "b": -2.05}, {"a": 1.0, "b": -2.0})
    assert not reached({"a": 0.94, "b": -2.0}, {"a": 1.0, "b": -2.0})


@pytest.mark.parametrize(
    ("options", "words"),
    [({"start": {}}, "at least one threshold"), ({"start": {"a": 0.0}, "spread": 0.0}, "spread")],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        search_thresholds(lambda t: 0.0, **options)


def test_a_worth_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="what evaluate returned"):
        search_thresholds(lambda t: float("nan"), {"a": 0.0})
