"""RLVE's sliding window of difficulty (arXiv 2511.07317)."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.errors import InputError
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


def test_rlve_rises_after_eight_tasks_at_nine_tenths_and_starts_counting_anew():
    teacher = make("rlve", LEVELS)
    observe(teacher, 1.0, 7, n=10)
    assert teacher.level == 0
    p = teacher.propose(1)[0]
    teacher.observe([Outcome(p.id, p.task, [1.0] * 2 + [0.0] * 8)])  # 72 of 80 episodes: 0.9
    assert teacher.level == 1
    observe(teacher, 1.0, 7, level=1)
    assert teacher.level == 1
    observe(teacher, 1.0, 1, level=1)
    assert teacher.level == 2


def test_rlve_forgets_a_check_that_failed():
    teacher = make("rlve", LEVELS)
    observe(teacher, 0.0, 8)
    observe(teacher, 1.0, 7)
    assert teacher.level == 0
    observe(teacher, 1.0, 1)
    assert teacher.level == 1


def test_rlve_counts_the_hardest_level_only_and_draws_the_last_four():
    teacher = make("rlve", LEVELS, start=5)
    tasks = [p.task for p in teacher.propose(4000)]
    assert [tasks.count(level) / 4000 for level in range(6)] == pytest.approx([0, 0, 0.25, 0.25, 0.25, 0.25], abs=0.03)
    teacher = make("rlve", LEVELS, start=2)
    for level in (0, 1):
        observe(teacher, 1.0, 20, level=level)
    assert teacher.level == 2
    observe(teacher, 1.0, 8, level=2)
    assert teacher.level == 3


def test_rlve_counts_successes_where_the_environment_tells_them():
    teacher = make("rlve", LEVELS, tasks=1)
    p = teacher.propose(1)[0]
    teacher.observe([Outcome(p.id, p.task, [0.2, 0.2], successes=[True, True])])
    assert teacher.level == 1


def test_the_hardest_level_is_the_last():
    teacher = make("rlve", LEVELS, start=5)
    observe(teacher, 1.0, 50)
    assert teacher.level == 5


def test_the_variant_falls_where_easier_levels_are_lost_and_climbs_again():
    teacher = make("rlve-down", LEVELS, start=4)
    observe(teacher, 1.0, 20, level=2)
    observe(teacher, 0.0, 7, level=4)
    assert teacher.level == 4
    for level in (3, 2, 1):
        for _ in range(100):
            if teacher.level > level:
                observe(teacher, 0.0, 1)
    assert teacher.level == 1
    observe(teacher, 1.0, 300)
    assert teacher.level == 5


def test_the_variant_keeps_a_level_that_is_merely_hard():
    teacher = make("rlve-down", LEVELS, start=4)
    for _ in range(300):
        p = teacher.propose(1)[0]
        teacher.observe([Outcome(p.id, p.task, [float(p.task < 4)])])
    assert teacher.level == 4


def test_the_variant_goes_on_exactly_and_as_published_it_never_falls():
    teacher, copy = make("rlve-down", LEVELS, start=4), make("rlve-down", LEVELS, start=4, seed=1)
    observe(teacher, 0.0, 9)
    copy.load_state_dict(teacher.state_dict())
    for one in (teacher, copy):
        observe(one, 0.0, 5)
    assert copy.state_dict() == teacher.state_dict()
    published = make("rlve", LEVELS, start=4)
    observe(published, 0.0, 200)
    assert published.level == 4


@pytest.mark.parametrize("options", [{"window": 1}, {"threshold": 0.4}, {"lower_below": 1.5}])
def test_a_fall_needs_easier_levels_and_a_threshold_below_that_of_the_rise(options):
    with pytest.raises(InputError, match="lower_below"):
        make("rlve-down", LEVELS, **options)
