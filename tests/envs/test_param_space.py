from __future__ import annotations

import json
import pickle
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.envs import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from palaestra.errors import InputError

untimed = settings(deadline=None)

SPACE = ParamSpace(
    [
        IntAxis("digits", 1, 6),
        IntAxis("slack", 0, 4, harder="down"),
        IntAxis("range", 10, 1000, log=True),
        FloatAxis("noise", 0.0, 0.5),
        FloatAxis("rate", 0.001, 10.0, harder="down", log=True),
        ChoiceAxis("operations", ("+", "+-", "+-*")),
    ]
)
units = st.lists(st.floats(0.0, 1.0), min_size=len(SPACE), max_size=len(SPACE))


def test_ends_of_the_difficulty_are_the_ends_of_the_axes():
    easy = {"digits": 1, "slack": 4, "range": 10, "noise": 0.0, "rate": pytest.approx(10.0), "operations": "+"}
    hard = {"digits": 6, "slack": 0, "range": 1000, "noise": 0.5, "rate": pytest.approx(0.001), "operations": "+-*"}
    assert SPACE.at(0.0) == easy
    assert SPACE.at(1.0) == hard


def test_two_axes_of_two_values_make_three_levels_of_difficulty():
    space = SPACE.restrict(digits=(1, 2), operations=["+", "+-"], slack=0, range=10, noise=0.0, rate=0.1)
    ladder = [(p["digits"], p["operations"]) for p in map(space.at, (0.0, 0.2, 0.3, 0.5, 0.7, 1.0))]
    # shifts of a quarter of a step (1/8) ahead and behind: the turns at 1/2 move to 3/8 and 5/8
    assert ladder == [(1, "+"), (1, "+"), (1, "+"), (2, "+"), (2, "+-"), (2, "+-")]
    assert [space.at(d)["digits"] for d in (0.37, 0.38)] == [1, 2]
    assert [space.at(d)["operations"] for d in (0.62, 0.63)] == ["+", "+-"]


def test_middle_of_the_difficulty_by_hand():
    # digits: 6 bins, 0.5 falls on the fourth. slack: bin 2 of 0 to 4. range: geometric mean of 10 and 1000.
    middle = SPACE.at(0.5)
    assert middle["digits"] == 4
    assert middle["slack"] == 2
    assert middle["range"] == 100
    assert middle["noise"] == 0.25
    assert middle["rate"] == pytest.approx(0.1)
    assert middle["operations"] == "+-"


def test_difficulty_is_the_mean_place_over_the_axes_that_vary():
    space = ParamSpace([IntAxis("a", 1, 5), IntAxis("b", 0, 4, harder="down"), IntAxis("c", 3, 3)])
    # a: 2 is a quarter of the way up. b: 1 is three quarters of the way down. c cannot vary.
    assert space.difficulty({"a": 2, "b": 1, "c": 3}) == 0.5
    assert space.difficulty({"c": 3}) == 0.0


@untimed
@given(units)
def test_unit_cube_round_trip(u: list[float]):
    params = SPACE.from_unit(u)
    point = SPACE.to_unit(params)
    assert point.shape == (6,)
    assert point.dtype == np.float64
    again = SPACE.from_unit(point)
    for axis in SPACE.axes:
        expected = params[axis.name]
        assert again[axis.name] == (pytest.approx(expected) if isinstance(expected, float) else expected)


@untimed
@given(units)
def test_params_are_valid_and_plain(u: list[float]):
    params = SPACE.from_unit(u)
    assert SPACE.validate(params) == params
    assert json.loads(json.dumps(params)) == params
    assert {type(value) for value in params.values()} == {int, float, str}


@untimed
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_difficulty_is_monotone_along_at(a: float, b: float):
    low, high = sorted((a, b))
    assert SPACE.difficulty(SPACE.at(low)) <= SPACE.difficulty(SPACE.at(high)) + 1e-12


def test_integers_are_uniform_under_a_uniform_point():
    # 600 evenly spaced points fall 100 to each of the six values.
    values = [SPACE.from_unit([(i + 0.5) / 600] + [0.0] * 5)["digits"] for i in range(600)]
    assert [values.count(v) for v in range(1, 7)] == [100] * 6


def test_sampling_depends_on_the_generator_alone():
    draw = [SPACE.sample(np.random.default_rng(3)) for _ in range(2)]
    assert draw[0] == draw[1]
    assert draw[0] != SPACE.sample(np.random.default_rng(4))


def test_points_outside_the_cube_are_clipped():
    assert SPACE.from_unit([2.0] * 6) == SPACE.from_unit([1.0] * 6)
    assert SPACE.from_unit([-1.0] * 6) == SPACE.from_unit([0.0] * 6)


@pytest.mark.parametrize("u", [[0.5], [[0.5] * 6], [float("nan")] * 6])
def test_a_point_that_is_none_is_refused(u: Any):
    with pytest.raises(InputError, match="unit cube"):
        SPACE.from_unit(u)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"digits": 7}, "digits must be a whole number from 1 to 6, not 7"),
        ({"digits": 2.5}, "digits must be a whole number from 1 to 6, not 2.5"),
        ({"digits": True}, "not True"),
        ({"digits": float("nan")}, "not nan"),
        ({"noise": 0.6}, "noise must be a number from 0.0 to 0.5, not 0.6"),
        ({"noise": float("nan")}, "not nan"),
        ({"operations": "*"}, "operations must be one of '\\+', '\\+-', '\\+-\\*', not '\\*'"),
        ({"digit": 2}, "unknown axis 'digit'; did you mean 'digits'"),
        ([1], "mapping"),
    ],
)
def test_bad_values_are_refused_with_axis_and_range(params: Any, message: str):
    with pytest.raises(InputError, match=message):
        SPACE.validate(params)


@pytest.mark.parametrize("task", [None, 3, "digits", ["digits"], np.zeros(6)])
def test_only_a_mapping_has_a_place_in_the_unit_cube(task: Any):
    with pytest.raises(InputError, match=f"must be a mapping from axis to value, not {re.escape(repr(task))}"):
        SPACE.to_unit(task)


def test_validate_makes_numpy_values_plain_and_fills_nothing():
    valid = SPACE.validate({"noise": np.float32(0.25), "digits": np.int64(3)})
    assert valid == {"digits": 3, "noise": 0.25}
    assert list(map(type, valid.values())) == [int, float]


def test_restricted_space_spans_the_narrow_range():
    narrow = SPACE.restrict(digits=[1, 2], operations=["+-", "+"], noise=0.25)
    assert narrow.at(1.0)["digits"] == 2
    assert narrow.at(1.0)["operations"] == "+-"
    assert narrow.at(0.0)["operations"] == "+"
    assert {narrow.at(d)["noise"] for d in (0.0, 0.5, 1.0)} == {0.25}
    assert narrow.difficulty(narrow.at(1.0)) == 1.0
    with pytest.raises(InputError, match="digits must be a whole number from 1 to 2, not 3"):
        narrow.validate({"digits": 3})


@pytest.mark.parametrize("ranges", [{"digits": [0, 3]}, {"digits": [5, 2]}, {"digits": [1, 2, 3]}, {"operations": []}])
def test_impossible_restrictions_are_refused(ranges: dict[str, Any]):
    with pytest.raises(InputError):
        SPACE.restrict(**ranges)


def test_gymnasium_space_has_the_same_ranges():
    space = SPACE.space
    assert space["digits"].contains(np.int64(6))
    assert not space["digits"].contains(np.int64(7))
    assert space["noise"].contains(np.array(0.5))
    assert space["operations"].n == 3  # type: ignore[attr-defined]


def test_spaces_compare_and_pickle_by_value():
    assert pickle.loads(pickle.dumps(SPACE)) == SPACE
    assert SPACE.restrict(digits=3) != SPACE
    assert len(SPACE) == SPACE.dimension == 6


@pytest.mark.parametrize("difficulty", [-0.1, 1.1, float("nan"), None, "0.5", True, [0.5]])
def test_difficulty_outside_the_unit_interval_is_refused(difficulty: Any):
    with pytest.raises(InputError, match="difficulty"):
        SPACE.at(difficulty)


@pytest.mark.parametrize(
    "build",
    [
        lambda: IntAxis("a", 3, 2),
        lambda: IntAxis("a", 0, 2, log=True),
        lambda: FloatAxis("a", 0.0, float("inf")),
        lambda: FloatAxis("a", 0.0, 1.0, log=True),
        lambda: ChoiceAxis("a", ()),
        lambda: ChoiceAxis("a", ("x", "x")),
        lambda: IntAxis("a", 1, 2, harder="sideways"),  # type: ignore[arg-type]
        lambda: ParamSpace([IntAxis("a", 1, 2), IntAxis("a", 1, 3)]),
    ],
)
def test_impossible_axes_are_refused(build: Any):
    with pytest.raises(InputError):
        build()


OPEN = ParamSpace(
    [
        IntAxis("variables", 3, 13, limits=(2, 60)),
        IntAxis("slack", 1, 5, harder="down", limits=(0, 5)),
        IntAxis("size", 10, 1000, log=True, limits=(10, 10**6)),
        ChoiceAxis("kind", ("a", "b")),
    ]
)


def test_what_is_drawn_stays_within_the_range_and_what_is_asked_for_within_the_limits():
    rng = np.random.default_rng(0)
    assert {OPEN.sample(rng)["variables"] for _ in range(300)} == set(range(3, 14))
    assert OPEN.ask({"variables": 60, "slack": 0}) == {"variables": 60, "slack": 0}
    with pytest.raises(InputError, match=r"variables must be a whole number from 3 to 13, not 60"):
        OPEN.validate({"variables": 60})
    with pytest.raises(InputError, match=r"variables must be .* from 2 to 60 \(drawn from 3 to 13\), not 61"):
        OPEN.ask({"variables": 61})


def test_difficulty_above_one_goes_on_in_proportion_up_to_the_limits():
    # variables: 3 + 1.5 * 10. slack: one step of four below 1 is 0, reached at 1.25. size: 10 * 100**1.5.
    assert OPEN.at(1.5) == {"variables": 18, "slack": 0, "size": 10_000, "kind": "b"}
    # variables reach 60 at 5.7, slack 0 at 1.25, size a million at 2.5
    assert OPEN.max_difficulty == pytest.approx(5.7)
    assert OPEN.at(5.7) == {"variables": 60, "slack": 0, "size": 10**6, "kind": "b"}
    assert OPEN.difficulty(OPEN.at(1.5)) > 1.0
    with pytest.raises(InputError, match=r"up to 5\.7 on request, not 5\.8"):
        OPEN.at(5.8)
    with pytest.raises(InputError, match=r"from 0 \(easiest\) to 1 \(hardest\), not 1\.1"):
        SPACE.at(1.1)


@untimed
@given(st.floats(0.0, 5.7), st.floats(0.0, 5.7))
def test_no_open_axis_gets_easier_as_difficulty_grows(a: float, b: float):
    low, high = (OPEN.at(d) for d in sorted((a, b)))
    assert low["variables"] <= high["variables"]
    assert low["slack"] >= high["slack"]
    assert low["size"] <= high["size"]


def test_extending_moves_the_hard_end_and_difficulty_spans_the_wider_range():
    wide = OPEN.extend(variables=60, slack=0)
    assert wide.at(1.0)["variables"] == 60
    assert wide.at(1.0)["slack"] == 0
    assert wide.at(0.0) == OPEN.at(0.0)
    assert OPEN.extend(variables=[2, 20]).at(0.0)["variables"] == 2
    assert OPEN.extend(variables=20).ask({"variables": 60}) == {"variables": 60}
    for wrong in ({"variables": 61}, {"kind": "c"}, {"size": "big"}, {"sizes": 3}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            OPEN.extend(**wrong)


def test_a_range_that_is_named_is_kept():
    narrow = OPEN.restrict(variables=[12, 60])
    assert narrow.at(1.0)["variables"] == narrow.at(2.0)["variables"] == 60
    with pytest.raises(InputError, match="variables must be a whole number from 12 to 60, not 11"):
        narrow.ask({"variables": 11})


@pytest.mark.parametrize("limits", [(4, 60), (3, 12), (60, 2)])
def test_limits_enclose_the_range(limits: tuple[int, int]):
    with pytest.raises(InputError, match="must enclose 3 to 13"):
        IntAxis("variables", 3, 13, limits=limits)


def test_a_difficulty_leaves_a_choice_open_on_which_nothing_is_harder():
    space = ParamSpace([ChoiceAxis("colour", ("red", "blue"), harder=None), IntAxis("size", 1, 5)])
    assert space.at(1.0) == {"size": 5}
    assert space.difficulty({"colour": "blue", "size": 1}) == 0.0
    drawn = {space.complete({}, np.random.default_rng(seed), 0.0)["colour"] for seed in range(20)}
    assert drawn == {"red", "blue"}
    assert space.complete({"colour": "red"}, np.random.default_rng(0), 1.0) == {"colour": "red", "size": 5}
    assert space.restrict(colour="red").at(0.0) == {"colour": "red", "size": 1}


def test_an_axis_that_is_asked_for_twice_is_named():
    for axes, fixed, said in (
        ({"digits": 1}, {"digits": 2}, "digits is given twice, in axes and by name; leave one of the two out"),
        ({"digits": 1, "terms": 3}, {"digits": 1, "terms": 3}, "digits and terms are given twice"),
    ):
        with pytest.raises(InputError, match=said):
            gym.make("palaestra/Arithmetic-v0", axes=axes, **fixed)
    env = gym.make("palaestra/Arithmetic-v0", digits=2, operations="+")
    for params, said in (
        ({"digits": 3}, "digits is fixed to 2 here, so that it cannot be 3"),
        ({"operations": "+-"}, r"operations is fixed to '\+' here, so that it cannot be '\+-'"),
    ):
        with pytest.raises(InputError, match=said):
            env.reset(seed=0, options={"params": params})


def test_steps_of_a_spread_space_are_taken_one_by_one_and_the_last_at_the_end():
    axes = [IntAxis("a", 0, 2), IntAxis("b", 0, 3, harder="down"), ChoiceAxis("c", ("x", "y")), FloatAxis("d", 0, 1)]
    space = ParamSpace(axes, spread=True)
    # a is at 1/6 and 4/6 of the way, b at 2/9, 5/9 and 8/9, c at its end: six steps, of which each is taken just above
    # its sixth, and the last at the sixth itself.
    ladder = [space.at(d) for d in (0.0, 1 / 6, 1 / 6 + 1e-6, 0.34, 0.51, 0.67, 0.84, 1 - 1e-6, 1.0)]
    taken = [(0, 3, "x"), (0, 3, "x"), (1, 3, "x"), (1, 2, "x"), (1, 1, "x"), (2, 1, "x"), (2, 0, "x")]
    assert [(one["a"], one["b"], one["c"]) for one in ladder] == [*taken, (2, 0, "x"), (2, 0, "y")]
    assert space.at(0.34)["d"] == 0.34
    assert space.extend(a=2) == space.restrict(a=(0, 2)) == space != ParamSpace(axes)
    assert "spread=True" in repr(space)
