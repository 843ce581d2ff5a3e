"""Capacities of channels that are known, and of cells whose successors can be counted."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.agents.students.bonuses.action_channel import channel_capacity, empowerment, successors
from palaestra.errors import InputError


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_distinct_successors_have_the_logarithm_of_their_number(number):
    # Further actions to successors that others reach as well add nothing.
    rows = np.eye(number)[[*range(number), 0, 0]]
    assert channel_capacity(rows) == pytest.approx(math.log(number), abs=1e-6)


def test_the_capacities_of_the_symmetric_and_the_erasing_channel():
    entropy = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
    assert channel_capacity(np.array([[0.9, 0.1], [0.1, 0.9]])) == pytest.approx(math.log(2) - entropy, abs=1e-6)
    assert channel_capacity(np.array([[0.7, 0.3, 0.0], [0.0, 0.3, 0.7]])) == pytest.approx(0.7 * math.log(2), abs=1e-6)


def test_the_capacity_of_the_z_channel_needs_unequal_actions():
    # log(1 + (1 - p) p^(p / (1 - p))) for p = 1/2 (MacKay 2003, section 9.5).
    assert channel_capacity(np.array([[1.0, 0.0], [0.5, 0.5]])) == pytest.approx(math.log(1.25), abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_no_distribution_of_actions_tells_more(seed):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(4), size=3)
    p_a = rng.dirichlet(np.ones(3))
    told = float((p_a[:, None] * rows * np.log(rows / (p_a @ rows))).sum())
    assert told <= channel_capacity(rows) + 1e-6 <= math.log(3) + 2e-6


def test_rows_that_are_no_distributions_are_refused():
    for rows in ([[0.5, 0.4]], [[1.5, -0.5]], []):
        with pytest.raises(InputError, match="must be distributions"):
            channel_capacity(np.array(rows))


class Junction(gym.Env):
    """Cell 0 has three neighbours, cell 1 none; or, with noise, action 2 leads anywhere."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(3, start=1)

    def __init__(self, at: int, noise: bool = False):
        self.at, self.noise = at, noise

    def get_state(self):
        return self.at

    def set_state(self, state):
        self.at = state

    def step(self, action):
        if self.at == 0:
            self.at = int(self.np_random.integers(1, 4)) if self.noise and action == 2 else int(action)
        return self.at, 0.0, False, False, {}


def test_a_cell_with_n_successors_has_log_n_and_a_dead_end_nothing():
    assert empowerment(Junction(0)) == pytest.approx(math.log(3))
    assert empowerment(Junction(1)) == 0.0
    # Two actions end in the cell that the first one leads to.
    assert empowerment(Junction(0), horizon=2) == pytest.approx(math.log(3))


def test_noise_is_sampled_and_leaves_less():
    env = Junction(0, noise=True)
    env.reset(seed=0)
    before = env.np_random.bit_generator.state
    found = successors(env, 1, draws=300)
    assert found[0].max() == found[2].max() == 1
    assert found[1].max() < 0.45
    # An action that is never worth taking: two others tell one cell from another.
    assert math.log(2) <= empowerment(env, 1, draws=300) < math.log(2) + 0.1
    assert env.at == 0
    assert env.np_random.bit_generator.state == before


def test_gridworlds_are_counted_as_their_snapshots_are():
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0).unwrapped
    env.reset(seed=3)
    over, numbers = False, set()
    while not over:
        state = env.get_state()
        reached = set()
        for action in range(7):
            env.set_state(state)
            _, _, over, _, _ = env.step(action)
            world = env.here()
            reached.add((over, world.cells, world.agent, world.facing, world.carried))
        env.set_state(state)
        assert empowerment(env) == pytest.approx(math.log(len(reached)))
        numbers.add(len(reached))
        _, _, over, _, _ = env.step(env.oracle())
    assert numbers >= {3, 4, 5}
