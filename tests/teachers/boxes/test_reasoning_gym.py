"""The coach of reasoning-gym (arXiv 2505.24760)."""

from __future__ import annotations

import gymnasium as gym
import pytest
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


def test_the_coach_goes_up_above_its_threshold_and_down_below_the_other():
    teacher = make("reasoning-gym", LEVELS, last_k=10, start=2)
    observe(teacher, 0.7, 20)
    assert teacher.level == 2  # 0.7 is not above 0.7
    observe(teacher, 1.0, 1)  # a mean of 0.73
    assert teacher.level == 3
    observe(teacher, 0.0, 9)
    assert teacher.level == 3  # nine scores are too few
    observe(teacher, 0.0, 1)
    assert teacher.level == 2


def test_the_coach_forgets_scores_at_a_change_unless_set_as_released():
    levels = {}
    for reset in (True, False):
        teacher = make("reasoning-gym", LEVELS, last_k=10, reset=reset)
        observe(teacher, 1.0, 13)
        levels[reset] = teacher.level
    assert levels == {True: 1, False: 4}  # released: stale scores raise the level again with every outcome


def test_the_coach_ignores_outcomes_of_tasks_drawn_before_a_change():
    teacher = make("reasoning-gym", LEVELS, last_k=10)
    batch = teacher.propose(30)
    teacher.observe([Outcome(p.id, p.task, [1.0]) for p in batch[:10]])
    teacher.observe([Outcome(p.id, p.task, [1.0]) for p in batch[10:]])
    assert teacher.level == 1


@pytest.mark.parametrize(
    ("mode", "expected"), [("upper_bound", {4}), ("inclusive", {0, 1, 2, 3, 4}), ("last_k", {3, 4})]
)
def test_the_coach_draws_from_the_levels_of_its_mode(mode, expected):
    assert {p.task for p in make("reasoning-gym", LEVELS, mode=mode, span=2, start=4).propose(300)} == expected
