"""SPEED: screening and going on."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def pool(n):
    return FiniteTasks(list(range(n)))


def test_only_prompts_neither_always_nor_never_solved_go_on():
    teacher = make("speed", pool(6), screen=4, n=20)
    look = teacher.propose(6)
    assert {(p.train, p.n) for p in look} == {(False, 4)}
    wins = (0, 4, 1, 3, 0, 2)
    teacher.observe([Outcome(p.id, p.task, [1.0] * wins[p.task] + [0.0] * (4 - wins[p.task])) for p in look])
    more = teacher.propose(5)
    going_on = [p for p in more if p.train]
    assert {p.task for p in going_on} == {2, 3, 5}
    assert {p.n for p in going_on} == {20}
    assert {p.task for p in more if not p.train} <= {0, 1, 4}
    assert teacher.metrics()["passed_share"] == 0.5
    ids = {p.task: p.id for p in look}
    assert all(p.meta["joins"] == [ids[p.task]] for p in going_on)


def test_the_interval_is_open():
    teacher = make("speed", pool(3), low=0.25, high=0.75)
    wins = (1, 2, 3)
    look = teacher.propose(3)
    teacher.observe([Outcome(p.id, p.task, [1.0] * wins[p.task] + [0.0] * (4 - wins[p.task])) for p in look])
    assert [p.task for p in teacher.propose(3) if p.train] == [1]


def test_what_waits_comes_before_more_screening():
    teacher = make("speed", pool(100))
    for _ in range(5):
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0, 1.0, 0.0]) for p in teacher.propose(8) if not p.train])
    assert [p.train for p in teacher.propose(4)] == [True] * 4
    assert teacher.metrics()["waiting"] <= 8


def test_the_share_that_passes_is_that_of_mixed_groups():
    teacher, rng, p, n = make("speed", pool(100)), np.random.default_rng(0), 0.2, 4
    for _ in range(200):
        proposals = teacher.propose(50)
        teacher.observe([Outcome(q.id, q.task, (rng.random(q.n) < p).astype(float).tolist()) for q in proposals])
    assert teacher.metrics()["passed_share"] == pytest.approx(1 - p**n - (1 - p) ** n, abs=0.02)


def test_single_returns_add_up_to_a_screening_whose_proposals_are_all_named():
    teacher = make("speed", pool(50), screen=3)
    seen: dict[int, list[int]] = {}
    for ret in (1.0, 0.0, 1.0):
        proposal = teacher.propose(1)[0]
        assert not proposal.train
        seen.setdefault(proposal.task, []).append(proposal.id)
        teacher.observe([Outcome(proposal.id, proposal.task, [ret])])
    (task,) = seen  # the same prompt three times
    going_on = teacher.propose(1)[0]
    assert (going_on.task, going_on.train, going_on.meta["joins"]) == (task, True, seen[task])


def test_an_interval_without_width_is_refused():
    with pytest.raises(InputError, match="below"):
        make("speed", pool(2), low=0.5, high=0.5)
