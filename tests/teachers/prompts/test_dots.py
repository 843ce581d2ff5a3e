"""DOTS: difficulty predicted from reference prompts."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.dots import attend, logit, platt


def pool(n):
    return FiniteTasks(list(range(n)), features=np.linspace(0, 1, n)[:, None])


def rates_of(n):
    return 1 / (1 + np.exp(12 * (np.linspace(0, 1, n) - 0.6)))


def look(teacher, rates, n=100):
    """Answer one whole reference set."""
    proposals = teacher.propose(teacher._size)
    assert not any(p.train for p in proposals)
    for p in proposals:
        wins = round(n * rates[p.task])
        teacher.observe([Outcome(p.id, p.task, [1.0] * wins + [0.0] * (n - wins))])
    return proposals


def test_attention_by_hand():
    keys, values = np.array([[0.0], [1.0]]), np.array([0.2, 0.8])
    near = np.exp(-(0.25**2) / (2 * 0.5**2)), np.exp(-(0.75**2) / (2 * 0.5**2))
    expected = (near[0] * 0.2 + near[1] * 0.8) / sum(near)
    assert attend(np.array([[0.25]]), keys, values, 0.5) == pytest.approx([expected])
    assert attend(np.array([[0.4], [0.9]]), keys, values, 1e-3) == pytest.approx([0.2, 0.8])  # narrow: the nearest
    assert attend(np.array([[0.4]]), keys, values, 1e3) == pytest.approx([0.5])  # wide: the mean
    assert attend(keys, keys, values, 0.5, skip_own=True) == pytest.approx([0.8, 0.2])


def test_calibration_leaves_a_calibrated_prediction_and_undoes_a_flattened_one():
    rates = np.linspace(0.05, 0.95, 200)
    assert platt(rates, rates) == pytest.approx((1, 0), abs=1e-6)
    flat = 1 / (1 + np.exp(-(0.5 * logit(rates) - 0.3)))  # logit(rates) = 2 (logit(flat) + 0.3)
    assert platt(flat, rates, ridge=1e-6) == pytest.approx((2, 0.6), abs=1e-3)


def test_calibration_stays_finite_where_everything_is_solved():
    scale, shift = platt(np.ones(4), np.ones(4))
    assert np.isfinite([scale, shift]).all()


def test_the_reference_set_comes_first_and_again_after_every_period():
    teacher = make("dots", pool(100), reference=10, period=30, screen=6, n=12)
    kinds = [(p.train, p.n) for _ in range(20) for p in teacher.propose(5)]
    expected = [(False, 6)] * 10 + [(True, 12)] * 30
    assert kinds[:80] == expected * 2
    assert teacher.metrics()["screening_share"] == pytest.approx((10 + 10 + 10) / 100)


def test_reference_sets_differ():
    teacher = make("dots", pool(100), reference=10, period=5)
    first, _, second = teacher.propose(10), teacher.propose(5), teacher.propose(10)
    assert {p.task for p in first} != {p.task for p in second}


def test_predictions_follow_the_rates_and_the_choice_the_target():
    rates = rates_of(400)
    teacher = make("dots", pool(400), reference=64)
    look(teacher, rates)
    assert np.abs(teacher.predicted - rates).mean() < 0.06
    chosen = [p.task for p in teacher.propose(32)]
    assert np.abs(rates[chosen] - 0.5).max() < 0.2


def test_at_the_released_temperature_the_choice_is_the_nearest_and_at_a_high_one_uniform():
    rates = rates_of(200)
    greedy = make("dots", pool(200), reference=40, tau=1e-3)
    look(greedy, rates)
    distance = np.abs(greedy.predicted - 0.5)
    chosen = [p.task for p in greedy.propose(10)]
    assert distance[chosen].mean() < np.sort(distance)[:10].mean() + 2e-3
    loose = make("dots", pool(200), reference=40, tau=1e3)
    look(loose, rates)
    drawn = [p for _ in range(100) for p in loose.propose(10) if p.train]
    assert np.mean([p.task for p in drawn]) == pytest.approx(99.5, abs=8)
    assert drawn[0].prob == pytest.approx(1 / 200, rel=0.01)


def test_before_any_answer_the_choice_is_uniform():
    teacher = make("dots", pool(40), reference=4, period=10**6)
    teacher.propose(4)
    assert [p.prob for p in teacher.propose(3)] == pytest.approx([1 / 40, 1 / 39, 1 / 38])


def test_training_outcomes_are_no_references():
    teacher = make("dots", pool(40), reference=4)
    look(teacher, rates_of(40))
    proposals = teacher.propose(40)  # all of them, references too
    before = teacher.state_dict()["own"]
    teacher.observe([Outcome(p.id, p.task, [0.0, 0.0]) for p in proposals])
    assert teacher.state_dict()["own"] == before


@pytest.mark.parametrize("bad", [{"tau": 0}, {"reference": 0}, {"period": 0}, {"width": 0}, {"target": -1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("dots", pool(4), **bad)
