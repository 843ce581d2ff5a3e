"""Maps of corridors, and bonuses that fade."""

from __future__ import annotations

import json
import math

import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.landmarks import LandmarkBonus, LandmarkMap
from palaestra.rewards import Step


def walk(bonus: LandmarkBonus, *cells: int, slot: int = 0) -> list[float]:
    """Begin an episode at the first of some cells of a corridor; the bonuses of the steps to the others."""
    reward = bonus.of_slot(slot)
    reward.begin(0, {"positions": [[cells[0], 0]]})
    return [
        reward.step_reward_now(Step(0, 0, 0.0, {"env": 0.0}, 1, extras={"positions": [[cell, 0]]}), 0, False)
        for cell in cells[1:]
    ]


@pytest.mark.parametrize(("length", "spacing"), [(1, 2), (7, 2), (8, 2), (12, 3), (13, 3), (10, 5)])
def test_a_corridor_has_a_landmark_for_each_spacing_of_its_length(length, spacing):
    bonus = LandmarkBonus(spacing)
    walk(bonus, *range(length))
    number = math.ceil(length / spacing)
    assert bonus.map.places == [(spacing * n, 0) for n in range(number)]
    assert bonus.map.edges == [{m for m in (n - 1, n + 1) if 0 <= m < number} for n in range(number)]


def test_a_new_landmark_gets_its_bonus_once():
    bonus = LandmarkBonus(2.0, new=1.0, reach=0.0)
    assert walk(bonus, 0, 1, 2, 3, 4) == [0, 1, 0, 1]
    assert walk(bonus, 0, 1, 2, 3, 4) == [0, 0, 0, 0]


def test_the_landmark_assigned_is_the_least_visited_one_that_edges_lead_to():
    chart = LandmarkMap(1.0)
    for place in range(5):
        chart.locate((place, 0))
    for one, other in ((0, 1), (1, 2), (1, 3)):
        chart.connect(one, other)
    chart.visits = [3, 2, 1, 1, 0]  # the last one is the least visited, but no edge leads there
    assert chart.assign(0) == 2
    assert chart.assign(2) == 3
    assert chart.assign(4) is None


def test_returning_to_a_landmark_gets_less_each_time():
    bonus = LandmarkBonus(1.0, new=0.0, reach=1.0)
    walk(bonus, 0, 1)
    # Of two landmarks the other one is always assigned: its visits, those of the first walk included, are 2, 3, 4 ....
    assert walk(bonus, 0, 1, 0, 1, 0) == pytest.approx([2**-0.5, 3**-0.5, 3**-0.5, 4**-0.5])


def test_going_to_and_fro_is_better_than_the_goal_at_first_only():
    """A goal of 1 two steps away, or the bonuses of a corridor for ever, at a discount of 0.9."""
    bonus, discount = LandmarkBonus(1.0, new=0.0, reach=1.0), 0.9
    per_step = (1 - discount) * discount
    to_and_fro = walk(bonus, *([0, 1] * 2000))
    assert min(to_and_fro[1:20]) > per_step > max(to_and_fro[-20:])
    assert "until the map is drawn" in make_bonuses(["landmarks"], discount)[0].optimum


def test_all_slots_draw_one_map_and_have_an_assignment_each():
    bonus = LandmarkBonus(1.0, new=0.0, reach=1.0)
    walk(bonus, 0, 1, 2, slot=0)
    assert len(bonus.map.places) == 3
    walk(bonus, 0, slot=1)
    assert {slot: memory["assigned"] for slot, memory in bonus.memory.items()} == {0: 0, 1: 1}


def test_a_state_that_was_saved_goes_on_to_the_same_numbers():
    bonus, other = LandmarkBonus(), LandmarkBonus()
    walk(bonus, *range(9), *range(9, 2, -1))
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    path = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 11, 10, 9, 8]
    assert walk(other, *path) == walk(bonus, *path)
    assert other.state_dict() == bonus.state_dict()
