"""Training on the hardest share."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def run(teacher, p, rounds, batch=10, seed=0, n=8):
    """Rounds of groups with success probabilities p by task; returns what was proposed to train on."""
    rng, trained = np.random.default_rng(seed), []
    for _ in range(rounds):
        proposals = teacher.propose(batch)
        trained += [q.task for q in proposals if q.train]
        teacher.observe([Outcome(q.id, q.task, (rng.random(n) < p[q.task]).astype(float)) for q in proposals])
    return trained


def made(n, **options):
    return make("hardest", FiniteTasks(list(range(n))), **options)


def test_every_prompt_is_looked_at_once_and_then_only_the_hardest_are_trained_on():
    p = np.r_[np.ones(18), 0.0, 0.0]
    teacher = made(20)
    look = teacher.propose(20)
    assert sorted(q.task for q in look) == list(range(20))
    assert {(q.train, q.origin) for q in look} == {(False, "warmup")}
    teacher.observe([Outcome(q.id, q.task, [p[q.task]] * 8) for q in look])
    assert sorted(q.task for q in teacher.propose(2)) == [18, 19]  # a tenth
    assert set(run(teacher, p, 5)) == {18, 19}


@pytest.mark.parametrize(("part", "expected"), [("hardest", {0, 1}), ("medium", {4, 5}), ("easiest", {8, 9})])
def test_other_parts_for_comparison(part, expected):
    teacher = made(10, part=part, fraction=0.2)
    returns = {task: [1.0] * task + [0.0] * (9 - task) for task in range(10)}
    teacher.observe([Outcome(q.id, q.task, returns[q.task]) for q in teacher.propose(10)])
    assert {q.task for q in teacher.propose(4)} == expected


def test_the_learnable_share_is_that_of_groups_with_a_spread():
    p = np.r_[np.full(15, 0.3), np.full(15, 0.9)]
    shares = {}
    for part in ("hardest", "easiest"):
        teacher = made(30, part=part, fraction=0.5)
        run(teacher, p, 40)
        shares[part] = teacher.metrics()["learnable_share"]
    assert shares["hardest"] == pytest.approx(1 - 0.3**8 - 0.7**8, abs=0.06)
    assert shares["easiest"] == pytest.approx(1 - 0.9**8 - 0.1**8, abs=0.1)


def test_a_prompt_that_never_answers_is_left_out():
    teacher = made(4, fraction=0.5)
    for _ in range(20):
        proposals = teacher.propose(2)
        teacher.observe([Outcome(q.id, q.task, [] if q.task == 0 else [q.task / 4] * 2) for q in proposals])
    assert {q.task for q in teacher.propose(4)} == {1, 2}


def test_single_returns_add_up_to_looks():
    p = np.r_[np.full(9, 0.9), 0.0]
    teacher = made(10, screen=8)
    trained = run(teacher, p, 40, n=1)
    assert set(trained) == {9}
    assert teacher.metrics()["screening_share"] == pytest.approx(80 / 400)


@pytest.mark.parametrize("bad", [{"fraction": 0}, {"part": "middle"}, {"screen": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        made(3, **bad)
