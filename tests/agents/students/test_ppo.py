"""PPO on small worlds."""

from __future__ import annotations

import importlib

import gymnasium as gym
import numpy as np
import pytest
import torch
from palaestra.agents.students import PPOConfig
from palaestra.agents.students.ppo import PPO
from palaestra.agents.students.practice import Practice
from palaestra.errors import InputError


class FirstSeen(gym.Env):
    """The action that wins is shown once, before two steps in which nothing is seen: only a memory can know it."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.right, self.at = int(self.np_random.integers(2)), 0
        return self.right, {}

    def step(self, action):
        self.at += 1
        won = self.at == 3 and action == self.right
        return 2, float(won), self.at == 3, False, {"is_success": won}


class Aim(gym.Env):
    """One step; the reward is minus the distance of the action from 0.5."""

    observation_space = gym.spaces.Box(0, 1, (1,))
    action_space = gym.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        return np.zeros(1, dtype=np.float32), -abs(float(action[0]) - 0.5), True, False, {}


class CutOff(gym.Env):
    """A reward of 1 for ever, in episodes that are cut off after each step."""

    observation_space = gym.spaces.Box(0, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        return np.zeros(1, dtype=np.float32), 1.0, False, True, {}


def learn(make, iterations: int, **changes) -> tuple[PPO, list[float]]:
    """Train, and return the student with the mean reward of the episodes of each iteration."""
    settings = {"environments": 8, "rollout": 24, "sequence": 6, "minibatch": 48, "anneal": False, "lr": 5e-3}
    config = PPOConfig(**settings | {"hidden": 16} | changes)
    practice = Practice(make, config.environments, 0)
    practice.begin()
    student, rewards = PPO(config, practice), []
    for _ in range(iterations):
        student.iterate(0.0)
        rewards.append(float(np.mean([one.reward for one in practice.take_finished()])))
    return student, rewards


def test_it_learns_to_walk_to_the_end():
    student, rewards = learn(lambda: gym.make("students/Corridor-v0"), 15)
    assert rewards[0] < 0.8
    assert rewards[-1] > 0.95
    actions, _ = student.player(0.0)(student.practice.observations, [None] * 8, [])
    assert actions == [4] * 8


def test_the_value_of_an_episode_that_is_cut_off_counts_what_would_follow():
    student, _ = learn(CutOff, 30, discount=0.5)
    values = student._values(student.practice.observations, student.net.begin(8))
    assert values == pytest.approx([2.0] * 8, abs=0.2)  # 1 + 1/2 + 1/4 ...


def test_only_a_memory_knows_what_was_seen_before():
    without, with_memory = (learn(FirstSeen, 25, memory=memory)[1] for memory in (0, 16))
    assert np.mean(without[-5:]) < 0.7
    assert np.mean(with_memory[-5:]) > 0.95


def test_a_memory_is_empty_where_an_episode_begins():
    student, _ = learn(FirstSeen, 1, memory=4)
    seen = {"vector": torch.eye(3)[[0, 2, 1, 2]][:, None]}
    first = torch.tensor([True, False, True, False])[:, None]
    whole, _ = student.net.unroll(seen, torch.ones(1, 4), first)
    last, _ = student.net.unroll({"vector": seen["vector"][2:]}, torch.zeros(1, 4), first[2:])
    torch.testing.assert_close(whole[2:], last)


def test_it_aims_with_continuous_actions():
    student, rewards = learn(Aim, 25, entropy_weight=0.0)
    assert rewards[-1] > 0.6 * rewards[0]
    actions, _ = student.player(0.0)([np.zeros(1, dtype=np.float32)], [None], [np.random.default_rng(0)])
    assert abs(actions[0][0] - 0.5) < 0.2


def test_the_learning_rate_falls_to_0():
    config = PPOConfig(environments=2, rollout=4, hidden=4)
    practice = Practice(FirstSeen, 2, 0)
    practice.begin()
    student = PPO(config, practice)
    assert [student.iterate(done)["lr"] for done in (0.0, 0.5, 0.75)] == [1e-3, 5e-4, 2.5e-4]


def test_actions_that_are_many_choices_are_refused():
    class Levers(FirstSeen):
        action_space = gym.spaces.MultiDiscrete([2, 2])

    with pytest.raises(InputError, match="Discrete actions or those of a one-dimensional Box"):
        PPO(PPOConfig(), Practice(Levers, 1, 0))


def test_a_sequence_that_does_not_divide_a_rollout_is_refused_with_one_that_does():
    with pytest.raises(InputError, match="take 5"):
        PPOConfig(rollout=20, memory=8, sequence=7)


def test_ppo_of_stable_baselines_runs_on_our_ids_unchanged():
    baselines = pytest.importorskip("stable_baselines3")
    from minigrid.wrappers import ImgObsWrapper

    # MiniGrid's own wrapper leaves the mission out, which Stable-Baselines3 has no encoder for.
    envs = [lambda: ImgObsWrapper(gym.make("palaestra/DoorKey-v0", size=5))] * 2
    vector = importlib.import_module("stable_baselines3.common.vec_env").DummyVecEnv(envs)
    options = {"policy_kwargs": {"net_arch": [8]}, "device": "cpu", "seed": 0}
    model = baselines.PPO("MlpPolicy", vector, n_steps=16, batch_size=16, n_epochs=1, **options)
    before = model.policy.action_net.weight.detach().clone()
    model.learn(64)
    assert model.num_timesteps == 64
    assert not torch.equal(before, model.policy.action_net.weight)
