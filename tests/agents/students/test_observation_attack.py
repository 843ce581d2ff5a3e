"""Attacks on views: within so many cells, never worse for the adversary with more, and nothing at all with none."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
import torch
from palaestra.agents.students import PPOConfig, QConfig
from palaestra.agents.students.observation_attack import (
    VIEW,
    AttackedAgent,
    CellAdversary,
    Intention,
    Play,
    check_victim,
    collect_play,
)
from palaestra.agents.students.ppo import PPO
from palaestra.agents.students.practice import Practice
from palaestra.agents.students.student_agent import StudentAgent
from palaestra.agents.students.student_envs import make_environment
from palaestra.agents.students.tabular_q import QLearning
from palaestra.errors import InputError

CONFIG = PPOConfig(
    env="palaestra/DoorKey-v0", axes={"size": 5}, env_options={"max_steps": 30}, environments=1, hidden=8
)


def make_victim() -> PPO:
    """A policy whose distributions differ between views, as those of trained ones do."""
    victim = PPO(CONFIG, Practice(lambda: make_environment(CONFIG, "train"), 1, 0))
    with torch.no_grad():
        victim.net.policy.output.weight.mul_(300)
    return victim


@pytest.fixture(scope="module")
def attack() -> tuple[PPO, Play, Intention]:
    victim = make_victim()
    play = collect_play(victim, make_environment(CONFIG, "train"), "away", seed=0, steps=512)
    return victim, play, Intention(victim, play, seed=0, pairs=800)


def observations(count: int) -> list[dict[str, Any]]:
    env = make_environment(CONFIG, "test")
    return [env.reset(seed=seed)[0] for seed in range(count)]


def play_episode(agent: StudentAgent, seed: int) -> list[int]:
    env, actions, over, info = make_environment(CONFIG, "test"), [], False, {"episode_seed": seed}
    observation, _ = env.reset(seed=seed)
    agent.reset([0])
    while not over:
        (action,) = agent.act([observation], [info])
        observation, _, terminated, truncated, _ = env.step(action)
        actions.append(action)
        over = terminated or truncated
    return actions


def test_no_cells_leave_the_victim_as_it_is(attack):
    victim, play, intention = attack
    for aim in (True, False):
        attacked = AttackedAgent(CellAdversary(victim, intention, play.tiles, 0, aim=aim))
        for seed in range(3):
            assert play_episode(attacked, seed) == play_episode(StudentAgent(victim), seed)
        assert attacked.steps > 20
    changed = AttackedAgent(CellAdversary(victim, intention, play.tiles, 4, tries=64))
    assert any(play_episode(changed, seed) != play_episode(StudentAgent(victim), seed) for seed in range(3))


def test_the_more_cells_the_closer_the_victim_is_to_what_is_wanted(attack):
    victim, play, intention = attack
    for observation in observations(4):
        found = []
        for cells in range(4):
            adversary = CellAdversary(victim, intention, play.tiles, cells)
            shown = adversary.change(observation, None, np.random.default_rng(0))
            wanted = adversary.wanted(observation)
            found.append(float(adversary.divergences(observation, shown[VIEW][None], None, wanted)[0]))
            changed = (shown[VIEW] != observation[VIEW]).any(-1)
            assert changed.sum() <= cells
            tiles = {tuple(tile) for tile in play.tiles.tolist()}
            assert {tuple(tile) for tile in shown[VIEW][changed].tolist()} <= tiles
            assert shown["mission"] == observation["mission"]
        assert all(more <= fewer + 1e-9 for fewer, more in pairwise(found))
        assert found[-1] < found[0]
        # One cell, all of them tried: nothing in the ball is better.
        every = np.repeat(observation[VIEW][None], 49 * len(play.tiles), axis=0)
        for number in range(len(every)):
            every[number, number // len(play.tiles) // 7, number // len(play.tiles) % 7] = play.tiles[
                number % len(play.tiles)
            ]
        assert found[1] == pytest.approx(min(found[0], adversary.divergences(observation, every, None, wanted).min()))


def test_the_divergence_is_that_of_the_two_distributions(attack):
    victim, play, intention = attack
    adversary, (observation,) = CellAdversary(victim, intention, play.tiles, 1), observations(1)
    wanted = torch.tensor([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]).log()
    outputs = victim.net(victim._tensors(victim.code.encode([observation])), victim.net.begin(1))[0][0]
    odds = outputs.softmax(-1).tolist()
    by_hand = sum(p * (math.log(p) - math.log(q)) for p, q in zip(odds, [0.4, *[0.1] * 6]) if p > 0)
    found = adversary.divergences(observation, observation[VIEW][None], None, wanted)
    assert found == pytest.approx([by_hand], abs=1e-5)


def test_aimed_changes_bring_the_victim_closer_to_what_is_wanted_than_random_ones(attack):
    victim, play, intention = attack
    closer = []
    for cells, aim in ((0, True), (3, False), (3, True)):
        agent = AttackedAgent(CellAdversary(victim, intention, play.tiles, cells, tries=64, aim=aim))
        for seed in range(4):
            play_episode(agent, seed)
        closer.append(agent.closer / agent.steps)
    assert closer[0] == 0.0
    assert closer[2] > max(closer[1], 0.0) + 0.3


def test_random_changes_are_of_the_same_size_and_repeat_under_a_seed(attack):
    victim, play, intention = attack
    adversary, (observation,) = CellAdversary(victim, intention, play.tiles, 3, aim=False), observations(1)
    before = observation[VIEW].copy()
    shown = [adversary.change(observation, None, np.random.default_rng(seed))[VIEW] for seed in (1, 1, 2)]
    assert np.array_equal(shown[0], shown[1])
    assert not np.array_equal(shown[0], shown[2])
    assert all((one != before).any(-1).sum() <= 3 for one in shown)
    assert np.array_equal(observation[VIEW], before)


def test_an_intention_is_learned_from_preferences_alone(attack):
    victim, play, _ = attack
    # Segments are the better the more often the third action is taken, whatever is seen.
    likes = Play(play.seen, play.actions, (play.actions == 2).astype(float), play.begins, play.tiles)
    intention = Intention(victim, likes, seed=1, pairs=1_000)
    assert intention.agreement > 0.9
    odds = intention.log_probabilities(victim._tensors(play.seen)).exp()
    assert float((odds.argmax(-1) == 2).double().mean()) > 0.9
    assert odds.sum(-1).numpy() == pytest.approx(np.ones(len(odds)), abs=1e-5)
    with pytest.raises(InputError, match="no two segments"):
        Intention(victim, Play(play.seen, play.actions, 0.0 * play.value, play.begins, play.tiles), seed=1)


def test_steps_are_valued_by_the_way_they_lead(attack):
    victim, away, _ = attack
    idle = collect_play(victim, make_environment(CONFIG, "train"), "idle", seed=0, steps=400)
    assert set(idle.value) == {0.0, 1.0}
    assert idle.value[idle.actions != 2].all()  # only a step forward changes the place
    assert away.value.min() < 0 < away.value.max()
    assert away.begins[0]
    assert len(away.tiles) > 3


def test_what_cannot_be_attacked_is_refused(attack):
    victim, play, intention = attack
    config = QConfig(env="palaestra/DoorKey-v0")
    with pytest.raises(InputError, match="only policies of ppo and go-explore"):
        check_victim(QLearning(config, Practice(lambda: make_environment(config, "train"), 1, 0)))
    cart = PPOConfig(env="CartPole-v1", environments=1)
    with pytest.raises(InputError, match="changes cells of a gridworld's view"):
        check_victim(PPO(cart, Practice(lambda: gym.make("CartPole-v1"), 1, 0)))
    assert check_victim(victim) is victim
    with pytest.raises(InputError, match="prefer must be one of away, idle"):
        collect_play(victim, make_environment(CONFIG, "train"), "left", 0)
    with pytest.raises(InputError, match="has no potentials"):
        collect_play(victim, gym.make("CartPole-v1"), "away", 0)
    with pytest.raises(InputError, match="cells must be at least 0"):
        CellAdversary(victim, intention, play.tiles, -1)
