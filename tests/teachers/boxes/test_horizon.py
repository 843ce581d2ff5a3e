"""h1: stages of growing length (arXiv 2510.07312)."""

from __future__ import annotations

import gymnasium as gym
from palaestra.teachers import Outcome, make

LEVELS = gym.spaces.Discrete(6)


def observe(teacher, ret, count=1, level=None, n=1):
    """Outcomes with ``n`` equal returns of ``count`` tasks, of one level only where it is given."""
    for _ in range(10_000):
        if not count:
            return
        p = teacher.propose(1)[0]
        if level is None or p.task == level:
            teacher.observe([Outcome(p.id, p.task, [ret] * n)])
            count -= 1
    raise AssertionError(f"level {level} is never proposed")


def test_horizon_gives_every_stage_the_same_number_of_tasks_and_no_other_level():
    teacher, seen = make("horizon", LEVELS, tasks=3), []
    for _ in range(20):
        p = teacher.propose(1)[0]
        seen.append(p.task)
        teacher.observe([Outcome(p.id, p.task, [0.0])])
    assert seen == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5]


def test_horizon_by_accuracy_waits_for_the_mean_of_the_last_tasks():
    teacher = make("horizon", LEVELS, tasks=4, promote="accuracy", threshold=0.75)
    for ret in (0.0, 1.0, 1.0, 0.5):  # 2.5 of 4
        observe(teacher, ret)
    assert teacher.level == 0
    observe(teacher, 0.5)  # the 0.0 drops out: 3 of 4
    assert teacher.level == 1
    observe(teacher, 1.0, 3)
    assert teacher.level == 1


def test_outcomes_of_an_earlier_stage_do_not_count_for_the_next():
    teacher = make("horizon", LEVELS, tasks=5)
    late = teacher.propose(20)
    teacher.observe([Outcome(p.id, p.task, [1.0]) for p in late])
    assert teacher.level == 1
