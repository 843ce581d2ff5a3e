"""Model predictive prompt selection."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def pool(n):
    return FiniteTasks(list(range(n)))


def test_without_decay_the_posterior_is_the_conjugate_one():
    teacher = make("mopps", pool(3), decay=1.0)
    teacher.update(1, [1.0, 0.0, 0.0, 1.0, 1.0])
    teacher.update(1, [0.0, 0.0])
    assert (teacher.beliefs.alpha[1], teacher.beliefs.beta[1]) == (4, 5)  # 1 + 3, 1 + 4
    assert teacher.rates == pytest.approx([0.5, 4 / 9, 0.5])


def test_with_decay_the_effective_number_of_rollouts_is_n_over_1_minus_decay():
    teacher = make("mopps", pool(1), decay=0.5)
    for _ in range(60):
        teacher.update(0, [1.0] * 8)
    assert teacher.beliefs.alpha[0] + teacher.beliefs.beta[0] - 2 == pytest.approx(8 / 0.5)
    assert teacher.beliefs.beta[0] == 1


def test_a_group_of_one_counts_as_one_rollout():
    """The released code's conditional expression sets both parameters to 8 there."""
    teacher = make("mopps", pool(2), decay=1.0)
    teacher.update(0, 1.0)
    teacher.update(1, 0.0)
    assert teacher.beliefs.alpha.tolist() == [2, 1]
    assert teacher.beliefs.beta.tolist() == [1, 2]


@pytest.mark.parametrize("posterior", ["beta", "kalman"])
def test_choice_concentrates_on_prompts_of_the_target_rate(posterior):
    p, rng = np.linspace(0.02, 0.98, 200), np.random.default_rng(1)
    teacher = make("mopps", pool(200), posterior=posterior, decay=1.0, drift=1e-4)
    for _ in range(150):
        proposals = teacher.propose(20)
        teacher.observe([Outcome(q.id, q.task, (rng.random(8) < p[q.task]).astype(float)) for q in proposals])
    chosen = p[[q.task for _ in range(20) for q in teacher.propose(20)]]
    assert np.abs(chosen - 0.5).mean() < 0.12  # uniform choice gives 0.24


def test_another_target_is_aimed_at():
    teacher = make("mopps", pool(4), target=0.9, decay=1.0)
    for task, rate in enumerate((0.1, 0.5, 0.9, 0.5)):
        teacher.update(task, [1.0] * round(400 * rate) + [0.0] * round(400 * (1 - rate)))
    assert {teacher.propose(1)[0].task for _ in range(20)} == {2}


def test_the_band_draws_uniformly_inside_and_takes_the_nearest_where_too_few_are_inside():
    teacher = make("mopps", pool(5), band=(0.3, 0.7), decay=1.0)
    for task, rate in enumerate((0.05, 0.4, 0.5, 0.6, 0.95)):
        teacher.update(task, [1.0] * round(2000 * rate) + [0.0] * round(2000 * (1 - rate)))
    counts = np.bincount([teacher.propose(1)[0].task for _ in range(900)], minlength=5)
    assert counts[[0, 4]].sum() == 0
    assert counts[1:4] == pytest.approx(np.full(3, 300), abs=60)
    assert len({p.task for p in teacher.propose(5)}) == 5


def test_few_candidates_make_the_choice_less_sharp():
    p = np.linspace(0.02, 0.98, 300)
    chosen = {}
    for candidates in (1, 4, None):
        teacher = make("mopps", pool(300), candidates=candidates, decay=1.0)
        for task in range(300):
            wins = round(200 * p[task])
            teacher.update(task, [1.0] * wins + [0.0] * (200 - wins))
        chosen[candidates] = np.abs(p[[q.task for _ in range(30) for q in teacher.propose(10)]] - 0.5).mean()
    assert chosen[1] == pytest.approx(0.24, abs=0.03)
    assert chosen[None] < chosen[4] < chosen[1]


def test_the_kalman_posterior_by_hand():
    teacher = make("mopps", pool(2), posterior="kalman", drift=1e-9)
    teacher.update(0, [1.0, 1.0, 1.0, 0.0])
    trust = (1 / 12) / (1 / 12 + 0.25 / 4)  # p (1 - p) / n at p = 1/2
    assert teacher.rates[0] == pytest.approx(0.5 + trust * 0.25)
    assert teacher.beliefs.variance == pytest.approx([(1 - trust) / 12, 1 / 12])


def test_the_kalman_posterior_drifts_back_to_uncertainty():
    teacher = make("mopps", pool(2), posterior="kalman", drift=0.01)
    teacher.update(0, [1.0] * 50)
    sure = teacher.beliefs.variance[0]
    teacher.update(1, [1.0])
    assert teacher.beliefs.variance[0] == pytest.approx(sure + 0.01)
    for _ in range(20):
        teacher.update(1, [1.0])
    assert teacher.beliefs.variance[0] == pytest.approx(1 / 12)


@pytest.mark.parametrize(
    "bad", [{"decay": 0}, {"target": 2}, {"band": (0.7, 0.3)}, {"posterior": "gamma"}, {"candidates": 0}, {"drift": 0}]
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("mopps", pool(2), **bad)
