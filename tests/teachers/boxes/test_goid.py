"""GOID: tasks whose neighbours succeed sometimes."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
SQUARE = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)


def rate(x):
    return float(np.clip(1.5 - 2 * x[0], 0.0, 1.0))  # in [0.25, 0.75] for x in [0.375, 0.625]


def test_prediction_is_the_mean_of_the_nearest_tasks():
    teacher = make("goid", LINE, neighbours=2)
    for x, ret in [(0.1, 1.0), (0.2, 0.6), (0.7, 0.2), (0.9, 0.0)]:
        teacher.update(np.array([x]), ret)
    assert teacher.predict(np.array([[0.0], [0.44], [0.95]])) == pytest.approx([0.8, 0.4, 0.1])


def test_accepted_tasks_lie_in_the_band():
    teacher = make("goid", SQUARE, replay_share=0.0, random_share=0.0)
    for x in np.random.default_rng(0).random((300, 2)):
        teacher.update(x, rate(x))
    points = np.array([p.task for p in teacher.propose(500)])
    predicted = teacher.predict(points)
    assert ((predicted >= 0.25) & (predicted <= 0.75)).all()
    assert ((points[:, 0] > 0.3) & (points[:, 0] < 0.7)).mean() > 0.97
    assert np.ptp(points[:, 1]) > 0.9  # the axis without effect stays uniform


def test_where_nothing_lies_in_the_band_the_nearest_to_it_is_taken():
    teacher = make("goid", LINE, neighbours=1, replay_share=0.0, random_share=0.0, low=0.4, high=0.5)
    for i in range(20):
        teacher.update(np.array([(i + 0.5) / 20]), 1.0 if i < 10 else 0.2)
    assert min(p.task[0] for p in teacher.propose(100)) > 0.5  # 0.2 is nearer to the band than 1


def test_shares_of_old_uniform_and_new_tasks():
    teacher = make("goid", SQUARE)
    for x in np.random.default_rng(0).random((300, 2)):
        teacher.update(x, rate(x))
    origins = [p.origin for p in teacher.propose(2000)]
    assert [origins.count(o) / 2000 for o in ("replay", "explore", "exploit")] == pytest.approx(
        [0.2, 0.1, 0.7], abs=0.02
    )


def test_old_goals_are_those_that_were_reached():
    teacher = make("goid", LINE, replay_share=1.0, random_share=0.0, noise=0.0, neighbours=3)
    for x in (0.1, 0.2, 0.9):
        teacher.update(np.array([x]), float(x < 0.5))
    tasks = {round(float(p.task[0]), 6) for p in teacher.propose(200)}
    assert tasks == {0.1, 0.2}


def test_memory_is_bounded():
    teacher = make("goid", LINE, memory=20, neighbours=3)
    for p in teacher.propose(200):
        teacher.observe([Outcome(p.id, p.task, [0.5])])
    own = teacher.state_dict()["own"]
    assert len(own["tried"]) == len(own["goals"]) == 20


def test_the_band_follows_a_student_that_improves():
    teacher, reach, late = make("goid", LINE, seed=3), 0.1, []
    for i in range(1500):
        p = teacher.propose(1)[0]
        x = float(p.task[0])
        teacher.observe([Outcome(p.id, p.task, [float(x < reach + 0.1 * (i % 2))])])
        reach += 0.002 * (reach < x < reach + 0.1)
        if i >= 1000 and p.origin == "exploit":
            late.append(abs(x - reach - 0.05) < 0.15)
    assert reach > 0.5
    assert np.mean(late) > 0.6 or reach > 0.9


@pytest.mark.parametrize(
    "options",
    [
        {"low": 0.8},
        {"replay_share": 0.95},
        {"noise": -1.0},
        {"neighbours": 0},
        {"memory": 5},
        {"candidates": 0},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("goid", LINE, **options)
