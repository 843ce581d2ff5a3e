from __future__ import annotations

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.students import ItemStudent


def surrogate(student, items, outcomes, theta, own):
    """sum_groups mean_episodes A log pi(outcome) / groups, with the advantages held fixed."""
    logits = student.loadings[items] @ theta + own[items] - student.difficulty[items]
    total = 0.0
    for z, y in zip(logits, outcomes):
        log_pi = y * -np.log1p(np.exp(-z)) + (1 - y) * -np.log1p(np.exp(z))
        total += float((student.advantages(y) * log_pi).mean())
    return total / len(items)


@pytest.mark.parametrize("advantage", ["group", "plain"])
def test_the_gradient_is_that_of_the_surrogate(advantage):
    student = ItemStudent(6, 2, mean=0.0, spread=1.0, advantage=advantage, seed=2)
    student.theta, student.own = np.array([0.3, -0.2]), np.linspace(-0.5, 0.5, 6)
    items = np.array([0, 3, 3, 5])
    outcomes = student.play(items, [8, 4, 8, 16])
    theta_gradient, own_gradient = student.gradient(items, outcomes)
    h = 1e-5
    for at, step in enumerate(np.eye(2) * h):
        up = surrogate(student, items, outcomes, student.theta + step, student.own)
        down = surrogate(student, items, outcomes, student.theta - step, student.own)
        assert theta_gradient[at] == pytest.approx((up - down) / (2 * h), abs=1e-8)
    for at, step in enumerate(np.eye(6) * h):
        up = surrogate(student, items, outcomes, student.theta, student.own + step)
        down = surrogate(student, items, outcomes, student.theta, student.own - step)
        assert own_gradient[at] == pytest.approx((up - down) / (2 * h), abs=1e-8)
    assert np.abs(theta_gradient).max() > 0


def test_group_advantages_make_the_slope_the_standard_deviation_and_plain_ones_the_variance():
    for advantage, expected in (("group", np.sqrt(0.25 * 0.75)), ("plain", 0.25 * 0.75)):
        student = ItemStudent(1, 1, advantage=advantage)
        outcome = np.array([1.0, 0, 0, 0])
        assert student.gradient(np.array([0]), [outcome])[1][0] == pytest.approx(expected, abs=1e-5)


def test_flat_groups_teach_nothing_and_are_counted():
    student = ItemStudent(10)
    student.learn(np.array([0, 1, 2]), [np.ones(4), np.zeros(4), np.array([1.0, 0, 0, 0])])
    assert (student.groups, student.effective) == (3, 1)
    student = ItemStudent(10)
    student.learn(np.array([0, 1]), [np.ones(4), np.zeros(4)])
    assert student.theta.tolist() == [0.0] * 4


def test_dead_items_and_coins_teach_nothing_and_do_not_count():
    student = ItemStudent(100, dead=0.3, coins=0.2)
    rates = student.rates()
    assert (rates == 0).sum() == 30
    assert (rates == 0.5).sum() == 20
    assert student.scored.sum() == 50
    coins = np.flatnonzero(rates == 0.5)
    student.learn(coins, student.play(coins, 8))
    assert not student.theta.any()
    assert not student.own.any()


def test_looking_changes_nothing_and_practice_raises_success():
    student = ItemStudent(200, seed=1)
    before = student.score()
    items = np.arange(200)
    outcomes = student.play(items, 8)
    assert student.score() == before
    for _ in range(20):
        student.learn(items, outcomes)
        outcomes = student.play(items, 8)
    assert student.score() > before + 0.05


def test_items_are_seeded_and_their_views_tell_difficulty():
    first, second = ItemStudent(500, seed=4), ItemStudent(500, seed=4)
    assert first.space.signature == second.space.signature != ItemStudent(500, seed=5).space.signature
    assert np.corrcoef(first.space.difficulty, first.difficulty)[0, 1] == pytest.approx(1 / np.sqrt(1.25), abs=0.05)


def test_groups_may_have_any_size():
    assert [len(y) for y in ItemStudent(5).play([0, 1, 2], [3, 0, 5])] == [3, 0, 5]


@pytest.mark.parametrize(
    "bad",
    [{"items": 0}, {"abilities": 0}, {"advantage": "none"}, {"rate": -1.0}, {"dead": 1.2}, {"dead": 0.6, "coins": 0.5}],
)
def test_arguments_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        ItemStudent(**bad)


def test_groups_of_coins_do_not_count_as_effective():
    student = ItemStudent(10, 1, mean=0.0, spread=0.0, coins=0.5)
    mixed = np.array([0.0, 1.0])
    student.learn(np.arange(10), [mixed] * 10)
    assert (student.groups, student.effective) == (10, 5)
