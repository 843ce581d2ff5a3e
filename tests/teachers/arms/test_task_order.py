"""Orders of a sequence of tasks by the distances of their embeddings."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.run.mixture import embed_prompts
from palaestra.agents.grpo.run_parts import make_practice_teacher
from palaestra.errors import InputError
from palaestra.scripts.train import read_config
from palaestra.teachers import make
from palaestra.teachers.arms.task_order import choose_order, order_score, rank_orders


def distances(points):
    points = np.asarray(points, dtype=float)
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_on_a_line_the_two_monotone_orders_tie_for_the_first_place():
    ranked = rank_orders(distances([[1, 1], [3, 3], [2, 2]]))
    ends, length = 2 * 2**0.5, 3 * 2**0.5
    assert [score for score, _ in ranked] == pytest.approx([ends, ends, length, length, length, length])
    assert [order for _, order in ranked[:2]] == [(0, 2, 1), (1, 2, 0)]
    assert choose_order(distances([[1, 1], [3, 3], [2, 2]])) == (0, 2, 1)
    assert choose_order(distances([[1, 1], [3, 3], [2, 2]]), -1.0) in [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)]


def test_scores_depend_neither_on_the_order_of_the_list_nor_on_a_rotation():
    rng = np.random.default_rng(0)
    points, place = rng.normal(size=(5, 3)), rng.permutation(5)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    ranked = rank_orders(distances(points))
    moved = rank_orders(distances((points @ rotation)[place]))
    assert [score for score, _ in moved] == pytest.approx([score for score, _ in ranked])
    named = {tuple(place[list(order)].tolist()): score for score, order in moved}
    assert named == pytest.approx({order: score for score, order in ranked})


def test_many_tasks_are_ordered_from_one_to_the_nearest_that_is_left():
    rng = np.random.default_rng(1)
    line = rng.permutation(12)
    assert line[list(choose_order(distances(line[:, None])))].tolist() in [list(range(12)), list(range(11, -1, -1))]
    points = distances(rng.normal(size=(9, 2)))
    assert order_score(points, choose_order(points)) < order_score(points, range(9))


def test_tasks_come_one_after_another_in_the_order_of_their_embeddings():
    teacher = make("task-order", gym.spaces.Discrete(3), embeddings=[[0.0], [2.0], [1.0]], tasks=2)
    assert [p.task for p in teacher.propose(7)] == [0, 0, 2, 2, 1, 1, 1]
    mastered = make("task-order", gym.spaces.Discrete(3), embeddings=[[0.0], [2.0], [1.0]], window=2)
    for _ in range(2):
        mastered.update(0, 1.0)
    assert np.flatnonzero(mastered.distribution()).tolist() == [2]
    with pytest.raises(InputError, match="2 rows for 3 tasks"):
        make("task-order", gym.spaces.Discrete(3), embeddings=[[0.0], [2.0]])


def test_a_run_orders_its_environments_by_their_prompts():
    line = "palaestra/Arithmetic-v0 palaestra/Sudoku-v0 palaestra/DecimalArithmetic-v0 --teacher task-order"
    config = read_config(line.split(" "))
    environments = Environments("palaestra/Mixture-v0", envs=list(config.envs))
    env = environments.take()
    found = embed_prompts(env, environments.families)
    assert found == embed_prompts(env, environments.families)
    assert np.sum(found, axis=1) == pytest.approx([1, 1, 1])
    assert distances(found)[0, 2] < distances(found)[0, 1]  # sums of whole and of decimal numbers
    teacher = make_practice_teacher(config, environments)
    assert teacher.order == choose_order(distances(found))
    assert {p.task["env"] for p in teacher.propose(8)} == {environments.families[teacher.order[0]]}
