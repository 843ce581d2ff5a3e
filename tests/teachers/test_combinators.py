"""Teachers made of teachers."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, discretise, make
from palaestra.teachers.combinators import Every, Mix, Sequential, Warmup

SPACE = gym.spaces.Discrete(4)
BOX = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)


def sec(**options):
    return make("sec", SPACE, tau=0.01, alpha=1.0, group=2, **options)


def favouring(arm, **options):
    """A bandit that is all but certain of one arm."""
    teacher = sec(**options)
    teacher.update(arm, [0.0, 1.0])
    return teacher


def build(kind):
    return {
        "mix": lambda: Mix(sec(), 0.25, seed=3),
        "mix of boxes": lambda: Mix(make("alp-gmm", BOX, fit_rate=30, components=(2, 3)), 0.25),
        "warmup": lambda: Warmup(sec(), 37),
        "sequential": lambda: Sequential([(make("random", SPACE), lambda m: m["observed"] >= 30), (sec(), None)]),
        "every": lambda: Every(sec(), 7),
        "nested": lambda: Every(Mix(Warmup(make("sec", discretise(BOX), group=2), 20), 0.5), 3),
    }[kind]()


KINDS = ["mix", "mix of boxes", "warmup", "sequential", "every", "nested"]


def play(teacher, rounds=10, seed=0):
    rng, seen = np.random.default_rng(seed), []
    for _ in range(rounds):
        proposals = teacher.propose(9)
        seen += [(p.id, np.asarray(p.task).tolist(), p.origin) for p in proposals]
        teacher.observe([Outcome(p.id, p.task, rng.random(2), [True, False]) for p in proposals[::-1]])
        teacher.update(teacher.sample(), rng.random(2))
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_fixes_every_proposal_and_a_saved_state_continues_identically(kind):
    teacher, other = build(kind), build(kind)
    assert play(teacher) == play(other)
    copy = build(kind)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict(), allow_nan=False)))
    assert play(copy, seed=1) == play(teacher, seed=1)
    assert copy.state_dict() == teacher.state_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_the_wholes_own_and_lost_outcomes_cost_nothing(kind):
    teacher = build(kind)
    proposals = teacher.propose(50)
    assert [p.id for p in proposals] == list(range(50))
    teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals[::3]])
    assert teacher.metrics()["observed"] == 17
    assert len(teacher.propose(5)) == 5


def test_a_mixture_draws_its_floor_from_the_uniform_teacher():
    teacher = Mix(favouring(2), 0.4, seed=1)
    tasks = [p.task for p in teacher.propose(4000)]
    assert teacher.distribution() == pytest.approx([0.1, 0.1, 0.7, 0.1])
    assert np.bincount(tasks) / 4000 == pytest.approx([0.1, 0.1, 0.7, 0.1], abs=0.03)


def test_a_warm_up_is_uniform_for_its_proposals_and_teaches_the_teacher():
    student = sec()
    teacher = Warmup(student, 100, seed=2)
    first = teacher.propose(120)
    assert [p.origin for p in first] == ["warmup"] * 100 + ["exploit"] * 20
    assert set(np.bincount([p.task for p in first[:100]]) > 10) == {True}
    teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in first if p.task == 3])
    assert {p.task for p in teacher.propose(50)} == {3}


def test_phases_follow_one_another_when_their_condition_holds():
    teacher = Sequential([(favouring(0), lambda m: m["observed"] >= 6), (favouring(1), None)])
    first = teacher.propose(5)
    assert {p.task for p in first} == {0}
    teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in first])
    assert teacher.phase == 0
    assert {p.task for p in teacher.propose(5)} == {1}
    assert teacher.phase == 1


def test_a_pace_makes_one_batch_of_k_outcomes():
    slow, fast = Every(sec(), 4), sec()
    for i in range(3):
        slow.update(i, [0.0, 1.0])
    assert slow.distribution() == pytest.approx([0.25] * 4)
    slow.update(3, [1.0, 1.0])
    batch = [(0, [0.0, 1.0]), (1, [0.0, 1.0]), (2, [0.0, 1.0]), (3, [1.0, 1.0])]
    for task, returns in batch:
        fast.update(task, returns)
    assert slow.distribution() == pytest.approx(fast.distribution())


def test_outcomes_from_update_make_one_batch_too():
    teacher = Every(sec(), 2)
    teacher.update(1, [0.0, 1.0])
    teacher.update(1, [1.0, 1.0])
    assert teacher.parts[0].q == pytest.approx([0.0, 0.5, 0.0, 0.0], abs=1e-5)  # not the last one's 0


def test_outcomes_of_a_batch_are_kept_while_the_teacher_forgets_older_proposals():
    teacher = Every(sec(max_in_flight=4), 6)
    for _ in range(6):
        proposals = teacher.propose(4)
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals[:1]])
    assert teacher.parts[0].metrics()["observed"] == 6


def test_a_batch_of_the_warm_up_is_one_batch_of_the_teacher():
    teacher = Warmup(sec(), 2, uniform=favouring(1))
    proposals = teacher.propose(2)
    outcomes = [Outcome(p.id, p.task, returns) for p, returns in zip(proposals, ([0.0, 1.0], [1.0, 1.0]))]
    teacher.observe(outcomes)
    assert teacher.parts[0].q == pytest.approx([0.0, 0.5, 0.0, 0.0], abs=1e-5)


def test_the_chance_of_a_proposal_is_that_of_the_mixture():
    teacher = Mix(favouring(2), 0.4, seed=1)
    chances = {p.task: p.prob for p in teacher.propose(100)}
    assert chances == pytest.approx({0: 0.1, 1: 0.1, 2: 0.7, 3: 0.1})
    window = Mix(make("oracle-window", BOX, width=0.5), 0.2, seed=1)
    proposals = window.propose(100)
    assert {round(p.prob, 6) for p in proposals if p.origin == "exploit"} == {3.4}
    assert all(np.isnan(p.prob) for p in proposals if p.origin == "explore")  # of the window it is not known there


@pytest.mark.parametrize("name", ["adr", "rlve", "horizon", "reasoning-gym", "complexity-minimax", "goid", "sec"])
def test_a_floor_goes_under_teachers_of_boxes_and_arms_alike(name):
    assert Mix(make(name, BOX), 0.1).propose(3)


def test_a_part_remembers_what_it_was_asked_to_sample():
    teacher, alone = Every(make("adr", BOX, episodes=2), 1), make("adr", BOX, episodes=2)
    for each in (teacher, alone):
        for _ in range(50):
            each.update(each.sample(), 1.0)
    assert alone.walls.sum() > 0
    assert teacher.parts[0].walls.tolist() == alone.walls.tolist()
    assert teacher.parts[0].metrics()["in_flight"] == 0


def test_successes_and_extras_reach_the_parts():
    received = []

    class Listener(type(make("random", SPACE))):
        def _learn(self, evidence):
            received.extend((item.outcome.successes, dict(item.outcome.extras), item.outcome.cost) for item in evidence)

    teacher = Warmup(Listener(SPACE), 1)
    proposal = teacher.propose(1)[0]
    teacher.observe([Outcome(proposal.id, proposal.task, [1.0], [True], 3.0, {"x": [2.0]})])
    assert received == [((True,), {"x": (2.0,)}, 3.0)]


def test_parts_over_different_spaces_or_ranges_are_refused():
    with pytest.raises(InputError, match="one space"):
        Mix(sec(), 0.1, uniform=make("random", BOX))
    with pytest.raises(InputError, match="ranges"):
        Mix(sec(), 0.1, uniform=make("random", SPACE, return_range=(0, 2)))
    with pytest.raises(InputError, match="condition"):
        Sequential([(sec(), None), (sec(), None)])
    with pytest.raises(InputError, match=r"floor must be a number in \[0, 1\], not 1\.5"):
        Mix(sec(), 1.5)


def test_a_combination_knows_joined_proposals_by_its_own_ids():
    tasks = FiniteTasks(list(range(4)))

    def mixture():
        return Mix(make("speed", tasks, screen=2, n=2), floor=0.5, seed=3)

    teacher, screened, joins = mixture(), {}, 0
    for _ in range(30):
        proposals = teacher.propose(3)
        for proposal in proposals:
            for id in proposal.meta.get("joins", ()):
                joins += 1
                assert screened[id] == proposal.task
        screened |= {p.id: p.task for p in proposals if not p.train}
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals])
        assert teacher.joinable() <= screened.keys()
        copy = mixture()
        copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
        assert copy.joinable() == teacher.joinable()
        teacher = copy
    assert joins > 10


def test_every_part_learns_how_long_the_run_is():
    teacher = Mix(make("palaestra", BOX), floor=0.1)
    teacher.expect(4000)
    assert len(teacher.parts[0]._places.returns) == 200
