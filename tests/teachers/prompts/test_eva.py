"""eva (arXiv 2411.00062)."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.eva import informativeness

PROMPTS = FiniteTasks([f"prompt {i}" for i in range(4)])


def eva(space=PROMPTS, **options):
    return make("eva", space, **options)


def test_the_gap_of_the_worked_example_is_0_8():
    assert informativeness([0.1, 0.9, 0.5]) == pytest.approx(0.8)
    assert informativeness([0.1, 0.9, 0.5], "mean") == pytest.approx(0.4)


def test_the_gap_ignores_a_constant_and_grows_with_the_scale():
    returns = [0.1, 0.45, 0.3]
    for baseline in ("min", "mean"):
        gap = informativeness(returns, baseline)
        assert informativeness([r + 0.2 for r in returns], baseline) == pytest.approx(gap)
        assert informativeness([2 * r for r in returns], baseline) == pytest.approx(2 * gap)


def test_tasks_are_drawn_in_proportion_to_their_gap_and_those_without_never():
    teacher = eva(fresh=1e-9)
    for task, gap in zip(PROMPTS.tasks, (0.0, 0.2, 0.6, 0.0)):
        teacher.update(task, [0.1, 0.1 + gap])
    drawn = [p.task for p in teacher.propose(4000)]
    assert drawn.count("prompt 2") / len(drawn) == pytest.approx(0.75, abs=0.03)
    assert set(drawn) == {"prompt 1", "prompt 2"}


def test_where_no_gap_is_above_0_all_are_uniform():
    teacher = eva(fresh=1e-9)
    for task in PROMPTS.tasks:
        teacher.update(task, [0.5, 0.5])
    proposals = teacher.propose(400)
    assert {p.task for p in proposals} == set(PROMPTS.tasks)
    assert {p.origin for p in proposals} == {"explore"}


def test_without_a_generator_a_list_is_only_reweighted():
    teacher = eva(evolve=1.0)
    for task in PROMPTS.tasks:
        teacher.update(task, [0.0, 1.0])
    assert {p.origin for p in teacher.propose(100)} == {"explore", "replay"}


def test_on_axes_the_informative_are_varied_and_their_variants_join_the_memory():
    teacher = eva(gym.spaces.Box(0.0, 1.0, (2,)), fresh=1e-9, evolve=1.0, step=0.05)
    teacher.update(np.array([0.25, 0.75], dtype=np.float32), [0.0, 1.0])
    proposals = teacher.propose(20)
    assert {p.origin for p in proposals} == {"edit"}
    assert all(np.abs(p.task - [0.25, 0.75]).max() < 0.25 for p in proposals)
    assert len({p.task.tobytes() for p in proposals}) == 20
    teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in proposals])
    assert teacher.metrics()["remembered"] == 21


def test_tasks_climb_towards_where_the_gap_is():
    teacher = eva(gym.spaces.Box(0.0, 1.0, (1,)), seed=1)
    for _ in range(60):
        proposals = teacher.propose(16)
        teacher.observe([Outcome(p.id, p.task, [0.0, max(0.0, 1 - 4 * abs(p.task[0] - 0.9))]) for p in proposals])
    tasks = np.array([p.task[0] for p in teacher.propose(400) if p.origin != "explore"])
    assert (np.abs(tasks - 0.9) < 0.25).mean() > 0.95


def test_a_generators_tasks_are_proposed_played_and_evolved_again():
    teacher = eva(generator=lambda task, rng: task + "'", evolve=1.0, fresh=1e-9)
    teacher.update("prompt 1", [0.0, 1.0])
    (child,) = teacher.propose(1)
    assert (child.task, child.origin) == ("prompt 1'", "edit")
    teacher.observe([Outcome(child.id, child.task, [0.0, 1.0])])
    assert {p.task for p in teacher.propose(50)} == {"prompt 1'", "prompt 1''"}
    copy = eva(generator=lambda task, rng: task + "'", evolve=1.0, fresh=1e-9)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert [p.task for p in copy.propose(9)] == [p.task for p in teacher.propose(9)]


def test_the_least_informative_give_way_when_the_memory_is_full():
    teacher = eva(gym.spaces.Discrete(9), capacity=3)
    for task in range(9):
        teacher.update(task, [0.0, task / 8])
    assert teacher.gaps().tolist() == [6 / 8, 7 / 8, 1.0]


def test_a_single_return_counts_as_average_until_there_is_a_second():
    teacher = eva(gym.spaces.Discrete(9))
    teacher.update(0, 0.5)
    assert teacher.gaps().tolist() == [1.0]
    teacher.update(1, [0.0, 0.4])
    assert teacher.gaps() == pytest.approx([0.4, 0.4])
    teacher.update(0, 0.7)
    assert teacher.gaps() == pytest.approx([0.2, 0.4])
    for ret in (0.7, 0.7, 0.7):
        teacher.update(0, ret)
    assert teacher.gaps()[0] == 0.0  # the last four


@pytest.mark.parametrize(
    "bad", [{"baseline": "max"}, {"fresh": 0}, {"evolve": 2}, {"step": 0}, {"group": 1}, {"capacity": 0}]
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        eva(**bad)


def test_a_value_is_remembered_once_wherever_it_was_drawn_in_its_interval():
    teacher = eva(gym.spaces.Discrete(3), group=4)
    for turn in range(40):
        teacher.observe([Outcome(p.id, p.task, [float(turn % 2)]) for p in teacher.propose(6)])
    assert teacher.metrics()["remembered"] == 3
    assert len(teacher.state_dict()["own"]["memory"]) == 3
