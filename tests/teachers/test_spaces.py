from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.envs.axes import ChoiceAxis, FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import discretise
from palaestra.teachers.pools import as_arms, as_pool
from palaestra.teachers.spaces import as_cube

BOX = gym.spaces.Box(np.array([[-3.0, 10.0]], np.float32), np.array([[5.0, 10.5]], np.float32))


def test_a_box_maps_affinely_onto_the_cube():
    cube = as_cube(BOX)
    assert cube.dimension == 2
    assert cube.decode(np.array([0.25, 1.0])).tolist() == [[-1.0, 10.5]]
    assert cube.encode(np.array([[1.0, 10.25]], np.float32)).tolist() == [0.5, 0.5]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_box_tasks_stay_inside_and_come_back(u):
    cube = as_cube(BOX)
    task = cube.decode(np.array(u))
    assert BOX.contains(task)
    assert np.abs(cube.encode(task) - u).max() < 1e-5


def test_integer_boxes_have_cells_of_equal_width():
    cube = as_cube(gym.spaces.Box(2, 5, (1,), dtype=np.int32))
    tasks = [int(cube.decode(np.array([u]))[0]) for u in (0.0, 0.2499, 0.25, 0.5, 0.75, 1.0)]
    assert tasks == [2, 2, 3, 4, 5, 5]
    assert cube.encode(np.array([3])).tolist() == [0.375]


def test_discrete_values_have_cells_of_equal_width():
    cube = as_cube(gym.spaces.Discrete(4, start=-1))
    assert [cube.decode(np.array([u])) for u in (0.0, 0.3, 0.6, 1.0)] == [-1, 0, 1, 2]
    assert cube.encode(np.int64(2)).tolist() == [0.875]


@pytest.mark.parametrize(
    "space",
    [BOX, gym.spaces.Box(-1, 4, (2, 2), dtype=np.int8), gym.spaces.Box(0.0, 2.0, ()), gym.spaces.Discrete(4, start=3)],
)
def test_points_decoded_at_once_are_those_decoded_one_by_one(space):
    cube = as_cube(space)
    points = np.random.default_rng(0).random((20, cube.dimension))
    tasks = cube.decode_all(points)
    assert len(tasks) == 20
    for task, u in zip(tasks, points):
        assert space.contains(task)
        assert np.array_equal(task, cube.decode(u))
    assert cube.decode_all(points[:0]) == []


def test_an_axis_of_a_box_without_width_is_kept():
    cube = as_cube(gym.spaces.Box(np.array([0.0, 7.0]), np.array([1.0, 7.0]), dtype=np.float64))
    assert cube.decode(np.array([0.5, 0.9])).tolist() == [0.5, 7.0]
    assert cube.encode(np.array([0.5, 7.0])).tolist() == [0.5, 0.5]


def test_fixed_axes_of_a_param_space_are_no_dimension_but_are_in_the_task():
    cube = as_cube(
        ParamSpace([IntAxis("a", 3, 3), FloatAxis("b", 0.0, 2.0), ChoiceAxis("c", ("x",)), FloatAxis("d", 1, 1)])
    )
    assert cube.names == ("b",)
    assert cube.decode(np.array([0.5])) == {"a": 3, "b": 1.0, "c": "x", "d": 1.0}
    assert cube.encode({"a": 3, "b": 1.0, "c": "x", "d": 1.0}).tolist() == [0.5]


def test_a_param_space_with_nothing_free_still_gives_its_one_task():
    cube = as_cube(ParamSpace([IntAxis("a", 3, 3), IntAxis("b", 4, 4)]))
    assert cube.decode(np.array([0.9])) == {"a": 3, "b": 4}
    assert as_arms(ParamSpace([IntAxis("a", 3, 3)])).n == 1


def test_the_places_of_values_are_known_unless_they_are_too_many_to_list():
    few, many = IntAxis("few", 1, 4), IntAxis("many", 1, 10_001)
    cube = as_cube(ParamSpace([few, many, ChoiceAxis("mixed", ("none", 1, 2.5)), FloatAxis("real", 0.0, 1.0)]))
    assert cube.places(0) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert cube.places(1) is None
    assert cube.places(2) == pytest.approx([1 / 6, 3 / 6, 5 / 6])
    assert cube.places(3) is None
    assert len(as_cube(gym.spaces.Discrete(10_000)).places(0)) == 10_000
    assert as_cube(gym.spaces.Discrete(10_001)).places(0) is None


def test_a_grid_puts_each_task_back_into_its_arm():
    space = ParamSpace([IntAxis("digits", 1, 4), FloatAxis("noise", -1.0, 1.0), ChoiceAxis("kind", ("a", "b", "c"))])
    grid = discretise(space, bins=(4, 3, 3))
    rng = np.random.default_rng(0)
    assert grid.n == 36
    for arm in range(36):
        assert {grid.arm(grid.task(arm, rng)) for _ in range(5)} == {arm}


def test_arms_of_a_grid_are_counted_by_the_last_axis_first():
    grid = discretise(gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64), bins=(2, 3))
    assert grid.arm(np.array([0.1, 0.9])) == 2
    assert grid.arm(np.array([0.9, 0.1])) == 3
    assert grid.name(5) == "x0[2/2],x1[3/3]"


def test_no_axis_gets_more_cells_than_values():
    assert discretise(ParamSpace([IntAxis("a", 1, 3), FloatAxis("b", 0, 1)]), bins=8).bins == (3, 8)


def test_a_grid_has_about_25_arms_by_default():
    sizes = [discretise(gym.spaces.Box(0.0, 1.0, (d,))).n for d in (1, 2, 3, 4, 5)]
    assert sizes == [10, 25, 8, 16, 32]


def test_a_discrete_space_is_its_own_arms():
    arms = as_arms(gym.spaces.Discrete(3, start=5))
    assert [arms.task(arm, np.random.default_rng(0)) for arm in range(3)] == [5, 6, 7]
    assert [arms.arm(task) for task in (5, np.int64(6), np.array(7))] == [0, 1, 2]


@pytest.mark.parametrize("task", [4, 8, 5.0, "5", True, None])
def test_a_task_that_is_no_arm_is_refused(task):
    with pytest.raises(InputError, match="whole number from 5 to 7"):
        as_arms(gym.spaces.Discrete(3, start=5)).arm(task)


@pytest.mark.parametrize("task", [[[0.0, 10.0], [0.0, 10.0]], [[9.0, 10.0]], [[np.nan, 10.0]], "x", None])
def test_a_task_outside_the_box_is_refused(task):
    with pytest.raises(InputError, match="task"):
        as_cube(BOX).encode(task)


def test_too_many_arms_or_bins_of_the_wrong_number_are_refused():
    box = gym.spaces.Box(0.0, 1.0, (4,))
    with pytest.raises(InputError, match="at most 4096"):
        discretise(box, bins=9)
    with pytest.raises(InputError, match="4 axes"):
        discretise(box, bins=(2, 2))
    with pytest.raises(InputError, match="bins"):
        discretise(box, bins=0)
    with pytest.raises(InputError, match="already consists of arms"):
        as_arms(gym.spaces.Discrete(3), bins=2)


LISTED = {
    "logarithmic": ParamSpace([IntAxis("largest", 1, 100, log=True)]),
    "indivisible": ParamSpace([IntAxis("digits", 1, 7), FloatAxis("noise", 0.0, 1.0)]),
    "harder below": ParamSpace([IntAxis("k", 3, 9, harder="down", log=True), ChoiceAxis("kind", ("a", "b", "c"))]),
    "integers": gym.spaces.Box(-1, 4, (2,), dtype=np.int64),
    "one point": gym.spaces.Box(2, 2, (1,), dtype=np.int64),
}


@pytest.mark.parametrize("space", LISTED.values(), ids=LISTED)
@pytest.mark.parametrize("bins", [None, 1, 3, 5])
def test_every_task_of_a_cell_belongs_to_it_and_cells_share_no_value(space, bins):
    grid, rng = discretise(space, bins), np.random.default_rng(0)
    owners = {}
    for arm in range(grid.n):
        for _ in range(20):
            task = grid.task(arm, rng)
            assert grid.arm(task) == arm
            assert owners.setdefault(str(task), arm) == arm


@pytest.mark.parametrize("name", ["logarithmic", "harder below", "integers", "one point"])
def test_a_pool_holds_every_combination_of_values_once(name):
    pool, rng = as_pool(LISTED[name]), np.random.default_rng(0)
    tasks = {str(pool.task(arm, rng)) for arm in range(pool.n)}
    assert len(tasks) == pool.n == {"logarithmic": 100, "harder below": 21, "integers": 36, "one point": 1}[name]
    assert ((pool.features >= 0) & (pool.features <= 1)).all()
