"""CurrOT: matching, the regression of returns, and particles that go to the target no further than the student can."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import make
from palaestra.teachers.boxes.assignment import assign
from palaestra.teachers.boxes.currot import kernel_mean

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
SQUARE = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)


def led(space, episodes, able, **options):
    teacher = make("currot", space, **options)
    for _ in range(episodes):
        task = teacher.sample()
        teacher.update(task, float(able(task)))
    return teacher


def test_the_assignment_is_the_cheapest_of_all():
    rng = np.random.default_rng(0)
    for n, m in [(1, 1), (3, 3), (4, 6), (5, 5), (2, 7)]:
        for _ in range(10):
            cost = rng.integers(0, 9, (n, m)).astype(float)  # with ties
            chosen = assign(cost)
            assert len(set(chosen)) == n
            best = min(sum(cost[i, j] for i, j in enumerate(way)) for way in itertools.permutations(range(m), n))
            assert cost[np.arange(n), chosen].sum() == best


def test_the_assignment_is_scipys_for_many_rows():
    reference = pytest.importorskip("scipy.optimize").linear_sum_assignment
    for seed in range(5):
        cost = np.random.default_rng(seed).random((40, 55))
        assert cost[np.arange(40), assign(cost)].sum() == pytest.approx(cost[reference(cost)].sum())


def test_the_regression_weighs_returns_by_distance():
    tasks, returns = np.array([[0.0], [0.1]]), np.array([0.0, 1.0])
    weight = np.exp(-0.5)  # of the farther task, one width away
    assert kernel_mean(np.array([[0.0]]), tasks, returns, 0.1) == pytest.approx([weight / (1 + weight)])
    assert kernel_mean(np.array([[0.05], [9.0]]), tasks, returns, 0.1) == pytest.approx([0.5, 1.0])


def test_particles_arrive_at_the_target_of_a_student_who_can_do_everything():
    teacher = led(SQUARE, 1000, lambda x: True, target=[[0.9, 0.9], [0.1, 0.9]])
    distance = np.square(teacher.cloud[:, None] - np.array([[0.9, 0.9], [0.1, 0.9]])).sum(2)
    assert np.sqrt(distance.min(1)).max() < 0.02
    assert np.bincount(distance.argmin(1)).tolist() == [25, 25]


def test_the_way_to_the_target_never_grows_while_performance_suffices():
    teacher, ways = make("currot", SQUARE, target=[[0.95, 0.95]]), []
    for _ in range(300):
        teacher.update(teacher.sample(), 1.0)
        ways.append(np.sqrt(np.square(teacher.cloud - 0.95).sum(1)).mean())
    assert (np.diff(ways) <= 1e-12).all()
    assert ways[-1] < 0.05 < ways[0]


def test_a_particle_goes_no_further_than_enough_is_predicted():
    teacher = make("currot", LINE, particles=40)
    origin, goals = np.full((40, 1), 0.45), np.ones((40, 1))
    moved = teacher._move(origin, goals, np.ones(40, bool), lambda points: (points[:, 0] < 0.5).astype(float))
    assert moved == pytest.approx(np.full((40, 1), 0.495), abs=0.005)


def test_a_particle_stays_where_no_candidate_is_nearer_to_its_goal():
    teacher = make("currot", SQUARE, particles=40, candidates=1, radius=0.5)
    origin, goals = teacher.cloud, np.full((40, 2), 0.5)
    for _ in range(10):
        moved = teacher._move(origin, goals, np.ones(40, bool), lambda points: np.ones(len(points)))
        assert (np.square(moved - goals).sum(1) <= np.square(origin - goals).sum(1)).all()


def test_particles_stop_where_the_student_fails():
    teacher = led(LINE, 500, lambda x: x[0] < 0.6, target=[[1.0]], seed=2)
    assert np.median(teacher.cloud) == pytest.approx(0.6, abs=0.1)
    assert teacher.cloud.max() < 0.6 + 0.1 + 0.1


def test_particles_move_by_at_most_the_radius():
    teacher = led(SQUARE, 19, lambda x: True, target=[[1.0, 1.0]], radius=0.05)
    before = teacher.cloud.copy()
    teacher.update(teacher.sample(), 1.0)
    moves = np.sqrt(np.square(teacher.cloud - before).sum(1))
    assert 0.02 < moves.max() <= 0.05 + 1e-12


def test_a_particle_on_its_target_stays():
    teacher = led(LINE, 19, lambda x: True, target=[[0.5]], particles=25)
    teacher.cloud[:] = 0.5
    teacher.update(teacher.sample(), 1.0)
    assert teacher.cloud == pytest.approx(np.full((25, 1), 0.5))


def test_the_search_before_any_success_finds_the_few_tasks_that_can_be_done():
    teacher = led(SQUARE, 600, lambda x: np.square(x - 0.2).sum() < 0.01, seed=1, target=[[0.2, 0.2]])
    assert teacher.metrics()["successes"] > 25


def test_the_cloud_spreads_over_what_can_be_done_of_a_uniform_target():
    teacher = led(SQUARE, 500, lambda x: x[0] < 0.5)
    assert (teacher.cloud[:, 0] < 0.6).mean() > 0.9
    assert np.ptp(teacher.cloud[:, 1]) > 0.7
    assert np.ptp(teacher.cloud[:, 0]) > 0.3


@pytest.mark.parametrize(
    "options",
    [
        {"performance": 1.5},
        {"target": [[0.1, 0.2]]},
        {"target": [[2.0]]},
        {"particles": 1},
        {"radius": 0.0},
        {"update_rate": 0},
        {"candidates": 0},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("currot", LINE, **options)
