"""Several families as one space of parameters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from palaestra.envs.axes import ChoiceAxis, FloatAxis, IntAxis
from palaestra.envs.family_space import FamilySpace
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError

SUMS = ParamSpace([IntAxis("digits", 1, 3, limits=(1, 9)), ChoiceAxis("operations", ("+", "-"))])
MAZE = ParamSpace([FloatAxis("size", 0.0, 4.0, limits=(0.0, 8.0))])


def space(**weights) -> FamilySpace:
    families = {"Sums": SUMS, "Maze": MAZE}
    return FamilySpace({name: FamilySpace.add_prefix(name, one) for name, one in families.items()}, weights)


def test_parameters_are_those_of_one_family():
    assert space().names == ("env", "Sums.digits", "Sums.operations", "Maze.size")
    full = {"env": "Maze", "Maze.size": 1, "Sums.digits": 2}
    assert space().validate(full) == {"env": "Maze", "Maze.size": 1.0}
    assert FamilySpace.own_params(full) == {"size": 1}
    with pytest.raises(InputError, match=r"Sums\.digits must be a whole number from 1 to 3, not 7"):
        space().validate({"env": "Maze", "Maze.size": 1, "Sums.digits": 7})


def test_a_point_of_the_cube_is_a_family_and_its_own_coordinates():
    params = space().from_unit([0.7, 0.0, 0.0, 0.25])
    assert params == {"env": "Maze", "Maze.size": 1.0}
    assert space().to_unit(params).tolist() == [0.75, 0.5, 0.5, 0.25]
    with pytest.raises(InputError, match="must name a family"):
        space().to_unit({"Maze.size": 1.0})


def test_families_are_drawn_in_proportion_to_their_weights():
    rng = np.random.default_rng(0)
    drawn = Counter(space(Maze=3).sample(rng)["env"] for _ in range(4000))
    assert drawn["Maze"] / 4000 == pytest.approx(0.75, abs=0.03)


def test_a_scheduled_weight_follows_progress_and_outlives_a_restriction():
    made = space(Maze={"kind": "linear", "start": 0.0, "end": 3.0})
    assert made.shares == {"Sums": 1.0, "Maze": 0.0}
    made.set_progress(10, 10)
    assert made.shares == {"Sums": 0.25, "Maze": 0.75}
    assert made.restrict(**{"Sums.digits": 1}).shares == {"Sums": 0.25, "Maze": 0.75}


def test_a_difficulty_is_one_within_a_family():
    made = space()
    assert made.at(1.0) == {"Sums.digits": 3, "Sums.operations": "-", "Maze.size": 4.0}
    assert made.difficulty({"env": "Maze", "Maze.size": 1.0}) == 0.25
    assert made.restrict(env=["Maze"]).at(0.5) == {"env": "Maze", "Maze.size": 2.0}
    assert made.max_difficulty == 2.0  # Sums could go on to 4


def test_missing_axes_are_those_of_the_family_that_is_named():
    made, rng = space(Maze=1e-9), np.random.default_rng(0)
    assert made.complete({"env": "Maze"}, rng, 1.0) == {"env": "Maze", "Maze.size": 4.0}
    assert made.complete({"Maze.size": 3.0}, rng, 0.0) == {"env": "Maze", "Maze.size": 3.0}
    assert made.complete({}, rng, 0.0) == {"env": "Sums", "Sums.digits": 1, "Sums.operations": "+"}


def test_ranges_are_restricted_and_extended_family_by_family():
    made = space().restrict(env="Sums", **{"Sums.digits": [2, 3]})
    assert list(made.families) == ["Sums"]
    assert made.at(0.0)["Sums.digits"] == 2
    assert space().extend(**{"Sums.digits": 9}).at(1.0)["Sums.digits"] == 9
    with pytest.raises(InputError, match=r"did you mean 'Sums\.digits'"):
        space().restrict(**{"Sums.digit": 2})


@pytest.mark.parametrize("weight", [-1, 0, {"kind": "linear", "start": 1, "end": -1}])
def test_a_weight_that_cannot_be_one_is_refused(weight):
    with pytest.raises(InputError, match="the weight of Maze"):
        space(Maze=weight)


def test_weights_that_are_all_zero_are_refused_where_they_are():
    off = {"kind": "linear", "start": 1.0, "end": 0.0}
    made = space(Sums=off, Maze=off)
    with pytest.raises(InputError, match="are 0 at step 5"):
        made.set_progress(5, 5)
