"""Online difficulty filtering and dynamic sampling."""

from itertools import pairwise

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.balanced_filter import gain, in_band


def answer(teacher, proposals, rate, n=10):
    """Groups of n with the given success rates, by task."""
    outcomes = []
    for p in proposals:
        wins = round(rate(p.task) * n)
        outcomes.append(Outcome(p.id, p.task, [1.0] * wins + [0.0] * (n - wins)))
    teacher.observe(outcomes)


def pool(n):
    return FiniteTasks(list(range(n)))


def test_the_gain_tends_to_the_leading_term_and_is_no_bound():
    assert 2 * 10**2 * gain(0.5, 10) == pytest.approx(0.2499, abs=2e-4)
    assert 2 * 10**2 * gain(0.1, 10) == pytest.approx(0.0924, abs=2e-4)
    assert gain(0.5, 1) == pytest.approx(0.12011, abs=1e-5) and gain(0.5, 1) < 0.5 * 0.5 / 2  # noqa: PT018
    assert gain(0.9, 1) == pytest.approx(0.0347, abs=1e-4)


def test_the_band_is_open():
    assert in_band(np.array([0.2, 0.21, 0.79, 0.8]), 0.2, 0.8).tolist() == [False, True, True, False]
    teacher = make("balanced-filter", pool(2), low=0.3, high=0.7)
    answer(teacher, teacher.propose(2), lambda task: (0.3, 0.4)[task])
    assert teacher.metrics()["inside"] == 1
    assert teacher.metrics()["kept_share"] == 0.5


def test_prompts_never_tried_come_before_any_second_visit():
    teacher = make("balanced-filter", pool(30))
    seen = []
    for _ in range(3):
        proposals = teacher.propose(10)
        seen += [p.task for p in proposals]
        answer(teacher, proposals, lambda task: 0.5)
    assert sorted(seen) == list(range(30))
    assert {p.origin for p in teacher.propose(10)} == {"exploit"}


def test_nothing_solved_in_a_few_rollouts_is_put_off_for_a_pass_and_then_tried_again():
    teacher = make("balanced-filter", pool(10), review=0.0)
    visits = []
    for _ in range(30):
        proposals = teacher.propose(5)
        visits.append([p.task for p in proposals])
        answer(teacher, proposals, lambda task: 0.0 if task == 3 else 0.5, n=8)
    at = [i for i, batch in enumerate(visits) if 3 in batch]
    assert len(at) == 4  # 4 groups of 8 reach sure=32, and it retires
    assert all(later - earlier >= 4 for earlier, later in pairwise(at))  # the others come every 2 batches
    assert sum(7 in batch for batch in visits) >= 14


def test_a_retired_prompt_gets_the_review_share_and_comes_back_when_it_can_be_learned():
    teacher = make("balanced-filter", pool(20), sure=8, review=0.1, pause=0.0)
    for _ in range(10):
        answer(teacher, teacher.propose(20), lambda task: 0.0 if task < 10 else 0.5, n=8)
    assert teacher.retired.tolist() == [True] * 10 + [False] * 10
    proposals = [p for _ in range(100) for p in teacher.propose(8)]
    reviews = [p for p in proposals if p.origin == "review"]
    assert len(reviews) / len(proposals) == pytest.approx(0.1, abs=0.03)
    assert {p.task for p in reviews} == set(range(10))
    answer(teacher, reviews[:1], lambda task: 0.5)
    assert not teacher.retired[reviews[0].task]


def test_the_batch_is_full_even_where_all_is_retired():
    teacher = make("balanced-filter", pool(12), sure=8)
    for _ in range(4):
        answer(teacher, teacher.propose(12), lambda task: 1.0, n=8)
    assert teacher.retired.all()
    assert len({p.task for p in teacher.propose(9)}) == 9


def test_dynamic_sampling_is_the_band_from_0_to_1_and_takes_every_prompt_in_turn():
    teacher = make("dapo", pool(20))
    assert teacher.propose(1)[0].meta == {"band": [0.0, 1.0]}
    teacher = make("dapo", pool(20))
    for _ in range(5):
        proposals = teacher.propose(10) + teacher.propose(10)
        assert {p.task for p in proposals} == set(range(20))
        answer(teacher, proposals, lambda task: (0.0, 1.0, 0.5)[task % 3])
    assert not teacher.retired.any()


def test_dynamic_sampling_draws_as_many_groups_per_kept_one_as_the_closed_form_says():
    teacher, rng, p, n = make("dapo", pool(50)), np.random.default_rng(0), 0.2, 8
    for _ in range(80):
        proposals = teacher.propose(50)
        teacher.observe([Outcome(q.id, q.task, (rng.random(n) < p).astype(float).tolist()) for q in proposals])
    assert 1 / teacher.metrics()["kept_share"] == pytest.approx(1 / (1 - p**n - (1 - p) ** n), rel=0.03)


def test_single_returns_are_judged_as_groups():
    teacher = make("balanced-filter", pool(1), group=4, review=0.0)
    for ret in (0.0, 1.0, 0.0):
        teacher.update(0, ret)
    assert teacher.metrics()["untried"] == 1
    teacher.update(0, 1.0)
    assert teacher.rates[0] == 0.5
    assert teacher.metrics()["inside"] == 1


@pytest.mark.parametrize("bad", [{"low": 0.5, "high": 0.5}, {"pause": -1}, {"sure": 0}, {"review": 2}, {"group": 1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("balanced-filter", pool(3), **bad)
