"""One seat at a table: judged by lost value and not by luck."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.players.seat_env import SeatEnv
from palaestra.errors import InputError

FAMILIES = [family.__name__ for family in SeatEnv.__subclasses__()]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/KuhnPoker-v0", disable_env_checker=True, **kwargs).unwrapped


def play(env: Any, policy: Any, seed: int) -> tuple[list[float], bool, str]:
    """Rewards, success and the last observation of an episode."""
    env.reset(seed=seed)
    rewards: list[float] = []
    while True:
        text, reward, terminated, truncated, info = env.step(policy(env))
        rewards.append(reward)
        if terminated or truncated:
            return rewards, info["is_success"], text


def best(env: Any) -> str:
    return env.oracle()


def worst(env: Any) -> str:
    values = env.table.values(env.here().position, env.here().opponent, env.here().mistakes)
    return min(values, key=values.get)


def test_luck_does_not_decide():
    """Of sound episodes, some hands are lost, and of unsound ones, some are won."""
    env = make(hands=4, opponent="tight")
    sound = [play(env, best, seed) for seed in range(20)]
    assert all(success for _, success, _ in sound)
    assert any("lost" in text for *_, text in sound)
    unsound = [play(env, worst, seed) for seed in range(20)]
    assert not any(success for _, success, _ in unsound)
    assert any("won" in text for *_, text in unsound)


def test_scores_pay_for_success_for_value_or_for_points():
    success = [play(make(hands=3), best, seed)[0] for seed in range(5)]
    assert all(rewards[-1] == 1.0 and sum(rewards) == 1.0 for rewards in success)
    for seed in range(10):
        good, bad = (
            sum(play(make(hands=3, score="value", opponent="tight"), policy, seed)[0]) for policy in (best, worst)
        )
        assert good == pytest.approx(1.0)
        assert 0.0 <= bad < 1.0
        assert 0.0 <= sum(play(make(hands=3, score="result"), best, seed)[0]) <= 1.0
    with pytest.raises(InputError, match="score"):
        make(score="chips")


def test_a_move_that_is_not_legal_is_told_and_costs_a_turn_only():
    env = make(hands=1, seat="first")
    env.reset(seed=0)
    text, reward, terminated, _, info = env.step("call")
    assert not terminated
    assert reward == 0.0
    assert info["action_error"] == "Moves are: check, bet."
    assert "Your move: check or bet." in text


def test_replies_may_name_the_move_in_a_sentence():
    env = make(hands=1, seat="first")
    for reply in ("Bet", "I would bet.", "**bet**"):
        env.reset(seed=0)
        assert env.step(reply)[-1]["action_error"] is None, reply


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_moves_get_the_same_replies(name: str):
    name = {"LiarsDiceSeat": "LiarsDice"}.get(name, name)
    env = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, mistakes=50).unwrapped
    assert play(env, best, 3) == play(env, best, 3)
