"""What the docstrings say that answers without thought earn on the easiest puzzles and games, measured."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.measured import find_measured

EPISODES = 400
Policy = Callable[[str, Any, np.random.Generator], Any]


def earned(family: str, policy: Policy, **params: Any) -> tuple[float, float]:
    """The mean reward of an episode, and the figure that the family states."""
    env: Any = gym.make(f"palaestra/{family}-v0", difficulty=0.0, disable_env_checker=True, **params)
    rng, total = np.random.default_rng(1), 0.0
    for seed in range(EPISODES):
        prompt, _ = env.reset(seed=seed)
        actions = iter(policy(prompt, env.unwrapped, rng))
        ended = False
        while not ended:
            _, reward, terminated, truncated, _ = env.step(next(actions))
            total += reward
            ended = terminated or truncated
    return total / EPISODES, find_measured(env.spec.id, type(env.unwrapped)).chance


def joined(sign: str) -> Policy:
    return lambda prompt, env, rng: [sign.join(re.findall(r"\d+", prompt.split(".")[0])[1:])]


def rows_in_order(prompt: str, env: Any, rng: np.random.Generator) -> list[str]:
    attributes = [part.split(": ")[1].split(", ") for part in prompt.split("\n")[1].split("; ")]
    return [", ".join(map(" ".join, zip(*attributes)))]


def legal_slides(prompt: str, env: Any, rng: np.random.Generator) -> Any:
    last = 0
    while True:
        tiles, size = env.here().tiles, 3
        y, x = divmod(tiles.index(0), size)
        beside = [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
        around = [tiles[v * size + u] for v, u in beside if 0 <= v < size and 0 <= u < size]
        last = int(rng.choice([tile for tile in around if tile != last]))
        yield str(last)


def random_walk(prompt: str, env: Any, rng: np.random.Generator) -> Any:
    for turn in itertools.count(1):
        yield "restart" if turn % 12 == 0 else "UDLR"[int(rng.integers(4))]


def nine_numbers(prompt: str, env: Any, rng: np.random.Generator) -> list[str]:
    return list(map(str, rng.permutation(16) + 1))


def constantly(*actions: str) -> Policy:
    return lambda prompt, env, rng: itertools.cycle(actions)


@pytest.mark.parametrize(
    ("family", "policy", "params"),
    [
        ("Countdown", joined(" + "), {}),
        ("TwentyFour", joined(" + "), {}),
        ("GraphColouring", constantly("1 2 3 1 2 3"), {}),
        ("GraphColouring", constantly("1 2 3 4 1 2"), {"colours": 4}),
        ("Maze", constantly("LLDD"), {}),
        ("Maze", constantly("RRUU"), {"loops": 0.2}),
        ("NQueens", constantly("5 3 1 4 2"), {}),
        ("Zebra", rows_in_order, {}),
        ("SlidingTiles", legal_slides, {}),
        ("Sokoban", random_walk, {}),
        ("GuessNumber", nine_numbers, {}),
        ("Hangman", constantly(*"eaoirlnstudmckphgbfwyjvzxq"), {}),
        ("ConnectFour", constantly("4", "5"), {}),
        ("2048", constantly("left", "down", "right", "up"), {"goal": 32}),
    ],
)
def test_answers_without_thought_earn_what_the_family_states(family: str, policy: Policy, params: dict[str, Any]):
    mean, stated = earned(family, policy, **params)
    # Three standard errors of a share of wins.
    error = 3 * (stated * (1 - stated) / EPISODES) ** 0.5
    assert mean <= stated + error
    assert mean >= stated / 3
