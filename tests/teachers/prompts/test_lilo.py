"""LILO: look at a pool, train on what is most learnable in it."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.lilo import success_variance


def pool(n):
    return FiniteTasks(list(range(n)))


def answer(teacher, proposals, rate, n=10):
    outcomes = []
    for p in proposals:
        wins = round(rate(p.task) * n)
        outcomes.append(Outcome(p.id, p.task, [1.0] * wins + [0.0] * (n - wins)))
    teacher.observe(outcomes)


def test_learnability_is_largest_at_a_half():
    assert success_variance(np.array([0.0, 0.1, 0.5, 0.9, 1.0])) == pytest.approx([0, 0.09, 0.25, 0.09, 0])


def test_a_pool_four_times_the_batch_is_looked_at_and_its_most_learnable_part_trained_on():
    teacher = make("lilo", pool(8), batch=2, screen=10, n=16)
    look = teacher.propose(8)
    assert {(p.train, p.n, p.origin) for p in look} == {(False, 10, "explore")}
    rates = (0.0, 0.1, 0.9, 0.4, 1.0, 0.2, 0.6, 0.0)
    answer(teacher, look, lambda task: rates[task])
    train = [p for p in teacher.propose(3) if p.train]
    assert {p.task for p in train} == {3, 6}
    assert {p.n for p in train} == {16}
    ids = {p.task: p.id for p in look}
    assert all(p.meta["joins"] == [ids[p.task]] for p in train)


def test_four_of_five_proposals_are_to_look_only_and_the_metrics_say_so():
    teacher = make("lilo", pool(100), batch=4)
    proposals = []
    for _ in range(60):
        batch = teacher.propose(10)
        proposals += batch
        answer(teacher, batch, lambda task: task / 100)
    share = np.mean([not p.train for p in proposals])
    assert share == pytest.approx(0.8, abs=0.03)
    assert teacher.metrics()["screening_share"] == pytest.approx(share)
    assert teacher.metrics()["learnability_chosen"] > 1.2 * teacher.metrics()["learnability_pool"]


def test_rates_are_used_once():
    teacher = make("lilo", pool(4), batch=1)
    answer(teacher, teacher.propose(4), lambda task: 0.5)
    assert [p.train for p in teacher.propose(5)] == [True, False, False, False, False]


def test_what_training_gave_is_no_look():
    teacher = make("lilo", pool(4), batch=1)
    answer(teacher, teacher.propose(4), lambda task: 0.5)
    for _ in range(8):
        answer(teacher, [p for p in teacher.propose(1) if p.train], lambda task: 0.5)
    assert teacher.state_dict()["own"]["candidates"] == []


def test_proposals_never_wait_for_answers():
    teacher = make("lilo", pool(50), batch=4)
    tasks = [p.task for _ in range(10) for p in teacher.propose(5)]
    assert sorted(tasks) == list(range(50))  # in turn through the list


def test_single_returns_add_up_to_looks():
    teacher = make("lilo", pool(40), batch=2, screen=4)
    rng, trained = np.random.default_rng(0), []
    for _ in range(300):
        proposals = teacher.propose(4)
        trained += [p.task for p in proposals if p.train]
        teacher.observe([Outcome(p.id, p.task, [float(rng.random() < p.task / 40)]) for p in proposals])
    assert len(trained) > 40
    assert np.abs(np.array(trained) / 40 - 0.5).mean() < 0.18  # uniform choice gives 0.25


@pytest.mark.parametrize("bad", [{"batch": 0}, {"factor": 0}, {"screen": 0}, {"n": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("lilo", pool(2), **bad)


def test_a_prompt_that_never_gives_a_valid_episode_does_not_stop_training():
    teacher, trained = make("lilo", pool(12), batch=3), 0
    for _ in range(20):
        proposals = teacher.propose(4)
        trained += sum(p.train for p in proposals)
        teacher.observe([Outcome(p.id, p.task, [] if p.task == 5 else [0.0, 1.0]) for p in proposals])
    assert trained >= 3
