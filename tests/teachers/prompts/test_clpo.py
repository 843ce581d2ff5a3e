"""CLPO (arXiv 2509.25004)."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make

# Accuracies 0, .25, .5, .75, 1 of four rollouts: hard, hard, medium, easy, easy.
GROUPS = {task: [1.0] * task + [0.0] * (4 - task) for task in range(5)}


def clpo(n=5, **options):
    return make("clpo", gym.spaces.Discrete(n), **options)


def make_graded(**options):
    """A teacher that has seen every prompt once."""
    teacher = clpo(**options)
    proposals = teacher.propose(5)
    assert all("rewrite" not in p.meta for p in proposals)
    teacher.observe([Outcome(p.id, p.task, GROUPS[p.task]) for p in proposals])
    return teacher


@pytest.mark.parametrize(
    ("accuracy", "grade"), [(0.0, "hard"), (0.3, "hard"), (0.31, "medium"), (0.7, "medium"), (0.75, "easy")]
)
def test_borders_belong_to_the_harder_side(accuracy, grade):
    assert clpo().grade(accuracy) == grade


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("both", {0: "simplify", 1: "simplify", 2: "diversify"}),
        ("hard_only", {0: "simplify", 1: "simplify"}),
        ("medium_only", {2: "diversify"}),
    ],
)
def test_modes_say_which_prompts_are_rewritten(mode, expected):
    proposals = make_graded(mode=mode).propose(10)
    assert {p.task: p.meta["rewrite"] for p in proposals if "rewrite" in p.meta} == expected
    assert {p.origin for p in proposals if "rewrite" in p.meta} == {"edit"}


def test_hard_prompts_have_half_of_the_kl_of_others_rewritten_or_not():
    for proposal in make_graded().propose(10):
        assert proposal.meta["kl_scale"] == (0.5 if proposal.task in (0, 1) else 1.0)


def test_rewritten_prompts_are_half_of_a_batch_at_most_and_asked_for_once():
    teacher = make_graded()
    assert sum("rewrite" in p.meta for p in teacher.propose(4)) == 2
    assert sum("rewrite" in p.meta for p in teacher.propose(4)) == 1
    assert sum("rewrite" in p.meta for p in teacher.propose(4)) == 0


def test_a_rewritten_prompts_outcome_counts_as_rescue_and_not_as_accuracy():
    teacher = make_graded()
    rewrites = [p for p in teacher.propose(10) if "rewrite" in p.meta]
    before = teacher.latest.rate.tolist()
    teacher.observe([Outcome(p.id, p.task, [1.0, 0.0] if p.task else [1.0, 1.0]) for p in rewrites])
    assert teacher.latest.rate.tolist() == before
    assert teacher.metrics()["rewritten"] == 3
    assert teacher.metrics()["rescued"] == 2


def test_a_refused_rewriting_is_one_more_group_of_the_original():
    teacher = make_graded()
    refused, used = [p for p in teacher.propose(10) if "rewrite" in p.meta][:2]
    assert teacher.latest.rate[refused.task] != 0.75
    teacher.observe(
        [
            Outcome(refused.id, refused.task, [1.0, 1.0, 1.0, 0.0], done={"rewrite": "answer"}),
            Outcome(used.id, used.task, [1.0, 0.0], done={"rewrite": "used"}),
        ]
    )
    assert teacher.metrics()["rewritten"] == teacher.metrics()["rescued"] == 1
    assert teacher.latest.rate[refused.task] == 0.75


def test_a_prompt_that_became_easy_is_no_longer_rewritten():
    teacher = make_graded()
    teacher.update(0, [1.0] * 4)
    assert 0 not in {p.task for p in teacher.propose(10) if "rewrite" in p.meta}


def test_single_returns_are_collected_into_groups_of_four():
    teacher = clpo()
    for ret in (0.0, 0.0, 0.0):
        teacher.update(3, ret)
    assert not any("rewrite" in p.meta for p in teacher.propose(2))
    teacher.update(3, 1.0)
    assert teacher.propose(2)[0].meta == {"rewrite": "simplify", "kl_scale": 0.5}


def test_nothing_but_advice_is_passed_on_whatever_the_task_holds():
    tasks = FiniteTasks([{"question": f"{i}+{i}?", "answer": f"gold-{i}"} for i in range(4)])
    teacher = make("clpo", tasks)
    for _ in range(3):
        proposals = teacher.propose(8)
        for proposal in proposals:
            assert set(proposal.meta) <= {"rewrite", "kl_scale"}
            assert "gold" not in json.dumps(dict(proposal.meta))
        teacher.observe([Outcome(p.id, p.task, [0.0] * 4) for p in proposals])
    assert "gold" not in json.dumps(teacher.state_dict())


def test_the_queue_of_prompts_to_rewrite_is_bounded():
    teacher = clpo(n=50, queue=7)
    teacher.observe([Outcome(p.id, p.task, [0.0] * 4) for p in teacher.propose(50)])
    assert sum("rewrite" in p.meta for p in teacher.propose(50)) == 7


def test_a_pass_meets_every_prompt_before_any_comes_again():
    teacher = clpo(n=9)
    assert sorted(p.task for _ in range(3) for p in teacher.propose(3)) == list(range(9))


@pytest.mark.parametrize("bad", [{"mode": "all"}, {"hard": 0.8}, {"hard_kl": 2}, {"group": 1}, {"queue": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        clpo(**bad)


def test_single_proposals_are_rewritten_in_their_turn_and_a_saved_state_knows_whose_it_is():
    teacher = make_graded()
    rewritten = ["rewrite" in p.meta for _ in range(3) for p in teacher.propose(1)]
    assert rewritten == [True, False, True]  # the batch of five left half a proposal over
    copy = clpo()
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert ["rewrite" in p.meta for _ in range(2) for p in copy.propose(1)] == [False, True]
