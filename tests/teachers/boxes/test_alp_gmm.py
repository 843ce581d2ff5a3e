"""ALP-GMM (arXiv 1910.07224), with the numbers of its worked example and its curve on the authors' toy student."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.boxes.alp_gmm import TaskMemory
from palaestra.teachers.boxes.gaussian_mixture import GaussianMixture

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
SQUARE = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)
FAR = [(0.9, 0.9), (0.93, 0.1), (0.96, 0.7), (0.99, 0.4)]


def latest_progress(teacher, pairs):
    """The absolute learning progress of the last of ``pairs`` (task on a line, return)."""
    progress = []
    for i, (x, ret) in enumerate(pairs, 1):
        teacher.update(np.array([x]), ret)
        progress.append(teacher.metrics()["progress"] * i - sum(progress))
    return progress[-1]


def test_progress_is_the_distance_to_the_return_of_the_nearest_task():
    pairs = [(0.1, 0.2), (0.5, 0.8), *FAR, (0.45, 0.3)]
    assert latest_progress(make("alp-gmm", LINE), pairs) == pytest.approx(0.5)


def test_progress_is_zero_until_more_than_five_tasks_are_stored():
    assert latest_progress(make("alp-gmm", LINE), [(0.1, 0.2), *FAR, (0.1, 0.9)]) == pytest.approx(0.0)
    assert latest_progress(make("alp-gmm", LINE), [(0.1, 0.2), (0.2, 0.2), *FAR, (0.1, 0.9)]) == pytest.approx(0.7)


def test_a_window_forgets_the_oldest_task():
    pairs = [(0.1, 0.0), (0.2, 0.5), *FAR, (0.3, 0.5), (0.1, 1.0)]
    assert latest_progress(make("alp-gmm", LINE), pairs) == pytest.approx(1.0)
    assert latest_progress(make("alp-gmm", LINE, history=6), pairs) == pytest.approx(0.5)


@pytest.mark.parametrize("limit", [None, 40])
def test_the_nearest_task_is_that_of_a_search_over_all(limit):
    rng = np.random.default_rng(0)
    memory, tasks, returns = TaskMemory(3, limit), rng.random((600, 3)), rng.random(600)
    parts = np.split(np.arange(600), [1, 3, 40, 41, 150, 151])
    found = np.concatenate([memory.add(tasks[part], returns[part]) for part in parts])
    assert np.isnan(found[0])
    for i in range(1, 600):
        first = 0 if limit is None else max(0, i - limit)
        assert found[i] == returns[first + int(np.square(tasks[first:i] - tasks[i]).sum(1).argmin())]
    copy = TaskMemory.restore(memory.save(), 3, limit)
    more = rng.random((70, 3))
    assert np.array_equal(copy.add(more, returns[:70]), memory.add(more, returns[:70]))
    assert copy.save() == memory.save()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("alp-gmm", {"fit_rate": 30, "components": (2, 3)}),
        ("alp-gmm", {"fit_rate": 30, "components": (2, 3), "history": 20}),
        ("covar-gmm", {"fit_rate": 30, "components": (2, 3)}),
        ("riac", {"region_size": 20}),
    ],
)
def test_outcomes_in_one_batch_teach_what_they_teach_one_after_the_other(name, options):
    batch, single = (make(name, SQUARE, seed=1, **options) for _ in range(2))
    returns = np.random.default_rng(0).random((100, 3))
    for teacher in (batch, single):
        outcomes = [Outcome(p.id, p.task, ret[: 1 + p.id % 3]) for p, ret in zip(teacher.propose(100), returns)]
        for part in [outcomes] if teacher is batch else [[outcome] for outcome in outcomes]:
            teacher.observe(part)
    assert batch.state_dict() == single.state_dict()
    assert [p.task.tolist() for p in batch.propose(50)] == [p.task.tolist() for p in single.propose(50)]


def test_a_window_bounds_what_is_stored():
    teacher = make("alp-gmm", SQUARE, history=20, fit_rate=50, components=(2,))
    for p in teacher.propose(300):
        teacher.observe([Outcome(p.id, p.task, [0.5])])
    assert len(teacher.state_dict()["own"]["memory"]["tasks"]) == 20


def test_the_first_tasks_are_uniform_until_the_first_fit():
    teacher = make("alp-gmm", SQUARE, fit_rate=20, components=(2,))
    for i in range(40):
        proposal = teacher.propose(1)[0]
        assert (proposal.origin == "warmup") == (i < 20)
        assert i >= 20 or proposal.prob == 1.0
        teacher.observe([Outcome(proposal.id, proposal.task, [i / 40])])


def test_components_are_chosen_in_proportion_to_their_mean_progress():
    teacher = make("alp-gmm", LINE, random_share=0.0)
    covariance = np.tile(np.diag([1e-4, 1e-4]), (2, 1, 1))
    # The weights of the mixture play no part.
    teacher._set_mixture(GaussianMixture(np.array([0.9, 0.1]), np.array([[0.2, 0.1], [0.8, 0.3]]), covariance))
    assert teacher.sampler.weights == pytest.approx([0.25, 0.75])
    tasks = np.array([p.task[0] for p in teacher.propose(4000)])
    assert np.mean(tasks > 0.5) == pytest.approx(0.75, abs=0.03)


def test_no_progress_anywhere_makes_the_choice_of_components_uniform():
    teacher = make("alp-gmm", SQUARE, fit_rate=60, components=(3,))
    for p in teacher.propose(60):
        teacher.observe([Outcome(p.id, p.task, [0.4])])
    assert teacher.mixture.means[:, -1] == pytest.approx(np.zeros(3), abs=1e-12)
    assert teacher.sampler.weights == pytest.approx(np.full(3, 1 / 3), abs=1e-6)


def test_a_fifth_of_the_tasks_stays_uniform():
    teacher = make("alp-gmm", SQUARE, fit_rate=60, components=(2,))
    for p in teacher.propose(60):
        teacher.observe([Outcome(p.id, p.task, [float(p.task[0])])])
    origins = [p.origin for p in teacher.propose(5000)]
    assert origins.count("explore") / 5000 == pytest.approx(0.2, abs=0.02)
    assert set(origins) == {"explore", "exploit"}


def test_stated_densities_are_those_of_the_draws():
    teacher = make("alp-gmm", SQUARE, fit_rate=60, components=(2, 3))
    for p in teacher.propose(60):
        teacher.observe([Outcome(p.id, p.task, [float(p.task[0] > 0.7)])])
    probs = np.array([p.prob for p in teacher.propose(8000)])
    inside = ~np.isnan(probs)
    assert 0.3 < inside.mean() < 1.0  # clipping moves some points onto the border, which has no density
    # The mean of 1 / density over draws is the area of the square.
    assert np.sum(1 / probs[inside]) / len(probs) == pytest.approx(1.0, abs=0.06)


def test_a_group_counts_as_one_task_with_its_mean_return():
    teacher = make("alp-gmm", LINE)
    for x, ret in [(0.1, 0.2), (0.5, 0.8), *FAR]:
        teacher.update(np.array([x]), ret)
    teacher.update(np.array([0.45]), [0.0, 0.0, 0.9])
    assert teacher.metrics()["progress"] * 7 == pytest.approx(0.5)


def test_a_quadrant_where_the_return_rises_gets_most_of_the_tasks_after_two_fits():
    shares = []
    for seed in range(3):
        teacher, practised, chosen = make("alp-gmm", SQUARE, seed=seed), 0, []
        for i in range(1000):
            proposal = teacher.propose(1)[0]
            here = bool((proposal.task < 0.5).all())
            practised += here
            if i >= 500 and proposal.origin == "exploit":
                chosen.append(here)
            teacher.observe([Outcome(proposal.id, proposal.task, [min(practised / 400, 1.0) if here else 0.0])])
        shares.append(np.mean(chosen))
    assert min(shares) > 0.5


def test_the_curve_on_the_toy_student_is_the_references(mastered):
    # Reference after half of its 20,000 episodes: 13 %; with a window of 250 tasks 32 %; at random 1 %.
    assert 0.07 < mastered("alp-gmm", 10_000) < 0.21
    assert mastered("alp-gmm-windowed", 10_000) > 0.22
    assert mastered("random", 10_000) < 0.04


def test_presets_are_the_options_they_stand_for():
    assert make("alp-gmm-windowed", LINE).state_dict()["settings"]["history"] == 250
    tma = make("alp-gmm-tma", LINE)
    assert (tma.fit_rate, tma.random_share, tma.components) == (150, 0.05, [2, 3, 4, 5, 6, 7, 8, 9])
    assert make("alp-gmm-tma", LINE, fit_rate=60).fit_rate == 60


@pytest.mark.parametrize(("criterion", "components"), [("aic", 4), ("bic", 4), ("aicc", 1)])
def test_the_criterion_decides_how_many_components_are_kept(criterion, components):
    # Four tight clusters of three tasks: the likelihood asks for four components, but their 23 parameters are more
    # than AICc allows for twelve rows.
    teacher = make("alp-gmm", LINE, criterion=criterion, fit_rate=12, components=(1, 4))
    for i in range(12):
        teacher.update(np.array([0.1 + 0.25 * (i % 4) + 0.001 * (i // 4)]), 0.5)
    assert len(teacher.mixture.weights) == components


@pytest.mark.parametrize(
    "options",
    [
        {"fit_rate": 1},
        {"random_share": 1.2},
        {"components": ()},
        {"components": (2, 300)},
        {"components": (0,)},
        {"history": 5},
        {"history": 2.5},
        {"criterion": "mdl"},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("alp-gmm", LINE, **options)


@pytest.mark.parametrize("options", [{"history": 250}, {"fit_rate": 100}, {"random_share": 0.1}, {"components": (3,)}])
def test_a_state_under_other_settings_is_refused(options):
    with pytest.raises(InputError, match="settings"):
        make("alp-gmm", LINE, **options).load_state_dict(make("alp-gmm", LINE).state_dict())


def test_shares_of_the_run_are_the_papers_numbers_at_twenty_thousand_and_shorter_in_short_runs():
    teacher = make("alp-gmm", SQUARE, fit_rate=0.0125, history=0.0125)
    assert (teacher.period, teacher._memory.limit) == (250, 250)
    teacher.expect(2_400)
    assert (teacher.period, teacher._memory.limit) == (40, 40)
    for i in range(40):
        assert {p.origin for p in teacher.propose(3)} == {"warmup"}
        teacher.update(np.array([i / 40, 0.5]), (i % 7) / 7)
    assert teacher.mixture is not None
    copy = make("alp-gmm", SQUARE, fit_rate=0.0125, history=0.0125, seed=1)
    copy.expect(4_800)
    copy.load_state_dict(teacher.state_dict())
    assert [p.task.tolist() for p in copy.propose(9)] == [p.task.tolist() for p in teacher.propose(9)]
    published = make("alp-gmm", SQUARE)
    published.expect(2_400)
    assert (published.period, published._memory.limit) == (250, None)


def test_with_the_published_numbers_the_length_of_a_run_changes_nothing():
    teacher, other = make("alp-gmm", SQUARE), make("alp-gmm", SQUARE)
    other.expect(2_400)
    for one in (teacher, other):
        for _ in range(300):
            one.update(one.sample(), 0.5)
    assert other.state_dict() == teacher.state_dict()
