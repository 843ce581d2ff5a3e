"""Teachers that climb levels of difficulty: RLVE, h1, reasoning-gym's coach and ALP-GMM's baseline."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, as_cube, make
from palaestra.teachers.boxes.ladder import Ladder, from_hardness

LEVELS = gym.spaces.Discrete(6)
CHAINS = ParamSpace([IntAxis("length", 1, 5), FloatAxis("time", 1.0, 3.0, harder="down")])


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


# --- levels -----------------------------------------------------------------------------------------------------------


def test_a_named_axis_has_a_level_for_each_value_and_the_other_axes_stay_uniform():
    ladder, rng = Ladder(as_cube(CHAINS), "length"), np.random.default_rng(0)
    assert ladder.n == 5
    for level in range(5):
        tasks = [CHAINS.from_unit(u) for u in ladder.points(np.full(200, level), rng)]
        assert {task["length"] for task in tasks} == {level + 1}
        assert np.ptp([task["time"] for task in tasks]) > 1.8
        assert {ladder.level(CHAINS.to_unit(task)) for task in tasks} == {level}


def test_without_a_name_all_axes_get_harder_together_each_in_its_direction():
    ladder, rng = Ladder(as_cube(CHAINS), levels=4), np.random.default_rng(0)
    for level in range(4):
        points = ladder.points(np.full(100, level), rng)
        assert (points[:, 0] >= level / 4).all()
        assert (points[:, 0] <= (level + 1) / 4).all()
        assert (points[:, 1] >= 1 - (level + 1) / 4).all()
        assert (points[:, 1] <= 1 - level / 4).all()
        assert {ladder.level(u) for u in points} == {level}


def test_stated_densities_are_those_of_a_uniform_slice():
    assert make("horizon", CHAINS, axis="length").propose(1)[0].prob == pytest.approx(5.0)
    assert make("horizon", CHAINS, levels=3).propose(1)[0].prob == pytest.approx(9.0)
    teacher = make("rlve", CHAINS, axis="length", start=1)  # two levels of five in the window
    assert teacher.propose(1)[0].prob == pytest.approx(2.5)


def test_continuous_axes_have_ten_levels_by_default():
    assert Ladder(as_cube(gym.spaces.Box(0, 1, (2,)))).n == 10


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rlve", {"axis": "lenght"}),
        ("horizon", {"levels": 0}),
        ("rlve", {"start": 5}),
        ("rlve", {"threshold": 1.5}),
        ("rlve", {"window": 0}),
        ("horizon", {"promote": "luck"}),
        ("horizon", {"tasks": 0}),
        ("reasoning-gym", {"mode": "lower_bound"}),
        ("reasoning-gym", {"raise_above": 0.2}),
        ("complexity-minimax", {"reference": (0.1, 0.2)}),
        ("complexity-minimax", {"reference": (0.5, 0.2, 0.5, 0.5, 0.5)}),
        ("complexity-minimax", {"temperature": 0.0}),
        ("oracle-window", {"width": 0.0}),
        ("oracle-window", {"step": (0.1, 0.1, 0.1)}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        make(name, CHAINS, **{"axis": "length", **options} if name != "oracle-window" else options)


# --- RLVE -------------------------------------------------------------------------------------------------------------


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


# --- h1 ---------------------------------------------------------------------------------------------------------------


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


# --- reasoning-gym's coach --------------------------------------------------------------------------------------------


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


def test_the_coach_forgets_scores_at_a_change_unless_told_to_do_as_released():
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


# --- minimax over classes of difficulty -------------------------------------------------------------------------------


def minimax(returns, **options):
    teacher = make("complexity-minimax", gym.spaces.Discrete(len(returns)), **options)
    for level, ret in enumerate(returns):
        teacher.update(level, ret)
    return teacher


def test_a_gap_is_the_worst_loss_of_a_class_above_its_best():
    teacher = minimax([0.9, 0.4, 0.7], reference=[0.0, 0.5, 0.6])
    assert teacher.gaps() == pytest.approx([0.1, 0.1, 0.0])


def test_an_easy_and_a_hard_class_with_equal_gaps_weigh_the_same():
    teacher = minimax([0.8, 0.1], reference=[0.0, 0.7], temperature=0.01)  # losses 0.2 and 0.9, gaps 0.2
    assert teacher.distribution_of_levels() == pytest.approx([0.5, 0.5])
    assert minimax([0.8, 0.1], temperature=0.01).distribution_of_levels() == pytest.approx([0.0, 1.0])


def test_a_single_class_is_plain_minimax():
    assert minimax([0.3]).distribution_of_levels() == pytest.approx([1.0])
    teacher = minimax([0.9, 0.2, 0.8], reference=[0.0, 0.0, 0.0], temperature=0.02)
    assert teacher.distribution_of_levels() == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)


# --- the moving window ------------------------------------------------------------------------------------------------


def test_the_window_moves_by_one_step_after_fifty_good_tasks():
    space = gym.spaces.Box(np.zeros(2), np.array([3.0, 6.0]), dtype=np.float64)
    teacher = make("oracle-window", space, return_range=(-150.0, 350.0), step=(1 / 30, -1 / 30))
    assert teacher.low == pytest.approx([0.0, 5 / 6])
    observe(teacher, 231.0, 49)
    assert teacher.low == pytest.approx([0.0, 5 / 6])
    observe(teacher, 231.0, 1)
    assert teacher.low * [3, 6] == pytest.approx([0.1, 4.8])  # the authors' +0.1 of height and -0.2 of spacing
    observe(teacher, 230.0, 50)
    assert teacher.low * [3, 6] == pytest.approx([0.1, 4.8])  # 230 is not above 230


def test_the_window_stays_inside_and_tasks_stay_in_the_window():
    teacher = make("oracle-window", CHAINS, step=0.3, tasks=1)
    observe(teacher, 1.0, 20)
    assert teacher.low == pytest.approx(from_hardness(as_cube(CHAINS), np.array([5 / 6, 1.0])))
    points = np.array([CHAINS.to_unit(p.task) for p in teacher.propose(200)])
    assert (points[:, 0] == 1.0).all()
    assert (points[:, 1] <= 1 / 6).all()
    assert teacher.propose(1)[0].prob == pytest.approx(36.0)
