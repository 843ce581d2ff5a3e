"""Both seats of a game in PettingZoo: its own checks, the seat of the Gymnasium environment, and forfeits."""

from __future__ import annotations

import warnings

import gymnasium as gym
import pytest
from palaestra.envs.players.seat_env import SeatEnv
from palaestra.errors import InputError
from palaestra.integrations.pettingzoo import aec_env

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its checks import its games, in a way that it has deprecated
    from pettingzoo.test import api_test, seed_test

IDS = [
    name for name in gym.registry if name.startswith("palaestra/") and "envs.players" in str(gym.spec(name).entry_point)
]


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoo_finds_no_fault(env_id: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts are no arrays
        api_test(aec_env(env_id, difficulty=0.0), num_cycles=30)
        seed_test(lambda: aec_env(env_id, difficulty=0.0), num_cycles=5)


def test_a_seat_is_the_one_of_the_gymnasium_environment():
    """From the same deal, the same moves lead to the same observations and payoffs."""
    env = gym.make("palaestra/LeducPoker-v0", disable_env_checker=True, hands=1, mistakes=100, score="result").unwrapped
    assert isinstance(env, SeatEnv)
    both = aec_env("palaestra/LeducPoker-v0")
    for seed in range(20):
        env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, reward, terminated, *_ = env.step(env.random_action(env.here(), env.np_random))
        end = env.here().position
        both.reset(seed=0)
        both.session.position = env.here().hands[0]
        both._call_next()
        for move in end.history:
            observation, *_ = both.last()
            assert move in str(observation).rsplit("Your move: ")[1]
            both.step(move)
        points = both.rewards[both.possible_agents[env.here().seat]]
        assert both.rewards == dict(zip(both.possible_agents, env.table.returns(end)))
        assert reward == pytest.approx((1 + points / env.table.most) / 2)


def test_who_makes_no_legal_move_forfeits_and_the_other_is_not_paid_for_it():
    env = aec_env("palaestra/KuhnPoker-v0", patience=2)
    env.reset(seed=0)
    env.step("???")
    assert env.infos["player_0"]["action_error"] == "Moves are: check, bet."
    assert env.agent_selection == "player_0"
    env.step("fold")
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": -2.0, "player_1": 0.0}
    assert env.infos["player_0"]["reward_valid"]
    assert not env.infos["player_1"]["reward_valid"]


def test_an_environment_of_one_player_is_refused():
    with pytest.raises(InputError, match="no table of seats"):
        aec_env("palaestra/Arithmetic-v0")
