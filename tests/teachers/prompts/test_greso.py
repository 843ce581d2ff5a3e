"""GRESO: skipping what had no variance."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def pool(n):
    return FiniteTasks(list(range(n)))


def test_prompts_with_variance_are_never_skipped():
    teacher = make("greso", pool(10))
    for _ in range(20):
        batch = teacher.propose(5) + teacher.propose(5)
        assert sorted(p.task for p in batch) == list(range(10))
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in batch])
    assert (teacher.try_probability() == 1).all()


@pytest.mark.parametrize("z", [1, 2, 3])
def test_after_z_groups_without_variance_a_prompt_is_tried_with_probability_p_to_the_z(z):
    teacher = make("greso", pool(50), p_hard=0.6, floor=0.0, batch=10**6)
    for _ in range(z):
        teacher.update(7, [0.0] * 4)
    tasks = [p.task for _ in range(600) for p in teacher.propose(40)]
    counts = np.bincount(tasks, minlength=50)
    assert counts[7] / np.delete(counts, 7).mean() == pytest.approx(0.6**z, abs=0.05)
    assert np.ptp(np.delete(counts, 7)) <= 2


def test_a_prompt_that_stays_flat_comes_ever_more_rarely():
    """After its z-th flat group it waits 1 / p^z passes on average: its third try is in pass 1 + 1/p + 1/p^2."""
    p, third = 0.5, []
    for seed in range(150):
        teacher = make("greso", pool(20), seed=seed, p_easy=p, floor=0.0, batch=10**6)
        tries = np.zeros(20)
        while tries[0] < 3:
            proposals = teacher.propose(4)
            tries[[q.task for q in proposals]] += 1
            teacher.observe([Outcome(q.id, q.task, [1.0, 1.0] if q.task == 0 else [0.0, 1.0]) for q in proposals])
        third.append(tries[1:].mean())
    assert np.mean(third) == pytest.approx(1 + 1 / p + 1 / p**2, rel=0.15)


def test_variance_makes_a_prompt_count_again_and_sides_count_apart():
    teacher = make("greso", pool(3), p_easy=0.9, p_hard=0.3, floor=0.0)
    teacher.update(0, [0.0, 0.0])
    teacher.update(0, [0.0, 0.0])
    teacher.update(1, [1.0, 1.0])
    assert teacher.try_probability() == pytest.approx([0.09, 0.9, 1.0])
    teacher.update(0, [1.0, 1.0])
    assert teacher.flat[0] == 1  # too easy for the first time
    teacher.update(0, [0.0, 1.0])
    assert teacher.try_probability()[0] == 1


def test_the_floor_keeps_every_prompt_in_reach():
    teacher = make("greso", pool(3), floor=0.01)
    for _ in range(200):
        teacher.update(0, [0.0, 0.0])
    assert teacher.try_probability()[0] == 0.01


def test_the_batch_is_full_where_nothing_is_likely_to_be_tried():
    teacher = make("greso", pool(6), floor=0.0)
    for task in range(6):
        for _ in range(1200):  # p^z underflows to 0
            teacher.update(task, [1.0, 1.0])
    assert sorted(p.task for p in teacher.propose(6)) == list(range(6))


def test_the_controller_holds_the_target_share_of_groups_without_variance():
    rng = np.random.default_rng(0)
    p = np.concatenate([np.zeros(120), np.ones(60), rng.uniform(0.4, 0.6, 220)])  # of 400
    teacher = make("greso", pool(400), target=0.24, floor=0.0, bounds=(0.01, 0.99), p_easy=0.9, p_hard=0.9)
    shares = []
    for step in range(450):
        proposals = teacher.propose(64)
        teacher.observe([Outcome(q.id, q.task, (rng.random(16) < p[q.task]).astype(float)) for q in proposals])
        if step >= 200:
            shares.append([teacher.metrics()["hard_share"], teacher.metrics()["easy_share"]])
    assert np.mean(shares, axis=0) == pytest.approx([0.16, 0.08], abs=0.04)  # uniform choice gives 0.30 and 0.15


def test_the_controller_steps_by_a_hundredth_within_its_bounds():
    teacher = make("greso", pool(4), batch=2, bounds=(0.48, 0.505))
    for p_hard in (0.49, 0.48, 0.48):
        teacher.observe([Outcome(p.id, p.task, [0.0, 0.0]) for p in teacher.propose(2)])
        assert teacher.p.tolist() == pytest.approx([p_hard, 0.505])


def test_single_returns_are_judged_as_groups():
    teacher = make("greso", pool(2), group=3)
    for _ in range(2):
        teacher.update(0, 0.0)
    assert teacher.flat[0] == 0
    teacher.update(0, 0.0)
    assert teacher.flat[0] == 1


@pytest.mark.parametrize("bad", [{"p_easy": 2}, {"target": -1}, {"step": 0}, {"bounds": (0, 1)}, {"group": 1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("greso", pool(2), **bad)
