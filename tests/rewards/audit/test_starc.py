from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards.audit import (
    TabularMDP,
    action_values,
    gridworld,
    optimal_policy,
    policy_values,
    potential_shaping,
    starc_distance,
)

seeds = st.integers(0, 2**32 - 1)


def a_world(seed: int, states: int = 4, actions: int = 3) -> tuple[TabularMDP, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    mdp = TabularMDP(rng.dirichlet(np.ones(states), (states, actions)), 0.9)
    return mdp, rng.normal(size=(states, actions, states)), rng


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_potential_shaping_has_no_distance_and_the_same_optimal_policy(seed: int):
    mdp, reward, rng = a_world(seed)
    shaped = potential_shaping(mdp, reward, rng.normal(size=mdp.states) * 5)
    assert starc_distance(mdp, reward, shaped) == pytest.approx(0, abs=1e-7)
    assert (optimal_policy(mdp, reward) == optimal_policy(mdp, shaped)).all()


def test_potential_shaping_leaves_every_optimal_action_of_a_gridworld():
    mdp, reward = gridworld(4)
    policy = optimal_policy(mdp, reward)
    # From the first cell, down and right are equally good, up and left are not.
    assert policy[0].tolist() == [False, True, False, True]
    for seed in range(10):
        potential = np.random.default_rng(seed).normal(size=16) * 3
        assert (optimal_policy(mdp, potential_shaping(mdp, reward, potential)) == policy).all()


def test_shaping_that_is_no_potential_changes_the_optimum():
    mdp, reward = gridworld(3)
    # A reward for standing still in the first cell.
    wrong = reward.copy()
    wrong[0, :, 0] += 1.0
    assert not (optimal_policy(mdp, wrong) == optimal_policy(mdp, reward)).all()
    assert starc_distance(mdp, reward, wrong) > 0.1


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_moving_reward_between_next_states_of_equal_expectation_has_no_distance(seed: int):
    mdp, reward, rng = a_world(seed)
    noise = rng.normal(size=reward.shape)
    noise -= (mdp.transitions * noise).sum(-1, keepdims=True)
    assert starc_distance(mdp, reward, reward + noise) == pytest.approx(0, abs=1e-7)


@given(st.floats(0.01, 100))
def test_scaling_has_no_distance_and_the_opposite_has_the_largest(scale: float):
    mdp, reward, _ = a_world(1)
    assert starc_distance(mdp, reward, scale * reward) == pytest.approx(0, abs=1e-7)
    assert starc_distance(mdp, reward, -scale * reward) == pytest.approx(1)


def test_the_distance_is_symmetric_bounded_and_keeps_the_triangle():
    mdp, one, rng = a_world(2)
    two, three = rng.normal(size=(2, *one.shape))
    ab, bc, ac = (starc_distance(mdp, *pair) for pair in ((one, two), (two, three), (one, three)))
    assert ab == starc_distance(mdp, two, one)
    assert 0 < ab < 1
    assert ac <= ab + bc


def test_other_dynamics_make_another_distance():
    mdp, one, rng = a_world(3)
    two = rng.normal(size=one.shape)
    other = TabularMDP(rng.dirichlet(np.ones(4), (4, 3)), 0.9)
    assert starc_distance(mdp, one, two) != pytest.approx(starc_distance(other, one, two), abs=1e-3)


def test_a_reward_that_prefers_nothing_is_at_half_a_unit_from_all_others():
    mdp, reward, _ = a_world(4)
    constant = np.ones(mdp.states)
    assert starc_distance(mdp, constant, np.zeros(mdp.states)) == 0
    assert starc_distance(mdp, reward, constant) == pytest.approx(0.5)


def test_values_of_a_chain_by_hand():
    # Two states; action 1 goes from the first to the second, which keeps itself and gives 1 a step.
    chances = np.zeros((2, 2, 2))
    chances[0, 0, 0] = chances[0, 1, 1] = chances[1, :, 1] = 1
    mdp = TabularMDP(chances, 0.5)
    reward = np.array([0.0, 1.0])
    assert action_values(mdp, reward) == pytest.approx(np.array([[0.5, 1.0], [2.0, 2.0]]))
    # Under the uniform policy v0 = 0.5 * (0.5 v0 + 0.5 * 2).
    assert policy_values(mdp, reward) == pytest.approx([2 / 3, 2])
    assert optimal_policy(mdp, reward).tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("transitions", "discount"),
    [
        (np.ones((2, 2)), 0.9),
        (np.ones((2, 1, 2)), 0.9),
        (np.full((2, 1, 2), 0.5), 1.0),
        (np.full((2, 1, 2), 0.5), float("nan")),
    ],
)
def test_what_is_no_mdp_is_refused(transitions: Any, discount: float):
    with pytest.raises(InputError):
        TabularMDP(transitions, discount)


@pytest.mark.parametrize("reward", [np.ones(3), np.ones((4, 4)), np.full(4, np.inf)])
def test_a_reward_of_another_shape_is_refused(reward: Any):
    mdp, _, _ = a_world(0)
    with pytest.raises(InputError, match="reward"):
        starc_distance(mdp, reward, reward)
    with pytest.raises(InputError, match="potential"):
        potential_shaping(mdp, np.zeros(4), [1.0])
