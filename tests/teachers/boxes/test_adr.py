"""ADR: walls that move by what is measured at them."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
SQUARE = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)


def play(teacher, ret, episodes):
    for _ in range(episodes):
        p = teacher.propose(1)[0]
        teacher.observe([Outcome(p.id, p.task, [float(ret(p.task))])])


def test_the_box_begins_as_the_easiest_point():
    assert make("adr", SQUARE).walls.tolist() == [[0, 0], [0, 0]]
    down = ParamSpace([FloatAxis("a", 0, 1), FloatAxis("b", 0, 1, harder="down")])
    assert make("adr", down).walls.tolist() == [[0, 1], [0, 1]]
    assert make("adr", SQUARE, start=(0.3, 0.6)).walls.tolist() == [[0.3, 0.6], [0.3, 0.6]]


def test_unbroken_success_moves_every_wall_by_one_step_per_ten_episodes_at_it():
    teacher = make("adr", SQUARE, start=(0.5, 0.5), step=0.02)
    hits = np.zeros((2, 2), int)
    for _ in range(600):
        p = teacher.propose(1)[0]
        wall = teacher.state_dict()["in_flight"][-1][1][1]
        if wall is not None:
            hits[wall[0], wall[1]] += 1
        teacher.observe([Outcome(p.id, p.task, [1.0])])
    steps = hits // 10
    assert steps.min() >= 3
    assert teacher.walls == pytest.approx(np.stack([0.5 - 0.02 * steps[0], 0.5 + 0.02 * steps[1]]))


def test_a_wall_settles_where_the_student_stops_coping():
    teacher = make("adr", LINE, step=0.05, seed=1)
    play(teacher, lambda x: x[0] <= 0.62, 3000)
    assert teacher.walls[1, 0] == pytest.approx(0.62, abs=0.05)
    assert teacher.walls[0, 0] == 0.0


def test_a_collapsed_axis_feeds_one_wall_at_a_time():
    teacher = make("adr", LINE, start=(0.5,), boundary_share=1.0, episodes=100)
    play(teacher, lambda x: 1.0, 60)
    assert teacher._tested[:, 0, 1].sum() == 60  # every task lies on both walls, by its coordinates
    assert teacher._tested[:, 0, 1].min() > 15


def test_tasks_that_test_no_wall_move_none_even_where_they_lie_on_one():
    teacher = make("adr", LINE, start=(0.5,), boundary_share=0.0)
    play(teacher, lambda x: 1.0, 100)
    assert teacher.walls.tolist() == [[0.5], [0.5]]


def test_a_wall_that_has_moved_ignores_outcomes_from_where_it_was():
    teacher = make("adr", LINE, boundary_share=1.0, episodes=10)
    teacher.observe([Outcome(p.id, p.task, [1.0]) for p in teacher.propose(400)])
    assert teacher.walls[1, 0] == pytest.approx(0.05)


def test_failure_moves_a_wall_in_but_never_past_the_other():
    teacher = make("adr", LINE, start=(0.5,), step=0.1, boundary_share=1.0)
    play(teacher, lambda x: 1.0, 60)
    assert np.ptp(teacher.walls) > 0.3
    play(teacher, lambda x: 0.0, 600)
    assert np.ptp(teacher.walls) == pytest.approx(0.0)


def test_middling_performance_moves_nothing_but_empties_the_buffer():
    teacher = make("adr", LINE, boundary_share=1.0, start=(0.5,))
    play(teacher, lambda x: 0.5, 200)
    assert teacher.walls.tolist() == [[0.5], [0.5]]
    assert (teacher._tested[..., 1] < 10).all()


def test_successes_count_where_reported_and_returns_on_request():
    walls = {}
    for measure in ("success", "return"):
        teacher = make("adr", LINE, measure=measure, boundary_share=1.0)
        for _ in range(40):
            p = teacher.propose(1)[0]
            teacher.observe([Outcome(p.id, p.task, [0.1] * 2, successes=[True] * 2)])
        walls[measure] = teacher.walls[1, 0]
    assert walls["return"] == 0.0
    assert walls["success"] > 0.04


def test_the_entropy_is_the_mean_log_width():
    teacher = make("adr", SQUARE)
    teacher.walls = np.array([[0.0, 0.25], [0.5, 0.5]])
    assert teacher.metrics()["entropy"] == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert make("adr", SQUARE).metrics()["entropy"] == pytest.approx(math.log(1e-6))


def test_half_of_the_tasks_lie_on_a_wall_and_the_others_in_the_box():
    teacher = make("adr", SQUARE)
    teacher.walls = np.array([[0.2, 0.3], [0.6, 0.9]])
    proposals = teacher.propose(4000)
    points = np.array([p.task for p in proposals])
    assert ((points >= teacher.walls[0]) & (points <= teacher.walls[1])).all()
    on_wall = ((points == teacher.walls[0]) | (points == teacher.walls[1])).any(1)
    assert on_wall.mean() == pytest.approx(0.5, abs=0.03)
    assert {round(p.prob, 9) for p, on in zip(proposals, on_wall) if not on} == {round(0.5 / (0.4 * 0.6), 9)}
    for side in range(2):
        for axis in range(2):
            assert (points[:, axis] == teacher.walls[side, axis]).mean() == pytest.approx(0.125, abs=0.02)


def test_sample_and_update_move_walls_too():
    teacher = make("adr", LINE)
    for _ in range(100):
        teacher.update(teacher.sample(), 1.0)
    assert teacher.walls[1, 0] > 0.05


@pytest.mark.parametrize(
    "options",
    [
        {"start": (2.0,)},
        {"start": (0.1, 0.1)},
        {"boundary_share": -0.1},
        {"episodes": 0},
        {"step": 0.0},
        {"low": 0.7},
        {"high": 1.2},
        {"measure": "luck"},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("adr", LINE, **options)
