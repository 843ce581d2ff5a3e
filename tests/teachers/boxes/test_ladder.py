"""Levels of difficulty, and the options of the teachers that climb them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import as_cube, make
from palaestra.teachers.boxes.ladder import Ladder

CHAINS = ParamSpace([IntAxis("length", 1, 5), FloatAxis("time", 1.0, 3.0, harder="down")])


def test_a_named_axis_has_a_level_for_each_value_and_the_other_axes_stay_uniform():
    ladder, rng = Ladder(as_cube(CHAINS), "length"), np.random.default_rng(0)
    assert ladder.n == 5
    for level in range(5):
        tasks = [CHAINS.from_unit(u) for u in ladder.points(np.full(200, level), rng)]
        assert {task["length"] for task in tasks} == {level + 1}
        assert np.ptp([task["time"] for task in tasks]) > 1.8
        assert {ladder.level(CHAINS.to_unit(task)) for task in tasks} == {level}


def test_without_a_name_all_axes_get_harder_together_each_in_its_direction():
    ladder, rng = Ladder(as_cube(CHAINS), levels=4), np.random.default_rng(0)
    for level in range(4):
        points = ladder.points(np.full(100, level), rng)
        assert (points[:, 0] >= level / 4).all()
        assert (points[:, 0] <= (level + 1) / 4).all()
        assert (points[:, 1] >= 1 - (level + 1) / 4).all()
        assert (points[:, 1] <= 1 - level / 4).all()
        assert {ladder.level(u) for u in points} == {level}


def test_stated_densities_are_those_of_a_uniform_slice():
    assert make("horizon", CHAINS, axis="length").propose(1)[0].prob == pytest.approx(5.0)
    assert make("horizon", CHAINS, levels=3).propose(1)[0].prob == pytest.approx(9.0)
    teacher = make("rlve", CHAINS, axis="length", start=1)  # two levels of five in the window
    assert teacher.propose(1)[0].prob == pytest.approx(2.5)


def test_continuous_axes_have_ten_levels_by_default():
    assert Ladder(as_cube(gym.spaces.Box(0, 1, (2,)))).n == 10


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rlve", {"axis": "lenght"}),
        ("horizon", {"levels": 0}),
        ("rlve", {"start": 5}),
        ("rlve", {"threshold": 1.5}),
        ("rlve", {"window": 0}),
        ("horizon", {"promote": "luck"}),
        ("horizon", {"tasks": 0}),
        ("reasoning-gym", {"mode": "lower_bound"}),
        ("reasoning-gym", {"raise_above": 0.2}),
        ("complexity-minimax", {"reference": (0.1, 0.2)}),
        ("complexity-minimax", {"reference": (0.5, 0.2, 0.5, 0.5, 0.5)}),
        ("complexity-minimax", {"temperature": 0.0}),
        ("oracle-window", {"width": 0.0}),
        ("oracle-window", {"step": (0.1, 0.1, 0.1)}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        make(name, CHAINS, **{"axis": "length", **options} if name != "oracle-window" else options)
