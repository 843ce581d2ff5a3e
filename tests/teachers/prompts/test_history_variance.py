"""Selection by the variance of the history of pass rates (1-shot RLVR)."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def run(teacher, histories, n=10):
    """Visit all tasks once per entry of their histories of rates."""
    for visit in range(len(histories[0])):
        proposals = teacher.propose(len(histories))
        assert sorted(p.task for p in proposals) == list(range(len(histories)))
        for p in proposals:
            wins = round(histories[p.task][visit] * n)
            teacher.observe([Outcome(p.id, p.task, [1.0] * wins + [0.0] * (n - wins))])


def make_for(histories, **options):
    return make("history-variance", FiniteTasks(list(range(len(histories)))), pilot=len(histories[0]), **options)


HISTORIES = [[0.3, 0.3, 0.3], [0.1, 0.5, 0.9], [0.4, 0.5, 0.6], [0.0, 1.0, 0.0]]


def test_the_score_is_the_standard_deviation_of_the_rates_and_0_for_a_constant_history():
    teacher = make_for(HISTORIES)
    run(teacher, HISTORIES)
    assert teacher.scores[0] == 0
    assert teacher.scores == pytest.approx(np.std(HISTORIES, axis=1))


def test_the_ranking_does_not_depend_on_the_order_of_the_epochs():
    chosen = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        histories = [[history[i] for i in order] for history in HISTORIES]
        teacher = make_for(histories, top=3)
        run(teacher, histories)
        teacher.propose(1)
        chosen.append(teacher.chosen.tolist())
    assert chosen == [[3, 1, 2]] * 3


def test_one_prompt_fills_the_whole_batch():
    teacher = make_for(HISTORIES, top=1)
    run(teacher, HISTORIES)
    assert {p.task for p in teacher.propose(128)} == {3}


def test_the_chosen_fill_a_batch_in_equal_parts():
    teacher = make_for(HISTORIES, top=2)
    run(teacher, HISTORIES)
    batch = [p.task for p in teacher.propose(7) + teacher.propose(5)]
    assert [batch.count(task) for task in range(4)] == [0, 6, 0, 6]


def test_the_choice_is_final():
    teacher = make_for(HISTORIES, top=1)
    run(teacher, HISTORIES)
    for _ in range(5):
        proposals = teacher.propose(4)
        teacher.observe([Outcome(p.id, p.task, [1.0, 1.0]) for p in proposals])
    assert {p.task for p in teacher.propose(8)} == {3}


def test_lost_outcomes_do_not_hold_up_the_pilot():
    teacher = make("history-variance", FiniteTasks(list(range(6))), pilot=2, top=2)
    for _ in range(40):
        proposals = teacher.propose(3)
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals if p.task != 5])
    assert teacher.chosen is not None


@pytest.mark.parametrize("bad", [{"top": 0}, {"pilot": 1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("history-variance", FiniteTasks([1, 2]), **bad)
