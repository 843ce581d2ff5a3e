"""The statistics of an evaluation report, with numbers worked out by hand, and its two printed forms."""

from __future__ import annotations

import json
import math

import pytest
from palaestra.agents.evaluation import Bin, Estimate, Report, mean_interval, wilson_interval
from palaestra.errors import InputError


class TestWilson:
    def test_eight_of_ten(self):
        # z² = 3.841459, centre (0.8 + 0.1920729) / 1.3841459 = 0.7167402, half-width
        # 1.959964 · √(0.016 + 0.0096036) / 1.3841459 = 0.2265747.
        estimate = wilson_interval(8, 10)
        assert estimate.mean == pytest.approx(0.8)
        assert estimate.low == pytest.approx(0.490165, abs=1e-5)
        assert estimate.high == pytest.approx(0.943315, abs=1e-5)

    def test_none_of_ten_still_has_a_width(self):
        # At 0 successes the upper end is z² / (n + z²) = 3.841459 / 13.841459.
        assert wilson_interval(0, 10) == Estimate(0.0, 0.0, pytest.approx(0.277533, abs=1e-6), 10)

    def test_all_of_ten_mirrors_none_of_ten(self):
        assert wilson_interval(10, 10) == Estimate(1.0, pytest.approx(1 - 0.277533, abs=1e-6), 1.0, 10)

    def test_of_nothing_nothing_is_known(self):
        estimate = wilson_interval(0, 0)
        assert math.isnan(estimate.mean)
        assert estimate.count == 0

    def test_more_successes_than_episodes_are_refused(self):
        with pytest.raises(InputError, match="11 of 10"):
            wilson_interval(11, 10)


class TestMean:
    def test_one_two_three(self):
        # s = 1, so the half-width is 1.959964 / √3 = 1.131586.
        estimate = mean_interval([1, 2, 3])
        assert estimate == Estimate(2.0, pytest.approx(0.868414, abs=1e-6), pytest.approx(3.131586, abs=1e-6), 3)

    def test_one_value_has_a_mean_and_no_interval(self):
        estimate = mean_interval([4.0])
        assert estimate.mean == 4.0
        assert math.isnan(estimate.low)

    def test_the_interval_stays_inside_the_quantitys_range(self):
        estimate = mean_interval([0.0, 1.0], 0.0, 1.0)
        assert (estimate.low, estimate.high) == (0.0, 1.0)


def report(**changes) -> Report:
    fields = {
        "env": "palaestra/Arithmetic-v0",
        "agent": "random",
        "split": "test",
        "seed": 3,
        "episodes": 10,
        "invalid": 2,
        "truncated": 0.1,
        "success": wilson_interval(8, 10),
        "reward": mean_interval([1, 2, 3]),
        "progress": mean_interval([]),
        "length": mean_interval([1.0] * 10),
        "by_difficulty": (Bin(0.0, 0.5, wilson_interval(8, 10), mean_interval([1, 2, 3])),),
    }
    return Report(**{**fields, **changes})


class TestPrinting:
    def test_json_survives_a_strict_parser_and_holds_unknown_numbers_as_null(self):
        parsed = json.loads(json.dumps(report().to_json(), allow_nan=False))
        assert parsed["progress"] is None
        assert parsed["invalid"] == 2
        assert parsed["ci"] == pytest.approx([0.490165, 0.943315], abs=1e-5)

    def test_json_holds_each_difficulty_bin(self):
        (row,) = report().to_json()["by_difficulty"]
        assert (row["low"], row["high"], row["episodes"]) == (0.0, 0.5, 3)

    def test_the_text_shows_success_with_its_interval_by_difficulty_and_in_all(self):
        text = str(report())
        assert text.count("80 % [49, 94]") == 2
        assert "0.00–0.50" in text

    def test_invalid_episodes_are_told(self):
        assert "2 invalid episodes left out" in str(report())
        assert "invalid" not in str(report(invalid=0))

    def test_an_environment_without_success_shows_a_dash_not_a_zero(self):
        text = str(report(success=wilson_interval(0, 0), by_difficulty=()))
        assert "–" in text
        assert "0 %" not in text.replace("10 %", "")

    @pytest.mark.parametrize(
        ("half", "sentence"),
        [
            (0.0, "fewer than half of the easiest tasks are solved"),
            (0.4, "half of the tasks are solved at difficulty 0.40"),
            (1.0, "more than half of the hardest tasks are solved"),
        ],
    )
    def test_the_difficulty_of_half_the_tasks_is_told_where_it_lies_within_the_range(self, half, sentence):
        text = " ".join(str(report(solved_to=Estimate(half, half, half, 10))).split())
        assert sentence in text
        assert ("at difficulty" in text) == (half == 0.4)
