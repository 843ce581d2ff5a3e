"""SEC (arXiv 2505.14970), with the numbers of its worked example."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.sampling import softmax
from palaestra.teachers.signals import mean_absolute_advantage

TWO_OF_EIGHT = [1.0, 1.0] + [0.0] * 6


def sec(n=2, **kwargs):
    return make("sec", gym.spaces.Discrete(n), **kwargs)


def batch(teacher, **returns_by_arm):
    """One batch with the given outcomes; `a0=[...]` is a group of arm 0, a list of lists several groups."""
    outcomes = []
    for name, groups in returns_by_arm.items():
        for group in groups if isinstance(groups[0], list) else [groups]:
            proposal = next(p for p in iter(lambda: teacher.propose(1)[0], None) if p.task == int(name[1:]))
            outcomes.append(Outcome(proposal.id, proposal.task, group))
    teacher.observe(outcomes)


def test_two_correct_of_eight_give_the_signal_0_8660_and_q_0_4330():
    assert mean_absolute_advantage(np.array(TWO_OF_EIGHT)) == pytest.approx(0.8660, abs=5e-5)
    teacher = sec()
    teacher.update(0, TWO_OF_EIGHT)
    assert teacher.q == pytest.approx([0.4330, 0.0], abs=5e-5)


@pytest.mark.parametrize("correct", range(9))
def test_binary_groups_give_twice_the_root_of_p_times_one_minus_p(correct):
    p = correct / 8
    group = np.array([1.0] * correct + [0.0] * (8 - correct))
    assert mean_absolute_advantage(group) == pytest.approx(2 * math.sqrt(p * (1 - p)), abs=1e-5)


def test_equal_returns_that_are_not_exact_in_binary_give_no_signal():
    assert mean_absolute_advantage(np.full(7, 0.1)) < 1e-9


def test_q_of_1_and_0_gives_probabilities_0_7311_and_0_2689():
    teacher = sec()
    teacher.q = np.array([1.0, 0.0])
    assert teacher.distribution() == pytest.approx([0.7311, 0.2689], abs=5e-5)


def test_arms_are_drawn_with_the_probability_that_proposals_state():
    teacher = sec(seed=3)
    teacher.q = np.array([1.0, 0.0])
    proposals = teacher.propose(20_000)
    assert np.mean([p.task == 0 for p in proposals]) == pytest.approx(0.7311, abs=0.01)
    assert {p.task: round(p.prob, 4) for p in proposals} == {0: 0.7311, 1: 0.2689}


def test_constant_q_is_uniform():
    teacher = sec(n=5)
    assert teacher.distribution() == pytest.approx(np.full(5, 0.2))
    teacher.q = np.full(5, 0.9)
    assert teacher.distribution() == pytest.approx(np.full(5, 0.2))


def test_the_ratio_of_probabilities_is_exp_of_the_difference_over_tau():
    p = softmax(np.array([0.8, 0.2]), 0.2)
    assert p[0] / p[1] == pytest.approx(math.exp(3.0))


def test_a_cold_temperature_does_not_overflow():
    assert softmax(np.array([1.0, 0.0, 0.5]), 1e-6).tolist() == [1.0, 0.0, 0.0]


def test_an_absent_arm_holds_or_decays_as_chosen():
    for absent, expected in (("hold", 0.8), ("decay", 0.4)):
        teacher = sec(absent=absent)
        teacher.q = np.array([0.0, 0.8])
        batch(teacher, a0=TWO_OF_EIGHT)
        assert teacher.q == pytest.approx([0.4330, expected], abs=5e-5)


def test_one_batch_makes_one_step_per_arm_towards_the_mean_over_its_returns():
    teacher = sec(alpha=0.25)
    teacher.q = np.array([0.4, 0.0])
    # Half of four correct gives 1, none of eight gives 0; weighted by returns: 4/12.
    batch(teacher, a0=[[1.0, 1.0, 0.0, 0.0], [0.0] * 8])
    assert teacher.q[0] == pytest.approx(0.25 * (4 / 12) + 0.75 * 0.4, abs=1e-5)


def test_a_stationary_signal_is_approached_geometrically():
    teacher = sec(alpha=0.5)
    for _ in range(4):
        batch(teacher, a0=[1.0, 0.0])
    assert teacher.q[0] == pytest.approx(1 - 0.5**4, abs=1e-5)


def test_deviation_is_not_normalised():
    teacher = sec(objective="deviation", alpha=1.0)
    batch(teacher, a0=TWO_OF_EIGHT)
    assert teacher.q[0] == pytest.approx(0.375)  # (2 * 0.75 + 6 * 0.25) / 8 = 2 p (1 - p)


def test_progress_is_the_change_of_an_arms_mean_return():
    teacher = sec(objective="progress", alpha=1.0)
    signals = []
    for returns in ([0.2, 0.4], [0.9], [0.5, 0.5]):
        batch(teacher, a0=returns)
        signals.append(teacher.q[0])
    assert signals == pytest.approx([0.0, 0.6, -0.4])


def test_single_returns_are_collected_into_groups_of_an_arm():
    teacher = sec(group=8)
    for ret in TWO_OF_EIGHT[:7]:
        teacher.update(0, ret)
        teacher.update(1, 1.0)
    assert teacher.q.tolist() == [0.0, 0.0]
    resumed = sec(group=8)
    resumed.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    for one in (teacher, resumed):
        one.update(0, TWO_OF_EIGHT[7])
        assert one.q == pytest.approx([0.4330, 0.0], abs=5e-5)


def test_an_arm_that_collects_a_group_does_not_decay_while_others_do():
    teacher = sec(absent="decay")
    teacher.q = np.array([0.8, 0.8])
    batch(teacher, a0=[1.0])
    assert teacher.q == pytest.approx([0.8, 0.4])


def test_the_signal_is_computed_from_returns_in_any_declared_range():
    teacher = sec(return_range=(-10.0, 30.0))
    batch(teacher, a0=[30.0, 30.0] + [-10.0] * 6)
    assert teacher.q[0] == pytest.approx(0.4330, abs=5e-5)


def test_arms_half_solved_win_over_hopeless_and_mastered_ones():
    teacher = sec(n=3, tau=0.2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        proposals = teacher.propose(16)
        chance = [0.02, 0.5, 0.98]
        teacher.observe([Outcome(p.id, p.task, (rng.random(8) < chance[p.task]).astype(float)) for p in proposals])
    assert teacher.distribution()[1] > 0.8


def test_its_arms_on_a_box_are_the_cells_of_a_grid():
    teacher = make("sec", gym.spaces.Box(0.0, 1.0, (2,)), bins=(2, 1), tau=0.05)
    teacher.update(np.array([0.9, 0.5], np.float32), [1.0, 0.0])
    assert all(p.task[0] >= 0.5 for p in teacher.propose(50))


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"tau": 0.0},
        {"tau": math.nan},
        {"objective": "loss"},
        {"absent": "drop"},
        {"group": 1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        sec(**options)


def test_a_state_under_other_settings_is_refused():
    with pytest.raises(InputError, match="settings"):
        sec(tau=0.5).load_state_dict(sec().state_dict())


@pytest.mark.parametrize(("n", "tau"), [(5, 0.279), (25, 0.186)])
def test_a_temperature_by_the_arms_gives_one_good_arm_nine_of_ten_draws(n, tau):
    teacher = sec(n, tau="arms")
    assert teacher.temperature == pytest.approx(tau, abs=5e-4)
    teacher.q[0] = 1.0
    assert teacher.distribution()[0] == pytest.approx(0.9)
    assert sec(1, tau="arms").distribution().tolist() == [1.0]
    with pytest.raises(InputError, match="tau"):
        sec(n, tau="arm")
