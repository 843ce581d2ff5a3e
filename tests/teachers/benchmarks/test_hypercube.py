from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers.benchmarks import hypercube
from palaestra.teachers.benchmarks.hypercube import SETTINGS, TABLE, teach


def test_runs_are_repeatable_and_differ_by_seed():
    first, again, other = (teach(SETTINGS["2d"], "random", seed, episodes=200) for seed in (0, 0, 1))
    assert first.tasks.tolist() == again.tasks.tolist() != other.tasks.tolist()


@pytest.mark.parametrize("checkpoints", [1, 4, 50])
def test_mastery_is_recorded_at_equal_distances_and_at_the_end(checkpoints):
    result = teach(SETTINGS["2d"], "random", 0, episodes=41, checkpoints=checkpoints)
    assert len(result.mastered) == checkpoints
    assert len(result.tasks) == result.student.practised == 41


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_gives_a_whole_result(setting):
    result = TABLE.run(SETTINGS[setting], "random", 0, 100)
    assert len(result.curve[0]) == len(result.curve[1]) == 21
    assert sum(result.measures.values()) == pytest.approx(1.0)
    if result.heat is not None:
        assert np.sum(result.heat["slices"]) == 100


def test_the_frontier_oracle_needs_76_visits_a_cube():
    # 100 cubes of 76 visits; ten episodes may pass before it sees that a cube is mastered.
    assert teach(SETTINGS["2d"], "oracle", 0, episodes=8400).mastered[-1] == 1.0


def test_the_oracle_practises_nothing_but_the_frontier():
    result = teach(SETTINGS["2d-unlearnable"], "oracle", 0, episodes=500)
    locked, learnable, mastered, unlearnable = result.student.visits
    assert (locked, unlearnable) == (0, 0)
    assert learnable > 0.97 * 500
    assert mastered < 0.03 * 500


def test_forgetting_comes_at_half_time_whatever_the_length():
    assert teach(SETTINGS["2d-forgetting"], "random", 0, episodes=60).student.forget_at == 30


def test_maps_count_each_task_in_its_cell():
    tasks = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.99, 0.99], [0.5, 0.5]], dtype=np.float32)
    slices = hypercube._maps(tasks)["slices"]
    assert [slices[0][0][0], slices[1][0][19], slices[2][19][0], slices[3][19][19], slices[4][10][10]] == [1] * 5
    assert np.sum(slices) == 5


def test_one_axis_is_enough():
    result = teach({"dimensions": 1, "cubes": 3}, "random", 0, 30)
    assert result.tasks.shape == (30, 2)
    assert isinstance(result.student.space, gym.spaces.Box)
