from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs import baselines
from palaestra.envs.baselines import CONSTANTS, Cycle, count_wins, success_rates
from palaestra.envs.testing.tasks import tail


def played_out(env: Any, cycle: tuple[Any, ...]) -> bool:
    """Whether repeating ``cycle`` succeeds, step by step to the very end."""
    turn = 0
    while True:
        _, _, terminated, truncated, info = env.step(cycle[turn % len(cycle)])
        turn += 1
        if terminated or truncated:
            return bool(info["is_success"])


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("2048", [("left",), ("left", "up", "right", "down"), ("left", "right"), ("x",)]),
        ("ConnectFour", [("4",), ("4", "5"), ("9",)]),
        ("DoorKeyText", [("turn left",), ("pick up", "go forward", "turn left", "toggle"), ("wait",)]),
        ("DoorKey", [(0,), (0, 1), (2, 3, 0, 5)]),
    ],
)
def test_a_cycle_that_is_given_up_would_not_have_succeeded(name: str, cycles: list[tuple[Any, ...]]):
    env: Any = gym.make(f"palaestra/{name}-v0", difficulty=0.0, disable_env_checker=True).unwrapped
    for seed in range(3):
        for cycle in cycles:
            env.reset(seed=seed)
            start = env.get_state()
            found = baselines._succeeds(env, Cycle(cycle))
            env.set_state(start)
            assert found is played_out(env, cycle)


def test_a_constant_action_that_changes_nothing_takes_one_step(monkeypatch: pytest.MonkeyPatch):
    env: Any = gym.make("palaestra/DoorKeyText-v0", size=16, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    start, steps = env.get_state(), []
    step = env.step
    monkeypatch.setattr(env, "step", lambda action: (steps.append(action), step(action))[1])
    assert not baselines._succeeds(env, Cycle(["yes"]))
    assert steps == ["yes"]
    env.set_state(start)
    assert not baselines._succeeds(env, Cycle(["turn left"]))
    # The rules are told once, so that the fifth look is the first one again.
    assert len(steps) <= 1 + 6


def test_players_begin_at_the_start_whatever_the_one_before_did(monkeypatch: pytest.MonkeyPatch):
    begun = []

    def looking(env: Any, rng: np.random.Generator) -> Any:
        begun.append((env._turn, env._ended))
        yield from baselines.constant_policies(env, rng)

    monkeypatch.setattr(baselines, "PLAYERS", {"first": looking, "second": looking})
    success_rates("palaestra/ConnectFour-v0", 0.0, episodes=2)
    assert begun == [(0, False)] * 4


def test_wins_are_counted_for_each_policy_of_a_player():
    wins = count_wins("palaestra/MultipleChoice-v0", 0.0, episodes=12)
    letters = dict(zip(CONSTANTS, wins["constant"], strict=True))
    assert sum(letters[letter] for letter in "ABC") > 0 == letters["none"]
    assert success_rates("palaestra/MultipleChoice-v0", 0.0, episodes=12)["constant"] == max(letters.values()) / 12


def test_the_probability_of_at_least_so_many_successes():
    assert tail(0, 3, 0.2) == pytest.approx(1.0)
    assert tail(1, 2, 0.5) == pytest.approx(0.75)
    assert tail(2, 3, 0.2) == pytest.approx(3 * 0.2**2 * 0.8 + 0.2**3)
