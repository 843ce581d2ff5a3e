"""Schedules: stages (1809.10789), growing sets, annealed mixtures (2506.06632), cycles of subsets (2202.05531)."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.arms.cyclical import next_size
from palaestra.teachers.arms.stages import stages_of


def arms(name, n=4, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def support(teacher):
    return np.flatnonzero(teacher.distribution()).tolist()


def test_arms_of_equal_difficulty_share_a_stage_and_stages_share_the_difficulties():
    assert stages_of(np.array([0.5, 0.1, 0.5, 0.9]), 10).tolist() == [1, 0, 1, 2]
    assert stages_of(np.array([0.1 + 0.2, 0.3, 0.6]), 10).tolist() == [0, 0, 1]  # equal but for rounding
    assert stages_of(np.linspace(1, 0, 8), 4).tolist() == [3, 3, 2, 2, 1, 1, 0, 0]


def test_the_order_is_that_of_difficulty_and_not_of_the_list():
    tasks = FiniteTasks(["hard", "easy", "middle"], difficulty=[0.9, 0.1, 0.5])
    teacher = make("sequential", tasks, tasks=2)
    assert [p.task for p in teacher.propose(7)] == ["easy", "easy", "middle", "middle", "hard", "hard", "hard"]


def test_a_mean_that_rounding_puts_below_the_threshold_suffices():
    teacher = arms("sequential", window=6, threshold=0.1)
    assert sum([0.1] * 6) / 6 < 0.1
    for _ in range(6):
        teacher.update(0, 0.1)
    assert teacher.stage == 1


def test_the_next_stage_begins_when_the_window_is_full_and_good_enough():
    teacher = arms("sequential", window=3, threshold=0.5)
    for ret in (0.0, 1.0):
        teacher.update(0, ret)
    assert support(teacher) == [0]
    teacher.update(0, 0.4)  # mean 0.467
    assert support(teacher) == [0]
    teacher.update(0, 0.1)  # mean 0.5 of the last three
    assert support(teacher) == [1]


def test_no_stage_is_passed_on_the_scores_of_another():
    teacher = arms("sequential", window=3, threshold=0.5)
    late = teacher.propose(20)
    teacher.observe([Outcome(p.id, p.task, [1.0]) for p in late])
    assert teacher.stage == 1  # and not 3: seventeen of the outcomes came after the move
    for arm in (0, 2, 3, 1, 1):
        teacher.update(arm, 1.0)
    assert teacher.stage == 1
    teacher.update(1, 1.0)
    assert teacher.stage == 2


def test_the_last_stage_does_not_end():
    teacher = arms("sequential", n=2, window=1)
    for arm in (0, 1, 1, 1):
        teacher.update(arm, 1.0)
    assert support(teacher) == [1]


def test_a_state_within_a_stage_goes_on():
    teacher, other = (arms("sequential", window=3, threshold=0.5, seed=s) for s in (0, 1))
    teacher.update(0, 1.0)
    teacher.update(0, 1.0)
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    other.update(0, 1.0)
    assert other.stage == 1


def test_look_back_and_forward_gives_a_fifth_to_everything_and_look_back_a_tenth_to_the_past():
    both, back = arms("look-back-and-forward", window=1), arms("look-back", window=1)
    for teacher in (both, back):
        teacher.update(0, 1.0)
    assert both.distribution() == pytest.approx([0.05, 0.85, 0.05, 0.05])
    assert back.distribution() == pytest.approx([0.05, 0.95, 0.0, 0.0])


def test_the_set_grows_by_a_stage_after_each_phase_also_within_a_batch():
    teacher = arms("cumulative", plan=[10, 20, 5])
    tasks = [p.task for p in teacher.propose(60)]
    assert set(tasks[:10]) == {0}
    assert set(tasks[10:30]) == {0, 1}
    assert max(tasks[30:35]) <= 2
    assert set(tasks[35:]) == {0, 1, 2, 3}
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))


def test_the_position_is_all_there_is_to_save():
    teacher = arms("cumulative", plan=10)
    teacher.propose(25)
    assert teacher.state_dict()["own"] == {"position": 25}
    assert support(teacher) == [0, 1, 2]


def test_batches_of_one_and_of_many_are_the_same_schedule():
    one, many = arms("cumulative", plan=7), arms("cumulative", plan=7)
    shares = [1.0] * 7 + [1 / 2] * 7 + [1 / 3] * 7 + [1 / 4] * 7
    assert [p.prob for p in many.propose(28)] == pytest.approx(shares)
    assert [one.propose(1)[0].prob for _ in range(28)] == pytest.approx(shares)


def test_a_plan_of_the_wrong_length_is_refused():
    with pytest.raises(InputError, match="phases"):
        arms("cumulative", plan=[10, 20])


@pytest.mark.parametrize(
    ("position", "expected"),
    [(0, [4, 3, 2, 1]), (50, [2.5, 2.5, 2.5, 2.5]), (100, [1, 2, 3, 4]), (1000, [1, 2, 3, 4])],
)
def test_the_cosine_moves_from_easy_to_hard_weights(position, expected):
    teacher = arms("annealed", horizon=100)
    if position:
        teacher.propose(position)
    assert teacher.distribution() == pytest.approx(np.array(expected) / 10)


def test_no_stage_falls_below_the_floor_of_the_cosine():
    teacher, least = arms("annealed", horizon=40), []
    for _ in range(40):
        teacher.propose(1)
        least.append(teacher.distribution().min())
    assert min(least) >= 2 / (4 * 5) - 1e-12


def test_the_gaussian_hurries_by_the_root_of_time():
    teacher = arms("annealed", horizon=100, shape="gaussian")
    teacher.propose(25)  # mu = 0.5 * 3
    weights = np.exp(-((np.arange(4) - 1.5) ** 2) / 0.5)
    assert teacher.distribution() == pytest.approx(weights / weights.sum())


def test_a_narrow_gaussian_is_no_division_by_zero():
    teacher = arms("annealed", horizon=100, shape="gaussian", sigma=1e-3)
    teacher.propose(30)
    assert teacher.distribution().sum() == pytest.approx(1.0)


def sizes(strategy, start=0.25, end=1.0, factor=0.5, epochs=8):
    size, rising, seen = 0.0, True, []
    for _ in range(epochs):
        size, rising = next_size(size, rising, start, end, factor, strategy)
        seen.append(size)
    return seen


def test_sizes_of_the_cycles():
    assert sizes("cycle") == [0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 1.0, 0.5]
    assert sizes("up", epochs=5) == [0.25, 0.5, 1.0, 1.0, 1.0]
    assert sizes("down", epochs=5) == [1.0, 0.5, 0.25, 0.25, 0.25]
    assert sizes("sharp", epochs=5) == [0.25, 0.5, 1.0, 0.25, 0.5]
    assert sizes("cycle", start=0.3, epochs=6) == pytest.approx([0.3, 0.6, 1.0, 0.5, 0.3, 0.6])
    assert sizes("cycle", start=1.0, epochs=3) == [1.0, 1.0, 1.0]


def test_a_factor_close_to_1_makes_the_cycle_longer():
    assert sizes("cycle", factor=0.9, epochs=60).count(1.0) < sizes("cycle", factor=0.5, epochs=60).count(1.0)


def test_an_epoch_goes_once_through_a_subset_of_its_size():
    teacher = arms("cyclical", n=40)
    for share in (0.25, 0.5, 1.0, 0.5):
        epoch = [p.task for p in teacher.propose(int(40 * share))]
        assert len(set(epoch)) == len(epoch)
        assert teacher.size == share


def test_equal_scores_make_uniform_subsets_and_others_favour_the_eager():
    counts = {}
    for kind, options in {
        "equal": {"scores": [2.0] * 8},
        "easy": {},
        "hard": {"first": "hard"},
    }.items():
        teacher = arms("cyclical", n=8, end=0.25, **options)
        counts[kind] = np.bincount([p.task for p in teacher.propose(3000)], minlength=8) / 3000
    assert counts["equal"] == pytest.approx(np.full(8, 1 / 8), abs=0.03)
    assert counts["easy"][0] > 2 * counts["easy"][-1]
    assert counts["hard"][-1] > 2 * counts["hard"][0]


def test_an_epoch_goes_on_after_saving():
    teacher, other = arms("cyclical", n=20), arms("cyclical", n=20, seed=3)
    teacher.propose(8)
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert [p.task for p in teacher.propose(70)] == [p.task for p in other.propose(70)]
    assert teacher.size == other.size


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sequential", {"window": 0}),
        ("sequential", {"threshold": 1.1}),
        ("sequential", {"tasks": 0}),
        ("sequential", {"stages": 0}),
        ("look-back", {"review": -0.1}),
        ("cumulative", {"plan": 0}),
        ("annealed", {"horizon": 0}),
        ("annealed", {"shape": "linear"}),
        ("annealed", {"sigma": math.nan}),
        ("cyclical", {"start": 0.0}),
        ("cyclical", {"start": 0.9, "end": 0.5}),
        ("cyclical", {"factor": 1.0}),
        ("cyclical", {"strategy": "spiral"}),
        ("cyclical", {"scores": [1.0, 0.0, 1.0, 1.0]}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        arms(name, **options)


def test_tiers_move_from_one_mixture_to_another_in_a_part_of_the_run():
    teacher = arms("tiers", n=3, early=(8, 1, 1), late=(0, 2, 8))
    teacher.expect(100)
    found = []
    for count in (30, 20, 20, 30):
        teacher.propose(count)
        found.append(teacher.distribution().tolist())
    assert found[0] == pytest.approx([0.8, 0.1, 0.1])
    assert found[1] == pytest.approx([0.4, 0.15, 0.45])  # the average, half-way
    assert found[2] == found[3] == pytest.approx([0.0, 0.2, 0.8])
    assert arms("tiers", n=2).distribution().tolist() == pytest.approx([2 / 3, 1 / 3])
    with pytest.raises(InputError, match="for each of 3 stages"):
        arms("tiers", n=3, early=(1, 1))
    with pytest.raises(InputError, match="two rising shares"):
        arms("tiers", n=3, rise=(0.7, 0.3))
