from __future__ import annotations

import json
import math
from typing import Any

import pytest
from palaestra import schedules
from palaestra.errors import InputError
from palaestra.schedules import as_data, check_schedule, schedule

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "constant", "value": 0.3},
    {"kind": "linear", "start": 1.0, "end": 0.0},
    {"kind": "cosine", "start": 0.0, "end": 1.0, "over": 200},
    {"kind": "sigmoid", "start": 0.0, "end": 2.0, "over": 100},
    {"kind": "exponential", "start": 0.3, "scale": 500},
    {"kind": "step-decay", "start": 256, "factor": 0.7, "every": 100, "minimum": 1},
    {"kind": "geometric", "start": 800, "factor": 0.2, "minimum": 1},
    {"kind": "piecewise", "points": [[0, 1.0], [10, 3.0], [20, 2.0]]},
    {"kind": "cyclical", "low": 1.0, "high": 3.0, "period": 10},
]


def of_kind(kind: str) -> schedules.Schedule:
    return schedule(next(example for example in EXAMPLES if example["kind"] == kind))


def test_a_number_is_a_constant():
    assert schedule(2)(7, 10) == 2.0


def test_linear_spans_the_run_unless_told_otherwise():
    assert [of_kind("linear")(step, 100) for step in (0, 25, 100, 150)] == [1.0, 0.75, 0.0, 0.0]
    assert schedule({"kind": "linear", "start": 0, "end": 10, "over": 5})(2, 100) == 4.0


def test_before_a_run_of_unknown_length_a_schedule_has_its_first_value():
    assert of_kind("linear")(0, 0) == 1.0


def test_cosine_up_is_a_half_at_the_middle_and_stays_at_the_end():
    up = of_kind("cosine")
    assert up(0, 0) == 0.0
    assert up(100, 0) == pytest.approx(0.5)
    assert up(50, 0) == pytest.approx(0.5 * (1 - math.cos(math.pi / 4)))
    assert up(200, 0) == up(900, 0) == 1.0


def test_step_decay_has_the_budgets_of_train_long_think_short():
    budget = of_kind("step-decay")
    assert {budget(step, 0) for step in range(100)} == {256.0}
    assert budget(100, 0) == pytest.approx(179.2)
    assert budget(250, 0) == pytest.approx(125.44)
    assert budget(100_000, 0) == 1.0


def test_geometric_has_the_budgets_of_reinforcement_mid_training():
    budget = of_kind("geometric")
    assert [budget(step, 100) for step in (0, 50, 100, 150)] == [800.0, 357.0, 160.0, 160.0]
    assert schedule({"kind": "geometric", "start": 3, "factor": 0.01})(90, 100) == 1.0


def test_exponential_falls_to_a_factor_of_e_every_scale():
    assert of_kind("exponential")(500, 0) == pytest.approx(0.3 / math.e)


def test_sigmoid_reaches_both_ends_and_is_halfway_in_the_middle():
    curve = of_kind("sigmoid")
    assert [curve(step, 0) for step in (0, 50, 100)] == pytest.approx([0.0, 1.0, 2.0])
    assert curve(10, 0) < 0.2  # flat at first: a straight line would be at 0.2


def test_piecewise_interpolates_and_is_constant_outside():
    line = of_kind("piecewise")
    assert [line(step, 0) for step in (0, 5, 10, 15, 20, 99)] == [1.0, 2.0, 3.0, 2.5, 2.0, 2.0]


def test_piecewise_in_fractions_follows_the_run():
    line = schedule({"kind": "piecewise", "points": [[0.5, 1.0], [1.0, 0.0]], "unit": "fraction"})
    assert [line(step, 200) for step in (0, 100, 150, 200)] == [1.0, 1.0, 0.5, 0.0]


def test_cyclical_rises_and_falls_once_a_period():
    cycle = of_kind("cyclical")
    assert [cycle(step, 0) for step in (0, 5, 10, 12)] == pytest.approx([1.0, 3.0, 1.0, 1.8])


@pytest.mark.parametrize("data", EXAMPLES, ids=lambda data: data["kind"])
def test_every_kind_survives_json_and_stays_within_its_bounds(data: dict[str, Any]):
    made = schedule(data)
    again = schedule(json.loads(json.dumps(as_data(made))))
    assert again == made
    low, high = made.bounds
    values = [made(step, 300) for step in range(0, 400, 7)]
    assert low - 1e-9 <= min(values) <= max(values) <= high + 1e-9


def test_every_kind_has_an_example():
    assert {data["kind"] for data in EXAMPLES} == set(schedules.KINDS)


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"kind": "lineer", "start": 0, "end": 1},
        {"kind": "linear", "start": 0},
        {"kind": "linear", "start": 0, "end": 1, "ovr": 3},
        {"kind": "linear", "start": 0, "end": 1, "over": 0},
        {"kind": "linear", "start": math.nan, "end": 1},
        {"kind": "step-decay", "start": 256, "factor": 1.5, "every": 100},
        {"kind": "piecewise", "points": []},
        {"kind": "piecewise", "points": [[3, 1], [3, 2]]},
        {"kind": "piecewise", "points": 7},
        {"kind": "cyclical", "low": 2, "high": 1, "period": 10},
        {"kind": "sigmoid", "start": 0, "end": 1, "middle": 2},
        True,
        "linear",
        None,
    ],
)
def test_nonsense_is_refused(nonsense: Any):
    with pytest.raises(InputError):
        schedule(nonsense)


def test_a_misspelt_kind_names_the_nearest():
    with pytest.raises(InputError, match="'linear'"):
        schedule({"kind": "lineer"})


def test_a_schedule_may_have_to_stay_in_a_range():
    assert check_schedule("weight", 0.5, 0, 1)(3, 10) == 0.5
    with pytest.raises(InputError, match=r"weight must stay in \[0, 1\], but this schedule spans 0 to 2"):
        check_schedule("weight", {"kind": "linear", "start": 2, "end": 0}, 0, 1)
    with pytest.raises(InputError, match="weight must stay at least 0"):
        check_schedule("weight", -1, low=0)
