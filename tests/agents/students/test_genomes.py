from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.agents.students.genomes import PolicyNetwork
from palaestra.errors import InputError


def act(network: PolicyNetwork, genome: np.ndarray, seen: object, steps: int = 1) -> object:
    weights, memory, action = network.unpack(genome), network.begin(), None
    for _ in range(steps):
        action, memory = network.act(weights, seen, memory)
    return action


def test_a_genome_is_the_weights_in_order_scaled_by_the_root_of_their_inputs():
    network = PolicyNetwork(gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(3), 2)
    assert network.size == 4 * 2 + 2 * 2 + 2 + 2 * 3 + 3
    genome = np.arange(network.size, dtype=np.float32)
    seen, again, bias, out, out_bias = network.unpack(genome)
    assert seen[1].tolist() == [2.0, 2.5, 3.0, 3.5]
    assert again[0, 1] == pytest.approx(9 / 2**0.5)
    assert bias.tolist() == [12.0, 13.0]
    assert out[2, 1] == pytest.approx(19 / 2**0.5)
    assert out_bias.tolist() == [20.0, 21.0, 22.0]


def test_actions_follow_from_genome_observation_and_memory():
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True)
    network, rng = PolicyNetwork(env.observation_space, env.action_space, 8), np.random.default_rng(0)
    genomes = rng.standard_normal((60, network.size))
    first, second = env.reset(seed=0)[0], env.reset(seed=5)[0]
    taken = [act(network, genome, first) for genome in genomes]
    assert taken == [act(PolicyNetwork(env.observation_space, env.action_space, 8), g, first) for g in genomes]
    assert set(taken) == set(range(7))
    assert taken != [act(network, genome, second) for genome in genomes]
    assert taken != [act(network, genome, first, steps=3) for genome in genomes]


def test_continuous_actions_stay_within_their_bounds_and_reach_them():
    space = gym.spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 1.0]), dtype=np.float64)
    network = PolicyNetwork(gym.spaces.Box(-1, 1, (3,), np.float32), space, 4)
    rng = np.random.default_rng(1)
    taken = np.stack([act(network, 5 * rng.standard_normal(network.size), np.ones(3)) for _ in range(200)])
    assert all(space.contains(action) for action in taken)
    assert taken.min(0) == pytest.approx([-2.0, 0.0], abs=0.01)
    assert taken.max(0) == pytest.approx([2.0, 1.0], abs=0.01)
    with pytest.raises(InputError, match="needs Discrete actions or a Box"):
        PolicyNetwork(space, gym.spaces.MultiBinary(3), 4)
