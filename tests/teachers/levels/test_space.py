"""Spaces of levels: generating, editing and telling them apart."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import ChoiceAxis, FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, discretise
from palaestra.teachers.levels.space import Instances, Levels, as_levels

PARAMS = ParamSpace([IntAxis("size", 1, 4), FloatAxis("noise", 0.0, 1.0), ChoiceAxis("kind", ("a", "b", "c"))])


def walls(rng):
    return {"walls": rng.integers(0, 9, 3), "goal": (1, 2)}


def move(task, rng):
    task["walls"][0] += 100
    return task


def test_levels_of_ones_own_come_back_as_plain_copies():
    levels, rng = Levels("maze", walls, move), np.random.default_rng(0)
    level = levels.generate(rng)
    task = levels.task(level, rng)
    assert task["goal"] == [1, 2]
    task["walls"].clear()
    assert len(levels.task(level, rng)["walls"]) == 3
    assert levels.key(levels.task(level, rng)) == level == levels.level(levels.task(level, rng))


def test_edits_of_ones_own_are_applied_one_after_another_to_a_copy():
    levels, rng = Levels("maze", walls, move), np.random.default_rng(0)
    level = levels.generate(rng)
    before = levels.task(level, rng)["walls"][0]
    assert levels.task(levels.mutate(level, 3, rng), rng)["walls"][0] == before + 300
    assert levels.task(level, rng)["walls"][0] == before


def test_a_key_of_ones_own_says_what_is_the_same():
    levels = Levels("maze", walls, key=lambda task: task["goal"][0])
    assert levels.key({"goal": [1], "walls": []}) == levels.key({"goal": [1], "walls": [4]}) == "1"
    assert not levels.editable


def test_levels_that_cannot_be_used_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="JSON"):
        Levels("sets", lambda rng: {1, 2}).generate(rng)
    with pytest.raises(InputError, match="mutate"):
        Levels("maze", walls).mutate("[]", 1, rng)
    with pytest.raises(InputError, match="size"):
        Levels("maze", walls, size=0)


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (gym.spaces.Discrete(4, start=3), 4),
        (gym.spaces.Box(-1, 4, (2,), dtype=np.int64), 36),
        (gym.spaces.Box(0.0, 1.0, (2,)), None),
        (PARAMS, None),
        (ParamSpace([IntAxis("size", 1, 4), ChoiceAxis("kind", ("a", "b", "c"))]), 12),
        (FiniteTasks(["x", "y"]), 2),
        (discretise(gym.spaces.Box(0.0, 1.0, (2,)), 3), 9),
    ],
)
def test_finite_spaces_are_counted_and_levels_keep_their_key(space, size):
    levels, rng = as_levels(space), np.random.default_rng(0)
    assert levels.size == size
    for _ in range(50):
        level = levels.generate(rng)
        task = levels.task(level, rng)
        again = levels.level(task)
        if size is not None:
            assert levels.key(levels.task(again, rng)) == levels.key(task)
        assert levels.key(levels.task(level, rng)) == levels.key(task)
        assert levels.key(levels.task(levels.mutate(level, 1, rng), rng)) != levels.key(task)


def test_edits_change_so_many_axes_each_by_one_step():
    levels, rng = as_levels(PARAMS), np.random.default_rng(1)
    kinds = "abc"
    for _ in range(200):
        old = levels.generate(rng)
        new = levels.mutate(old, 2, rng)
        a, b = levels.task(old, rng), levels.task(new, rng)
        assert sum(a[name] != b[name] for name in a) == 2
        assert abs(a["size"] - b["size"]) <= 1
        assert abs(kinds.index(a["kind"]) - kinds.index(b["kind"])) <= 1
        assert 0 <= b["noise"] <= 1
    assert old == levels.mutate(old, 0, rng)


def test_continuous_axes_move_by_a_tenth_on_average():
    levels, rng = as_levels(gym.spaces.Box(0.0, 10.0, (1,))), np.random.default_rng(2)
    steps = np.array([levels.mutate([0.5], 1, rng)[0] - 0.5 for _ in range(5000)])
    assert steps.std() == pytest.approx(0.1, rel=0.05)
    assert abs(steps.mean()) < 0.01


def test_more_edits_than_axes_go_around_again():
    levels, rng = as_levels(gym.spaces.Box(0, 9, (1,), dtype=np.int64)), np.random.default_rng(3)
    ends = {int(levels.task(levels.mutate([0.55], 2, rng), rng)[0]) for _ in range(100)}
    assert ends == {3, 5, 7}


def test_a_space_of_one_level_can_be_edited_without_effect():
    for space in (gym.spaces.Discrete(1), FiniteTasks(["only"])):
        levels, rng = as_levels(space), np.random.default_rng(0)
        level = levels.generate(rng)
        assert levels.task(levels.mutate(level, 3, rng), rng) == levels.task(level, rng)


def test_an_axis_with_one_value_takes_no_edit_from_the_others():
    levels = as_levels(gym.spaces.Box(np.array([3, 0]), np.array([3, 9]), dtype=np.int64))
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert levels.task(levels.mutate([0.5, 0.55], 1, rng), rng).tolist() in ([3, 4], [3, 6])


def test_an_entry_of_a_list_is_replaced_by_any_other():
    levels, rng = as_levels(FiniteTasks(list("abcd"))), np.random.default_rng(0)
    assert {levels.mutate(1, 1, rng) for _ in range(100)} == {0, 2, 3}


def test_instances_keep_their_seed_when_parameters_are_edited():
    levels, rng = Instances(PARAMS), np.random.default_rng(0)
    level = levels.generate(rng)
    task = levels.task(level, rng)
    assert set(task) == {"params", "seed"}
    assert PARAMS.validate(task["params"]) == task["params"]
    edited = levels.task(levels.mutate(level, 1, rng), rng)
    assert edited["seed"] == task["seed"]
    assert edited["params"] != task["params"]
    assert levels.key(task) != levels.key({**task, "seed": task["seed"] + 1})
    assert levels.level(task)[1] == task["seed"]
    with pytest.raises(InputError, match="seed"):
        levels.level(task["params"])


def test_tasks_in_one_cell_are_alike():
    levels = as_levels(gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64))
    assert levels.cell([0.11, 0.99], 10) == levels.cell([0.19, 0.91], 10) != levels.cell([0.21, 0.91], 10)
    assert levels.cell([1.0, 1.0], 10) == levels.cell([0.95, 0.95], 10)


def test_instances_can_be_edited_only_where_their_parameters_can():
    assert Instances(gym.spaces.Discrete(3)).editable
    assert not Instances(Levels("walls", walls)).editable
