"""Tabular Q-learning."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students import QConfig
from palaestra.agents.students.practice import Practice
from palaestra.agents.students.tabular_q import QLearning, QTable, greedy_action, q_target
from palaestra.errors import InputError


def learn(steps: int, **changes) -> QLearning:
    config = QConfig(env="students/Corridor-v0", environments=4, steps=steps, log_every=100, **changes)
    practice = Practice(lambda: gym.make(config.env, axes={"length": 6}), 4, 0)
    practice.begin()
    student = QLearning(config, practice)
    for at in range(0, steps, config.iteration):
        student.iterate(at / steps)
    return student


def test_a_terminated_episode_has_no_future():
    assert q_target(1.0, 5.0, True, 0.5) == 1.0
    assert q_target(1.0, 5.0, False, 0.5) == 3.5


def test_values_converge_to_the_discounted_distance():
    student = learn(4000, discount=0.5, rate=0.5, explore_end=1.0)
    values = [student.table.look_up(np.array([cell, 6], dtype=np.float32)).max() for cell in range(1, 6)]
    np.testing.assert_allclose(values, [0.5**4, 0.5**3, 0.5**2, 0.5, 1.0], rtol=1e-6)


def test_exploration_falls_to_its_end():
    student = learn(200, explore=0.8, explore_end=0.2, explore_share=0.5)
    assert [student.iterate(done)["explore"] for done in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.8, 0.5, 0.2, 0.2])


def test_a_table_is_read_back_as_it_was(tmp_path):
    table = QTable(2, initial=0.5)
    table.row({"at": np.arange(3), "said": "left"})[:] = 1.0, 2.0
    table.save(tmp_path)
    other = QTable(2, initial=0.5)
    other.load(tmp_path)
    assert other.look_up({"said": "left", "at": np.arange(3)}).tolist() == [1.0, 2.0]
    assert other.look_up("never seen").tolist() == [0.5, 0.5]
    assert len(other.rows) == 1


def test_ties_are_broken_by_chance():
    rng = np.random.default_rng(0)
    assert {greedy_action(np.array([1.0, 0.0, 1.0]), rng) for _ in range(50)} == {0, 2}


def test_actions_that_are_not_discrete_are_refused():
    practice = Practice(lambda: gym.make("Pendulum-v1"), 1, 0)
    with pytest.raises(InputError, match="Discrete"):
        QLearning(QConfig(env="Pendulum-v1"), practice)
