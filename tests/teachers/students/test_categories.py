from __future__ import annotations

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.students import CategoryStudent


def test_success_is_logistic_in_skill_minus_difficulty():
    student = CategoryStudent(3, easiest=-1.0, hardest=1.0)
    assert student.rates() == pytest.approx([1 / (1 + np.exp(-1.5)), 0.5, 1 / (1 + np.exp(1.5))])


def test_practice_adds_the_gain_of_each_group_through_the_transfer_matrix():
    transfer = np.array([[1.0, 0.5], [0.0, 2.0]])  # practice of arm 1 helps arm 0 by half
    student = CategoryStudent(2, easiest=0.0, hardest=0.0, transfer=transfer, rate=0.1, seed=3)
    returns = student.practise(np.array([0, 1, 1]), 8)
    share = returns.mean(1)
    gain = np.array([4 * share[0] * (1 - share[0]), (4 * share[1:] * (1 - share[1:])).sum()])
    assert gain.min() > 0
    assert student.theta == pytest.approx(0.1 * transfer @ gain)


def test_transfer_falls_by_e_over_its_distance():
    matrix = CategoryStudent(4, transfer=1.5).effects
    assert matrix[0] == pytest.approx(np.exp(-np.arange(4) / 1.5))
    assert CategoryStudent(3, transfer=0).effects.tolist() == np.eye(3).tolist()


def test_impossible_arms_and_coins_teach_nothing_and_do_not_count():
    student = CategoryStudent(3, infeasible=[0], coins=[1], rate=1.0)
    returns = student.practise(np.repeat([0, 1], 500), 8)
    assert returns[:500].sum() == 0
    assert returns[500:].mean() == pytest.approx(0.5, abs=0.03)
    assert student.theta.tolist() == [0.0, 0.0, 0.0]
    assert student.score() == pytest.approx(student.rates()[2])


def test_looking_changes_nothing_and_outcomes_are_seeded():
    first, second = CategoryStudent(seed=5), CategoryStudent(seed=5)
    assert first.play(np.arange(10), 4).tolist() == second.play(np.arange(10), 4).tolist()
    assert first.theta.tolist() == [0.0] * 10


@pytest.mark.parametrize(
    "bad",
    [{"arms": 0}, {"rate": 0.0}, {"transfer": -1.0}, {"transfer": np.eye(3)}, {"coins": [10]}],
)
def test_arguments_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        CategoryStudent(**bad)
