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


def mastered_line(**options):
    """A student of two cubes whose first has competence 100."""
    student = HypercubeStudent(dimensions=1, cubes=2, **options)
    practise(student, (0.1,), 100)
    return student


def test_bernoulli_returns_are_0_or_1_with_the_competence_as_chance():
    student = HypercubeStudent(dimensions=1, cubes=2, noise="bernoulli", seed=1)
    assert set(practise(student, (0.9,), 50)) == {0.0}
    # Practised from 0 to 100 again and again, the chance is 1 %, 2 % ... 100 %: 50.5 % on average.
    draws = []
    for _ in range(60):
        draws += practise(student, (0.1,), 100)
        student.wipe()
    assert set(draws) == {0.0, 1.0}
    assert np.mean(draws) == pytest.approx(0.505, abs=0.02)


def test_gaussian_noise_is_seeded_clipped_and_of_the_given_size():
    first, again, other = (
        practise(mastered_line(noise="gaussian", scale=0.1, seed=seed), (0.1,), 2000) for seed in (0, 0, 1)
    )
    assert first == again != other
    assert max(first) == 1.0
    assert np.mean(np.array(first) < 1.0) == pytest.approx(0.5, abs=0.04)
    assert np.mean(np.array(first) < 0.9) == pytest.approx(0.159, abs=0.03)


def test_a_wipe_locks_everything_but_the_start_again():
    student = HypercubeStudent(dimensions=1, cubes=3)
    practise(student, (0.0,), 80)
    assert practise(student, (0.4,), 2) == [0.01, 0.02]
    student.wipe()
    assert student.mastered() == 0.0
    assert practise(student, (0.4,), 1) == [0.0]
    assert practise(student, (0.0,), 2) == [0.01, 0.02]


def test_forgetting_comes_once_after_the_given_number_of_episodes():
    student = HypercubeStudent(dimensions=1, cubes=1, forget_at=3)
    assert practise(student, (0.5,), 6) == [0.01, 0.02, 0.03, 0.01, 0.02, 0.03]


def test_unlearnable_boxes_return_nothing_or_coins_and_do_not_count():
    right = [((0.5,), (1.0,))]
    zero = HypercubeStudent(dimensions=1, cubes=4, unlearnable=right)
    practise(zero, (0.1,), 76)
    practise(zero, (0.3,), 76)
    assert practise(zero, (0.6,), 20) == [0.0] * 20
    assert zero.mastered() == 1.0  # two cubes of four can be learned
    coin = HypercubeStudent(dimensions=1, cubes=4, unlearnable=right, unlearnable_return="coin")
    assert np.mean(practise(coin, (0.9,), 1000)) == pytest.approx(0.5, abs=0.06)
    assert coin.visits == [0, 0, 0, 1000]


def test_cubes_behind_unlearnable_ones_do_not_count_either():
    student = HypercubeStudent(dimensions=1, cubes=4, unlearnable=[((0.25,), (0.5,))])
    practise(student, (0.0,), 76)
    assert student.mastered() == 1.0


@pytest.mark.parametrize("seed", [0, 1])
def test_a_share_of_unlearnable_cubes_is_that_share_and_spares_the_start(seed):
    student = HypercubeStudent(unlearnable=0.3, seed=seed)
    for x in np.random.default_rng(0).random((3000, 2)):
        student.episode(x)
    assert student.visits[3] == pytest.approx(900, abs=80)
    assert practise(student, (0.0, 0.0), 1)[0] > 0


@pytest.mark.parametrize("noise", ["none", "gaussian", "bernoulli"])
@pytest.mark.parametrize("dimensions", [1, 3])
def test_many_episodes_at_once_are_the_same_episodes_one_after_the_other(dimensions, noise):
    options = {"noise": noise, "unlearnable": 0.2, "unlearnable_return": "coin", "forget_at": 1500, "seed": 3}
    together, single = (HypercubeStudent(dimensions, 4, 1, **options) for _ in range(2))
    tasks = np.random.default_rng(0).random((3000, dimensions + 1)) ** 2
    tasks[::50] = 1.0
    returns = np.concatenate([together.episodes(part) for part in np.split(tasks, [1, 1, 40, 1600])])
    assert returns.tolist() == [single.episode(task) for task in tasks]
    assert together.visits == single.visits
    assert np.array_equal(together.competence, single.competence)
    assert together.competence.max() > 75


def test_from_another_start_the_way_leads_away_from_it():
    student = HypercubeStudent(dimensions=2, cubes=3, start=(2, 1))
    practise(student, (0.9, 0.5), 75)
    for x in ((0.5, 0.5), (0.5, 0.1), (0.5, 0.9), (0.9, 0.1), (0.9, 0.9)):
        assert practise(student, x, 1) == [0.01]
    assert practise(student, (0.1, 0.5), 1) == [0.0]


def test_the_frontier_is_what_can_be_learned_and_is_not_mastered():
    student = HypercubeStudent(dimensions=1, cubes=3)
    assert student.frontier.tolist() == [[0]]
    practise(student, (0.0,), 75)
    assert student.frontier.tolist() == [[0], [1]]
    practise(student, (0.0,), 1)
    assert student.frontier.tolist() == [[1]]


@pytest.mark.parametrize(
    "bad",
    [
        {"dimensions": 0},
        {"cubes": 0},
        {"irrelevant": -1},
        {"noise": "pink"},
        {"scale": -1.0},
        {"start": (0, 10)},
        {"unlearnable": 1.5},
        {"unlearnable": [((0.0,), (1.0,))]},
        {"unlearnable_return": "one"},
        {"forget_at": -1},
    ],
)
def test_arguments_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        HypercubeStudent(**bad)


def test_axes_may_have_their_own_numbers_of_cubes():
    student = HypercubeStudent(2, (2, 5))
    assert student.cube(np.array([0.6, 0.7])) == (1, 3)
    assert student.competence.shape == (2, 5)
    assert student.reachable == 10
    for index in np.ndindex(2, 5):
        practise(student, (np.array(index) + 0.5) / (2, 5), 76)
    assert student.mastered() == 1.0


def test_a_faster_student_masters_a_cube_in_fewer_tasks():
    student = HypercubeStudent(1, 2, gain=10)
    assert practise(student, (0.9,), 1) == [0.0]
    assert practise(student, (0.1,), 7)[-1] == 0.7
    assert practise(student, (0.9,), 1) == [0.0]
    assert practise(student, (0.1,), 1) == [0.8]
    assert practise(student, (0.9,), 1) == [0.1]
    assert practise(student, (0.1,), 3) == [0.9, 1.0, 1.0]


@pytest.mark.parametrize(
    "options", [{"cubes": (2, 3, 4)}, {"cubes": (2, 0)}, {"gain": 0}, {"start": (1, 4), "cubes": (2, 4)}]
)
def test_shapes_and_gains_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        HypercubeStudent(2, **options)
