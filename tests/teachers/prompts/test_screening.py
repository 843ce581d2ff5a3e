"""Properties of all selectors that screen prompts before they train on them."""

import numpy as np
import pytest
from palaestra.teachers import Evidence, FiniteTasks, Outcome, make
from palaestra.teachers.prompts.screening import Pilot, Tallies, Turns


def evidence(task, returns):
    return Evidence(task, np.array(returns, dtype=float), Outcome(0, task, returns))


def test_all_have_a_turn_before_any_has_its_second():
    turns, rng = Turns(10), np.random.default_rng(0)
    passes = [np.concatenate([turns.take(4, rng), turns.take(4, rng), turns.take(2, rng)]) for _ in range(3)]
    assert all(sorted(one.tolist()) == list(range(10)) for one in passes)
    assert passes[0].tolist() != passes[1].tolist()


def test_turns_go_to_the_allowed_only():
    turns, allowed = Turns(6), np.array([True, False, True, False, False, False])
    assert set(turns.take(5, np.random.default_rng(0), allowed=allowed)) == {0, 2}


def test_single_outcomes_are_collected_and_groups_are_taken_as_they_are():
    tallies = Tallies(3)
    assert tallies.add(evidence(7, [1.0])) is None
    assert tallies.add(evidence(8, [0.0, 1.0])) == (0.5, 2)
    assert tallies.add(evidence(7, [0.0])) is None
    assert tallies.add(evidence(7, [1.0])) == (pytest.approx(2 / 3), 3)
    assert tallies.open == {}


def test_a_pilot_sees_all_and_is_not_held_up_for_ever_by_what_never_answers():
    pilot, rng = Pilot(4, passes=1), np.random.default_rng(0)
    assert sorted(pilot.take(4, rng).tolist()) == [0, 1, 2, 3]
    pilot.seen[:3] += 1
    pilot.answered += 3
    while not pilot.over:
        assert pilot.take(1, rng).tolist() == [3]  # what is missing is asked for first
    assert pilot.asked[3] == 8  # 2 times 4 proposals unanswered
    full = Pilot(2, passes=2)
    full.seen[:] = 2
    assert full.over


def test_a_pilot_that_saw_nothing_goes_on():
    pilot, rng = Pilot(3, passes=1), np.random.default_rng(0)
    for _ in range(50):
        pilot.take(3, rng)
    assert not pilot.over


def test_a_group_ends_a_collection_of_single_outcomes():
    tallies = Tallies(4)
    assert tallies.add(evidence(3, [1])) is None
    assert tallies.add(evidence(3, [0, 0, 1, 0])) == (0.25, 4)
    assert tallies.open == {}


@pytest.mark.parametrize("name", ["lilo", "speed"])
def test_a_prompt_that_once_gave_a_single_episode_is_not_looked_at_for_ever(name):
    teacher, looks = make(name, FiniteTasks(list(range(200)))), {}
    for batch in range(20):
        proposals = teacher.propose(8)
        for p in proposals:
            looks[p.task] = looks.get(p.task, 0) + (not p.train)
        short = [1.0] if batch == 0 else [1.0, 0.0, 0.0, 1.0]
        teacher.observe([Outcome(p.id, p.task, short if i == 0 else [0.0] * 8) for i, p in enumerate(proposals)])
    assert max(looks.values()) == 2
