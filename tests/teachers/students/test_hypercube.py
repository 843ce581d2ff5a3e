from __future__ import annotations

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.students import HypercubeStudent


def practise(student, x, times):
    return [student.episode(np.array(x, dtype=float)) for _ in range(times)]


def test_only_the_origin_can_be_learned_at_first():
    student = HypercubeStudent()
    assert practise(student, (0.05, 0.05), 3) == [0.01, 0.02, 0.03]
    assert practise(student, (0.15, 0.05), 3) == [0.0, 0.0, 0.0]


def test_75_visits_unlock_the_neighbours_towards_higher_indices():
    student = HypercubeStudent()
    practise(student, (0.05, 0.05), 74)
    assert practise(student, (0.15, 0.15), 1) == [0.0]
    practise(student, (0.05, 0.05), 1)
    for x in ((0.15, 0.15), (0.15, 0.05), (0.05, 0.15)):
        assert practise(student, x, 1) == [0.01]
    assert practise(student, (0.25, 0.05), 1) == [0.0]


def test_competence_stops_at_100_and_mastery_is_above_75():
    student = HypercubeStudent(dimensions=1, cubes=4)
    assert practise(student, (0.0,), 75)[-1] == 0.75
    assert student.mastered() == 0.0
    assert practise(student, (0.0,), 1) == [0.76]
    assert student.mastered() == 0.25
    assert practise(student, (0.0,), 60)[-1] == 1.0


def test_a_frontier_teacher_masters_everything_in_76_visits_per_cube():
    student = HypercubeStudent(dimensions=2, cubes=3)
    for index in np.ndindex(3, 3):
        practise(student, (np.array(index) + 0.5) / 3, 76)
    assert student.mastered() == 1.0


@pytest.mark.parametrize("cubes", [6, 9, 10, 21, 38])
def test_a_coordinate_of_one_lies_in_the_last_cube(cubes):
    assert HypercubeStudent(dimensions=2, cubes=cubes).cube(np.array([1.0, 0.0])) == (cubes - 1, 0)


def test_irrelevant_axes_change_nothing():
    student = HypercubeStudent(dimensions=1, cubes=10, irrelevant=2)
    assert student.space.shape == (3,)
    assert practise(student, (0.0, 0.9, 0.2), 1) + practise(student, (0.0, 0.1, 0.8), 1) == [0.01, 0.02]


def test_bernoulli_returns_are_0_or_1_with_the_competence_as_chance():
    student = HypercubeStudent(dimensions=1, cubes=2, noise="bernoulli", seed=1)
    student.competence[0] = 40
    student.competence[1] = 0
    returns = practise(student, (0.9,), 50)
    assert set(returns) == {0.0}
    draws = []
    for _ in range(3000):
        student.competence[0] = 39
        draws += practise(student, (0.1,), 1)
    assert set(draws) == {0.0, 1.0}
    assert np.mean(draws) == pytest.approx(0.4, abs=0.03)


def test_gaussian_noise_is_seeded_clipped_and_of_the_given_size():
    def returns(seed):
        student = HypercubeStudent(dimensions=1, cubes=2, noise="gaussian", scale=0.1, seed=seed)
        student.competence[0] = 100
        return [min(r, 1.0) for r in practise(student, (0.1,), 2000)]

    first = np.array(returns(0))
    assert first.tolist() == returns(0) != returns(1)
    assert first.max() == 1.0
    assert np.mean(first < 1.0) == pytest.approx(0.5, abs=0.04)
    assert np.mean(first < 0.9) == pytest.approx(0.159, abs=0.03)


@pytest.mark.parametrize(
    "bad", [{"dimensions": 0}, {"cubes": 0}, {"irrelevant": -1}, {"noise": "pink"}, {"scale": -1.0}]
)
def test_arguments_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        HypercubeStudent(**bad)
