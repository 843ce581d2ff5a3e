"""Prompt curriculum learning."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def test_the_values_nearest_to_tau_are_chosen():
    values = np.array([0.1, 0.45, 0.6, 0.95])
    teacher = make("pcl", FiniteTasks([1, 2, 3, 4]), value=lambda tasks: values[tasks])
    assert [p.task for p in teacher.propose(2)] == [2, 3]
    hard = make("pcl", FiniteTasks([1, 2, 3, 4]), value=lambda tasks: values[tasks], tau=0.0)
    assert [p.task for p in hard.propose(2)] == [1, 2]


def test_a_constant_value_chooses_uniformly():
    teacher = make("pcl", FiniteTasks(list(range(10))), value=lambda tasks: np.full(len(tasks), 0.3))
    counts = np.bincount([p.task for _ in range(2000) for p in teacher.propose(2)], minlength=10)
    assert counts / 4000 == pytest.approx(np.full(10, 0.1), abs=0.02)


def test_perfect_values_choose_prompts_of_rate_tau():
    p = np.random.default_rng(0).random(2000)
    teacher = make("pcl", FiniteTasks(list(range(2000))), value=lambda tasks: p[tasks])
    chosen = [q.task for _ in range(20) for q in teacher.propose(64)]
    assert p[chosen].mean() == pytest.approx(0.5, abs=0.01)
    assert np.abs(p[chosen] - 0.5).max() < 0.25  # a quarter of the candidates: 0.375 to 0.625, give or take


def test_factor_1_is_uniform_choice_whatever_the_values():
    p = np.linspace(0, 1, 100)
    teacher = make("pcl", FiniteTasks(list(range(100))), value=lambda tasks: p[tasks], factor=1)
    chosen = [q.task for _ in range(200) for q in teacher.propose(16)]
    assert np.abs(p[chosen] - 0.5).mean() == pytest.approx(0.25, abs=0.02)


def test_the_model_made_here_finds_the_prompts_of_medium_difficulty():
    difficulty, rng = np.linspace(0, 1, 500), np.random.default_rng(0)
    features = np.column_stack([difficulty, rng.random(500)])
    p = 1 / (1 + np.exp(8 * (difficulty - 0.7)))
    teacher = make("pcl", FiniteTasks(list(range(500)), features=features))
    for _ in range(60):
        proposals = teacher.propose(32)
        teacher.observe([Outcome(q.id, q.task, (rng.random(8) < p[q.task]).astype(float)) for q in proposals])
    everything = np.arange(500)
    assert np.abs(teacher.predict(everything) - p).mean() < 0.12
    chosen = p[[q.task for q in teacher.propose(32)]]
    assert np.abs(chosen - 0.5).mean() < 0.2 < np.abs(p - 0.5).mean()


def test_the_model_never_sees_the_rewards_of_what_was_not_chosen():
    asked = []

    def value(tasks):
        asked.append(sorted(tasks.tolist()))
        return np.linspace(0, 1, 6)[tasks]

    teacher = make("pcl", FiniteTasks(list(range(6))), value=value, factor=2)
    proposals = teacher.propose(2)
    assert len(asked[0]) == 4  # candidates
    teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals])
    assert asked[1] == sorted(p.task for p in proposals)


def test_the_effective_ratio_is_the_share_of_groups_with_advantages():
    teacher = make("pcl", FiniteTasks(list(range(6))))
    a, b, c, d = teacher.propose(4)
    returns = zip((a, b, c, d), ([0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]))
    teacher.observe([Outcome(p.id, p.task, r) for p, r in returns])
    assert teacher.metrics()["effective_ratio"] == 0.25
    assert teacher.metrics()["value_error"] == pytest.approx(0.75 * 0.25)  # V = 0.5 before anything is learned


def test_a_feature_without_spread_is_harmless():
    teacher = make("pcl", FiniteTasks([1, 2, 3], features=np.full((3, 2), 0.4)))
    teacher.observe([Outcome(p.id, p.task, [1.0, 1.0]) for p in teacher.propose(3)])
    assert np.isfinite(teacher.predict(np.arange(3))).all()


@pytest.mark.parametrize("values", [[0.1], [np.nan] * 3])
def test_values_that_are_none_are_refused(values):
    with pytest.raises(InputError, match="one finite number for each"):
        make("pcl", FiniteTasks([1, 2, 3]), value=lambda tasks: values).propose(3)


@pytest.mark.parametrize("bad", [{"tau": 2}, {"factor": 0}, {"rate": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("pcl", FiniteTasks([1, 2]), **bad)
