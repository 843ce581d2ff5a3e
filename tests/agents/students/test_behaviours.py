from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.agents.students.behaviours import BehaviourCode, describe_end, novelty, rank_fronts
from palaestra.agents.students.observations import ObservationCode


def test_novelty_is_the_mean_distance_to_the_nearest():
    known = np.array([[0.0], [1.0], [3.0], [10.0]])
    assert novelty(np.array([[2.0]]), known, 2).tolist() == [1.0]
    assert novelty(np.array([[2.0]]), known, 3).tolist() == [pytest.approx(4 / 3)]
    # Itself does not count, and fewer are taken where fewer are known.
    assert novelty(known, known, 15, np.arange(4)).tolist() == pytest.approx([14 / 3, 4.0, 4.0, 26 / 3])


def test_a_duplicate_has_no_novelty_with_one_neighbour_and_less_than_an_isolated_point_with_more():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0], [1.0, 0.0]])
    one = novelty(points, points, 1, np.arange(4))
    assert one[:2].tolist() == [0.0, 0.0]
    assert (one[2:] > 0).all()
    two = novelty(points, points, 2, np.arange(4))
    assert two[0] == two[1] < two[2]


def test_fronts_are_those_that_nothing_left_exceeds():
    scores = np.array([[1.0, 3.0], [3.0, 1.0], [2.0, 2.0], [1.0, 1.0], [0.5, 3.0], [0.0, 0.0], [1.0, 3.0]])
    assert rank_fronts(scores).tolist() == [0, 0, 0, 1, 1, 2, 0]


def test_the_end_of_a_gridworld_is_its_place_and_its_cells():
    env = gym.make("palaestra/DoorKey-v0", size=5, obstacles=0, disable_env_checker=True)
    seen, _ = env.reset(seed=0)
    code = ObservationCode(env.observation_space)
    place, state = describe_end(env, seen, code)
    x, y = env.unwrapped.agent_pos
    assert place.tolist() == pytest.approx([x / 5, y / 5])
    assert state.shape == (50,)
    assert np.flatnonzero(state[25:]).tolist() == [y * 5 + x]
    assert len({describe_end(env, env.reset(seed=seed)[0], code)[1].tobytes() for seed in range(5)}) > 3
    other = gym.make("CartPole-v1")
    seen, _ = other.reset(seed=1)
    assert np.array_equal(*describe_end(other, seen, ObservationCode(other.observation_space)))


def test_gradients_of_the_code_are_those_of_its_error():
    code = BehaviourCode(6, 2, np.random.default_rng(0))
    states = np.random.default_rng(1).standard_normal((5, 6))
    for array, slope in zip((*code.weights, *code.biases), code.gradients(states)):
        place = tuple(size // 2 for size in array.shape)
        array[place] += 1e-6
        above = code.errors(states).mean()
        array[place] -= 2e-6
        below = code.errors(states).mean()
        array[place] += 1e-6
        assert slope[place] == pytest.approx((above - below) / 2e-6, abs=1e-7)


def test_the_code_learns_what_it_has_seen_and_is_surprised_by_the_rest():
    rng = np.random.default_rng(2)
    factors = rng.standard_normal((2, 12))
    known = rng.standard_normal((120, 2)) @ factors
    code = BehaviourCode(12, 2, np.random.default_rng(0))
    before = code.errors(known).mean()
    for _ in range(10):
        code.learn(known)
    assert code.errors(known).mean() < before / 10
    assert code.errors(3.0 * rng.standard_normal((40, 12))).mean() > 10 * code.errors(known).mean()
    assert code.encode(known).shape == (120, 2)
