"""Go-Explore's archive (arXiv 1901.10995)."""

from __future__ import annotations

from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.levels.archive import count_weights
from palaestra.teachers.levels.space import Levels

CORRIDOR = gym.spaces.Discrete(40)


def explore(teacher, rounds, ret=lambda task: 0.5):
    for _ in range(rounds):
        proposals = teacher.propose(4)
        teacher.observe([Outcome(p.id, p.task, [ret(p.task)]) for p in proposals])


def test_counts_of_0_3_and_8_weigh_1_a_half_and_a_third():
    assert count_weights([0, 3, 8]) == pytest.approx([1, 1 / 2, 1 / 3])


def test_cells_are_chosen_in_proportion_to_their_weights():
    teacher = make("go-explore", CORRIDOR, seen=0.0)
    for task in (5, 20):
        teacher.update(task, 0.5)
    teacher._counts_of[:2, 0] = 3, 0
    assert teacher.weights() == pytest.approx([0.5, 1.0])
    near = Counter(min((5, 20), key=lambda cell: abs(cell - p.task)) for p in teacher.propose(9000))
    assert near[5] / 9000 == pytest.approx(1 / 3, abs=0.02)
    assert teacher._counts_of[:2, 0].sum() == 3 + 9000


def test_coverage_of_a_corridor_only_grows_until_all_is_known():
    teacher = make("go-explore", CORRIDOR)
    teacher.update(0, 0.5)
    known = 1
    for _ in range(400):
        explore(teacher, 1)
        assert teacher.metrics()["cells"] >= known
        known = teacher.metrics()["cells"]
    assert known == 40


def test_a_proposal_is_one_edit_from_an_archived_level():
    teacher = make("go-explore", CORRIDOR)
    teacher.update(10, 0.5)
    assert {p.task for p in teacher.propose(20)} == {9, 11}


def costing(teacher, x, ret, cost):
    proposal = teacher.propose(1)[0]
    teacher._in_flight[proposal.id] = teacher._record(np.array([x]))
    teacher.observe([Outcome(proposal.id, np.array([x]), [ret], cost=cost)])


def test_a_level_is_replaced_by_a_better_one_or_a_shorter_one_and_never_by_a_longer_one():
    teacher = make("go-explore", gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64))
    for x, ret, cost, kept in (
        (0.51, 0.5, 10.0, 0.51),
        (0.52, 0.5, 11.0, 0.51),  # longer
        (0.53, 0.5, 10.0, 0.51),  # as long
        (0.54, 0.5, 9.0, 0.54),
        (0.55, 0.4, 1.0, 0.54),  # worse
        (0.56, 0.6, 50.0, 0.56),
    ):
        costing(teacher, x, ret, cost)
        assert len(teacher._kept) == 1
        assert teacher._kept[0] == pytest.approx([kept])


def test_counts_start_again_when_a_cell_improves():
    teacher = make("go-explore", gym.spaces.Discrete(1))
    for ret, seen in ((0.5, 0), (0.5, 1), (0.4, 2), (0.6, 0)):
        teacher.update(0, ret)
        assert teacher._counts_of[0, 1] == seen


def test_a_full_archive_forgets_the_cell_visited_most():
    teacher = make("go-explore", CORRIDOR, capacity=2)
    for task in (3, 8, 3, 3):
        teacher.update(task, 0.5)
    teacher.update(20, 0.5)
    assert set(teacher._cells) == {teacher.levels.key(8), teacher.levels.key(20)}
    explore(teacher, 50)
    assert teacher.metrics()["cells"] == 2


@pytest.mark.parametrize(
    "options", [{"bins": 0}, {"edits": 0}, {"capacity": 0}, {"power": -1.0}, {"chosen": 0.0, "seen": 0.0}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("go-explore", CORRIDOR, **options)


def test_levels_without_an_editor_are_refused():
    with pytest.raises(InputError, match="mutate"):
        make("go-explore", Levels("maze", dict))
