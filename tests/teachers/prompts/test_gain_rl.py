"""GAIN-RL: the sliding window."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def pool(n):
    return FiniteTasks(list(range(n)), difficulty=np.linspace(0, 1, n))


def paper(n=7500, **options):
    """The paper's absolute numbers, with a step of mu for every group."""
    return make("gain-rl", pool(n), **{"sigma": 1000, "step": 1000, "batch": 1, **options})


def observe(teacher, returns, angle=None):
    proposal = teacher.propose(1)[0]
    extras = {} if angle is None else {"angle_concentration": [angle] * len(returns)}
    teacher.observe([Outcome(proposal.id, proposal.task, returns, extras=extras)])


def test_the_steps_of_the_window():
    teacher = paper()
    observe(teacher, [1.0, 1.0], angle=0.3)
    assert teacher.mu == pytest.approx(649.3, abs=0.05)  # 500 tanh 1 + 500 tanh 0.6
    observe(teacher, [0.0, 0.0], angle=0.0)
    assert teacher.mu == pytest.approx(649.3, abs=0.05)  # never back
    observe(teacher, [0.0, 1.0])
    assert teacher.mu == pytest.approx(649.3, abs=0.05)
    for _ in range(40):
        observe(teacher, [1.0], angle=1.0)
    assert teacher.mu == 7499


def test_the_angles_move_the_window_below_half_of_success():
    """As published, accuracy alone does not: tanh(alpha (a - beta)) is negative there."""
    without, beside = paper(), paper()
    for _ in range(5):
        observe(without, [0.0, 0.0, 0.0, 1.0])
        observe(beside, [0.0, 0.0, 0.0, 1.0], angle=0.4)
    assert without.mu == 0.0
    assert beside.mu == pytest.approx(5 * 500 * (np.tanh(0.8) - np.tanh(0.5)))


def test_the_next_draw_is_from_the_window_that_has_moved():
    """The released code draws with the mu before."""
    teacher = paper(sigma=1)
    observe(teacher, [1.0, 1.0], angle=0.3)
    assert all(abs(p.task - 649) <= 5 for p in teacher.propose(3))


def test_the_window_is_gaussian_over_ranks():
    teacher = paper(n=50, sigma=5, step=10)
    probabilities = teacher.distribution()
    assert probabilities[5] / probabilities[0] == pytest.approx(np.exp(-0.5))
    counts = np.zeros(50)
    for _ in range(4000):
        proposal = teacher.propose(1)[0]
        counts[proposal.task] += 1
        teacher.observe([Outcome(proposal.id, proposal.task, [0.0, 1.0])])  # half solved: a step of 0
    assert counts / 4000 == pytest.approx(probabilities, abs=0.025)


def test_nothing_is_drawn_twice_until_the_window_moves():
    teacher = make("gain-rl", pool(30), sigma=3, step=3, batch=10**6)
    batches = [p for _ in range(6) for p in teacher.propose(5)]
    assert sorted(p.task for p in batches) == list(range(30))
    mixed = teacher.propose(2) and teacher.propose(30)
    assert len({p.task for p in mixed}) == 30
    teacher = make("gain-rl", pool(300), sigma=1, step=1, batch=5)
    first = teacher.propose(5)
    teacher.observe([Outcome(p.id, p.task, [0.0]) for p in first])
    again = teacher.propose(5)
    assert {p.task for p in first} & {p.task for p in again}


def test_the_probability_of_a_draw_is_that_given_the_draws_before():
    teacher = make("gain-rl", pool(40), sigma=8)
    left = teacher.distribution()
    for proposal in teacher.propose(10) + teacher.propose(10):
        assert proposal.prob == pytest.approx(left[proposal.task] / left.sum())
        left[proposal.task] = 0


def test_numbers_scale_with_the_list_by_default():
    teacher = make("gain-rl", pool(75))
    assert (teacher._width, teacher._step, teacher._batch) == (10, 10, 10)


def test_a_signal_gives_the_order():
    teacher = make("gain-rl", pool(4), signal=[0.1, 0.9, 0.3, 0.5])
    assert teacher.order.tolist() == [1, 3, 2, 0]
    assert make("gain-rl", pool(4)).order.tolist() == [0, 1, 2, 3]


def test_accuracy_is_of_successes_and_not_of_other_rewards():
    teacher = paper()
    proposal = teacher.propose(1)[0]
    teacher.observe([Outcome(proposal.id, proposal.task, [1.0, 1.0], successes=[False, False])])
    assert teacher.mu == 0


@pytest.mark.parametrize("bad", [{"sigma": 0}, {"step": -2}, {"batch": 0}, {"signal": [1]}, {"signal": [np.nan] * 4}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("gain-rl", pool(4), **bad)
