"""The four rules of teacher-student curriculum learning (arXiv 1707.00183)."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import make
from palaestra.teachers.arms.tscl import slope

RULES = ("online", "naive", "window", "sampling")


def tscl(rule, n=3, **options):
    return make(f"tscl-{rule}", gym.spaces.Discrete(n), **options)


def test_slopes_are_those_of_the_least_squares_line():
    assert slope([0, 1, 2, 3], [1.0, 3.0, 5.0, 7.0]) == pytest.approx(2.0)
    assert slope([10, 20], [0.7, 0.2]) == pytest.approx(-0.05)
    assert slope([0, 1, 2], [0.0, 1.0, 0.0]) == pytest.approx(0.0)
    times, scores = [3, 4, 9, 11, 30], [0.1, 0.4, 0.2, 0.9, 0.3]
    assert slope(times, scores) == pytest.approx(np.polyfit(times, scores, 1)[0])


@pytest.mark.parametrize(("times", "scores"), [([4], [0.3]), ([], []), ([2, 2, 2], [0.1, 0.5, 0.9])])
def test_what_has_no_slope_is_an_error_and_not_0(times, scores):
    with pytest.raises(ValueError, match="no slope"):
        slope(times, scores)


def test_online_follows_the_changes_of_score():
    teacher = tscl("online", alpha=0.1)
    for score in (0.5, 0.8, 0.6):
        teacher.update(1, score)
    first = 0.1 * 0.5
    second = first + 0.1 * (0.3 - first)
    assert teacher.q.tolist() == pytest.approx([0.0, second + 0.1 * (-0.2 - second), 0.0])


def test_a_group_counts_with_its_mean():
    teacher = tscl("online", alpha=1.0)
    teacher.update(0, [0.0, 1.0, 1.0, 0.0])
    assert teacher.q[0] == 0.5


def test_naive_proposes_runs_of_one_arm_and_learns_from_whole_runs():
    teacher = tscl("naive", window=4, alpha=0.5)
    tasks = [p.task for _ in range(6) for p in teacher.propose(2)]
    assert all(len(set(tasks[i : i + 4])) == 1 for i in (0, 4, 8))
    for score in (0.1, 0.3, 0.5):
        teacher.update(2, score)
    assert teacher.q[2] == 0.0
    teacher.update(2, 0.7)
    assert teacher.q[2] == pytest.approx(0.5 * 0.2)
    teacher.update(2, 0.9)  # begins the next run
    assert teacher.q[2] == pytest.approx(0.1)


def test_naive_is_certain_of_its_arm_within_a_run():
    teacher = tscl("naive", window=3)
    chosen = teacher.propose(2)
    assert [p.prob for p in chosen] == pytest.approx([1 / 3, 1.0])
    assert teacher.distribution()[chosen[0].task] == 1.0
    assert teacher.propose(1)[0].task == chosen[0].task
    assert teacher.distribution() == pytest.approx(np.full(3, 1 / 3))


def test_window_regresses_on_the_time_of_all_outcomes():
    teacher = tscl("window", n=2)
    for arm, score in ((0, 0.0), (1, 0.5), (1, 0.5), (0, 0.6)):
        teacher.update(arm, score)
    assert teacher.q == pytest.approx([0.2, 0.0])  # 0.6 over three steps of time


def test_window_forgets_scores_beyond_it():
    teacher = tscl("window", n=1, window=3)
    for score in (1.0, 0.0, 0.1, 0.2):
        teacher.update(0, score)
    assert teacher.q[0] == pytest.approx(0.1)


def test_window_tries_every_arm_twice_before_it_prefers_one():
    teacher = tscl("window", n=5, epsilon=0.0)
    visits = np.zeros(5, dtype=int)
    for _ in range(10):
        task = teacher.sample()
        visits[task] += 1
        teacher.update(task, 0.5)
    assert visits.tolist() == [2] * 5


def test_sampling_tries_every_arm_once_before_it_prefers_one():
    teacher = tscl("sampling", n=5)
    visits = set()
    for _ in range(5):
        task = teacher.sample()
        visits.add(task)
        teacher.update(task, 0.5)
    assert visits == set(range(5))


def test_sampling_draws_one_recent_change_of_each_arm_and_takes_the_largest():
    teacher = tscl("sampling", n=2, window=4)
    for change in (0.4, 0.0, 0.1, 0.0):  # of arm 0: changes .4, -.4, .1, -.1, the oldest of five forgotten
        teacher.update(0, change)
    for score in (0.9, 0.7, 0.5, 0.3, 0.1):  # of arm 1: four changes of -.2
        teacher.update(1, score)
    assert np.mean([p.task == 0 for p in teacher.propose(4000)]) == pytest.approx(0.5, abs=0.03)  # .4, -.4 beat .2
    signed = tscl("sampling", n=2, window=4, absolute=False)
    signed.load_state_dict({**teacher.state_dict(), "settings": signed.state_dict()["settings"]})
    assert np.mean([p.task == 0 for p in signed.propose(4000)]) == pytest.approx(0.75, abs=0.03)  # .4, .1, -.1 beat -.2


@pytest.mark.parametrize("rule", ["online", "window"])
def test_forgetting_has_the_value_of_learning_unless_signs_count(rule):
    for absolute, best in ((True, {0, 1}), (False, {0})):
        teacher = tscl(rule, n=3, absolute=absolute, epsilon=0.0)
        teacher.q[:] = [0.2, -0.2, 0.1]
        assert {p.task for p in teacher.propose(200)} == best


def test_ties_are_shared_evenly():
    teacher = tscl("online", n=4, epsilon=0.1)
    teacher.q[:] = [0.3, 0.3, 0.0, 0.1]
    assert teacher.distribution() == pytest.approx([0.475, 0.475, 0.025, 0.025])


def test_boltzmann_at_the_papers_temperature():
    teacher = tscl("online", n=2, policy="boltzmann")
    teacher.q[:] = [8e-4, -4e-4]
    assert teacher.distribution()[0] == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("rule", RULES)
def test_the_arm_on_which_the_student_gets_better_is_practised(rule):
    teacher, skill, practised = tscl(rule, n=4, seed=2), 0.0, np.zeros(4)
    for _ in range(150):
        task = teacher.sample()
        practised[task] += 1
        skill += 0.008 * (task == 2)
        teacher.update(task, [0.0, 1.0, min(skill, 1.0), 0.5][task])
    assert practised[2] > 0.4 * practised.sum()
    assert practised.argmax() == 2


@pytest.mark.parametrize("rule", RULES)
def test_a_state_in_mid_window_goes_on_alike(rule):
    teacher, other = tscl(rule), tscl(rule, seed=5)
    for i in range(13):
        teacher.update(i % 2, i / 13)
        teacher.propose(1)
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    for one in (teacher, other):
        for i in range(20):
            one.update(i % 3, (7 * i % 20) / 20)
    assert [p.task for p in teacher.propose(40)] == [p.task for p in other.propose(40)]


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("online", {"alpha": 0.0}),
        ("online", {"epsilon": 1.2}),
        ("online", {"temperature": 0.0}),
        ("online", {"policy": "greedy"}),
        ("naive", {"window": 1}),
        ("window", {"window": 1}),
        ("sampling", {"window": 0}),
    ],
)
def test_options_out_of_range_are_refused(rule, options):
    with pytest.raises(InputError, match=next(iter(options))):
        tscl(rule, **options)
