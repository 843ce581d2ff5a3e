"""A teacher with a budget: who proposes, how many rollouts, and what is remembered."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.budgets.allocators import ALLOCATORS
from palaestra.teachers.budgets.budgeted import Budgeted

PROMPTS = FiniteTasks([{"question": i} for i in range(30)])
SPACES = {
    "list": PROMPTS,
    "discrete": gym.spaces.Discrete(6, start=2),
    "box": gym.spaces.Box(0.0, 1.0, (2,)),
}


def play(teacher, rounds=6, k=10, seed=0):
    """Play rounds in which every group has the requested size; return the proposals."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(rounds):
        proposals = teacher.propose(k)
        seen += [(p.id, str(p.task), p.n, p.origin, p.train, dict(p.meta)) for p in proposals]
        teacher.observe([Outcome(p.id, p.task, rng.integers(0, 2, p.n or 1).astype(float)) for p in proposals])
    return seen


@pytest.mark.parametrize("allocator", sorted(ALLOCATORS))
@pytest.mark.parametrize("space", sorted(SPACES))
def test_every_batch_has_k_times_the_rollouts_within_the_bounds(allocator, space):
    teacher = Budgeted(make("random", SPACES[space], seed=1), allocator, rollouts=6, low=2, high=20)
    for _ in range(8):
        counts = [item[2] for item in play(teacher, rounds=1)]
        assert sum(counts) == 60
        assert min(counts) >= 2
        assert max(counts) <= 20


@pytest.mark.parametrize("name", ["alp-gmm", "sec", "plr", "puzzlecraft"])
def test_every_kind_of_teacher_can_be_given_a_budget(name):
    teacher = Budgeted(make(name, gym.spaces.Discrete(6)), rollouts=4)
    assert sum(item[2] for item in play(teacher, rounds=5)) == 5 * 10 * 4


def test_the_teacher_inside_proposes_and_learns_as_it_would_alone():
    alone, inside = make("pc-grpo", PROMPTS, seed=3), make("pc-grpo", PROMPTS, seed=3)
    budgeted = Budgeted(inside, "uniform", rollouts=4)
    for _ in range(5):
        for teacher in (alone, budgeted):
            rng = np.random.default_rng(0)
            proposals = teacher.propose(7)
            teacher.observe([Outcome(p.id, p.task, rng.integers(0, 2, 4).astype(float)) for p in proposals])
    assert inside.state_dict() == alone.state_dict()
    for mine, theirs in zip(budgeted.propose(7), alone.propose(7)):
        assert (mine.task, mine.prob, mine.origin, mine.meta) == (theirs.task, theirs.prob, theirs.origin, theirs.meta)


def test_ids_are_the_wholes_own_where_the_teacher_inside_counts_others():
    inside = make("random", PROMPTS)
    inside.propose(5)
    teacher = Budgeted(inside)
    proposal = teacher.propose(1)[0]
    assert proposal.id == 0
    teacher.observe([Outcome(0, proposal.task, [1.0])])
    assert inside.metrics()["observed"] == 1


def test_rollouts_go_to_the_tasks_whose_outcomes_differ():
    teacher = Budgeted(make("random", gym.spaces.Discrete(3)), "knapsack", rollouts=8)
    for task, returns in ((0, [1.0] * 8), (1, [1.0, 0.0] * 4), (2, [0.0] * 8)):
        teacher.update(task, returns)
    assert [teacher.rate(task) for task in range(3)] == [1.0, 0.5, 0.0]
    proposals = teacher.propose(40)
    assert {p.n for p in proposals if p.task != 1} == {2}
    assert min(p.n for p in proposals if p.task == 1) > 8


def test_estimates_decay_start_from_the_prior_and_are_forgotten_in_turn():
    teacher = Budgeted(make("random", gym.spaces.Discrete(9)), decay=0.5, prior=(1, 3), memory=2)
    assert teacher.rate(0) == 0.25
    teacher.update(0, [1.0] * 4)
    teacher.update(0, [0.0] * 2)
    assert teacher.rate(0) == pytest.approx((0.5 * 4 + 1) / (0.5 * 4 + 2 + 4))
    teacher.update(1, [1.0])
    teacher.update(0, [1.0])
    teacher.update(2, [1.0])  # task 1 was not seen for longest
    assert teacher.metrics()["rated"] == 2
    assert teacher.rate(1) == 0.25
    assert teacher.rate(0) > 0.25


def test_a_task_never_seen_counts_as_a_half():
    assert Budgeted(make("random", PROMPTS)).rate({"question": 4}) == 0.5


def test_evaluations_keep_their_own_n_and_are_no_part_of_the_budget():
    teacher = Budgeted(make("greedy-fail", PROMPTS), rollouts=8)
    first = teacher.propose(6)
    assert {(p.n, p.train) for p in first} == {(1, False)}
    teacher.observe([Outcome(p.id, p.task, [0.0]) for p in first[:3]])
    later = teacher.propose(6)
    assert sum(p.n for p in later if p.train) == 3 * 8
    assert {p.n for p in later if not p.train} == {1}


def test_a_saved_state_continues_with_the_teacher_inside():
    def build(seed):
        return Budgeted(make("cures", PROMPTS, seed=seed), "cures", rollouts=5)

    teacher, copy = build(0), build(9)
    play(teacher)
    teacher.propose(4)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict(), allow_nan=False)))
    assert play(copy, seed=2) == play(teacher, seed=2)
    with pytest.raises(InputError, match="settings"):
        Budgeted(make("cures", PROMPTS), "uniform", rollouts=5).load_state_dict(teacher.state_dict())


def test_an_allocator_of_ones_own_is_called_with_its_arguments():
    def first_takes_all(p_hat, budget, low, high, *, spare):
        counts = np.full(len(p_hat), spare)
        counts[0] += budget - counts.sum()
        return counts

    teacher = Budgeted(make("random", PROMPTS), first_takes_all, rollouts=8, spare=3)
    assert [p.n for p in teacher.propose(4)] == [23, 3, 3, 3]
    with pytest.raises(InputError, match="a share of 32"):
        Budgeted(make("random", PROMPTS), lambda p_hat, *_: np.ones(len(p_hat))).propose(4)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"allocator": "knapsac"}, "knapsack"),
        ({"rollouts": 1}, "between low=2"),
        ({"high": 4}, "between low=2"),
        ({"decay": 1.5}, "decay"),
        ({"prior": (-1, 1)}, "prior"),
        ({"memory": 0}, "memory"),
        ({"tau": 1}, "tau"),
    ],
)
def test_options_out_of_range_are_refused(options, match):
    with pytest.raises(InputError, match=match):
        Budgeted(make("random", PROMPTS), **options)
