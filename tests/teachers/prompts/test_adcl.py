"""Adaptive difficulty curriculum."""

import itertools

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.adcl import inversion_ratio


def pool(n):
    return FiniteTasks([str(i) for i in range(n)], difficulty=np.linspace(0, 1, n))


def index(proposal):
    return int(proposal.task)


def answer(teacher, proposals, rate):
    outcomes = []
    for p in proposals:
        wins = round(10 * rate(index(p)))
        outcomes.append(Outcome(p.id, p.task, [1.0] * wins + [0.0] * (10 - wins)))
    teacher.observe(outcomes)


def test_the_inversion_ratio_by_hand():
    assert inversion_ratio((1, 2, 3, 4), (2, 1, 3, 4)) == pytest.approx(1 / 6)
    assert inversion_ratio((1, 2, 3, 4), (1, 2, 3, 4)) == 0
    assert inversion_ratio((5, 2, 9, 7), (7, 9, 2, 5)) == 1
    assert inversion_ratio([3], [3]) == inversion_ratio([], []) == 0


def test_the_inversion_ratio_counts_pairs():
    rng = np.random.default_rng(0)
    for n in (2, 3, 17, 64, 65):
        before, after = rng.permutation(n), rng.permutation(n)
        place = {item: i for i, item in enumerate(before.tolist())}
        pairs = list(itertools.combinations(after.tolist(), 2))
        assert inversion_ratio(before, after) == pytest.approx(sum(place[a] > place[b] for a, b in pairs) / len(pairs))


@pytest.mark.parametrize("orders", [((1, 2), (1, 3)), ((1, 2), (1, 2, 3)), ((1, 1), (1, 1))])
def test_orders_of_other_items_are_refused(orders):
    with pytest.raises(InputError, match="same distinct items"):
        inversion_ratio(*orders)


def test_the_next_chunk_is_looked_at_and_sorted_anew():
    teacher = make("adcl", pool(9), chunks=3, screen=10)
    first = teacher.propose(3)
    assert [index(p) for p in first] == [0, 1, 2]
    assert all(p.train for p in first)
    answer(teacher, first, lambda task: 1.0)
    look = teacher.propose(3)
    assert {index(p) for p in look} == {3, 4, 5}
    assert [(p.train, p.n) for p in look] == [(False, 10)] * 3
    answer(teacher, look, lambda task: {3: 0.1, 4: 0.9, 5: 0.5}[task])
    second = teacher.propose(3)
    assert [index(p) for p in second] == [4, 5, 3]  # easiest first now
    assert all(p.train for p in second)
    assert teacher.metrics()["inversion_ratio"] == pytest.approx(2 / 3)  # pairs (3,4) and (3,5)


def test_no_prompt_ever_crosses_the_border_of_its_chunk():
    teacher, rng = make("adcl", pool(20), chunks=4, screen=2), np.random.default_rng(0)
    trained = []
    while len(trained) < 60:
        proposals = teacher.propose(int(rng.integers(1, 9)))
        trained += [index(p) for p in proposals if p.train]
        answer(teacher, proposals, lambda task: rng.random())
    for start in range(0, 60, 5):
        border = start % 20
        assert sorted(trained[start : start + 5]) == list(range(border, border + 5))


def test_without_probes_the_last_rates_decide_from_the_second_pass_on():
    teacher = make("adcl", pool(8), chunks=2, probe=False)
    first = [index(p) for _ in range(4) for p in teacher.propose(2)]
    assert first == list(range(8))
    teacher = make("adcl", pool(8), chunks=2, probe=False)
    for _ in range(4):
        proposals = teacher.propose(2)
        assert all(p.train for p in proposals)
        answer(teacher, proposals, lambda task: task / 10)  # what was thought easy is hard
    assert [index(p) for _ in range(4) for p in teacher.propose(2)] == [3, 2, 1, 0, 7, 6, 5, 4]
    assert teacher.metrics()["passes"] == 2


def test_answers_that_never_come_do_not_stop_the_curriculum():
    teacher = make("adcl", pool(6), chunks=2)
    assert [index(p) for p in teacher.propose(9) if p.train] == [0, 1, 2, 3, 4, 5]


def test_a_single_return_moves_the_estimate_by_a_step():
    teacher = make("adcl", pool(3), chunks=1, screen=4)
    teacher.update("1", 1.0)
    assert teacher.difficulty[1] == pytest.approx(0.5 - 0.5 / 4)
    teacher.update("1", [1.0, 0.0])
    assert teacher.difficulty[1] == 0.5
