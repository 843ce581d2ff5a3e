"""Baseline players that do not reason about the task, and their success rates, to compare an agent's scores with.

``success_rates("palaestra/ConnectFour-v0", 0.5)`` plays the same episodes with each of `PLAYERS`. The ``baselines`` in
``measured.json`` are these rates at `DIFFICULTIES`; `envs.testing` compares them with newly measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from .game import is_value
from .task_env import TaskEnv
from .unicode import Unicode

DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)

# Typical answers of a model that has learned only the form of answers.
CONSTANTS = ("", "0", "1", "2", "10", "42", "A", "B", "C", "x", "yes", "no", "true", "false", "correct", "none")

# A policy plays one episode of one environment: each call returns the next action.
Policy = Callable[[], Any]


class Cycle:
    """Policy that repeats ``actions`` in order and ignores observations."""

    def __init__(self, actions: Sequence[Any]):
        self.actions = tuple(actions)
        self.turn = 0

    def __call__(self) -> Any:
        self.turn += 1
        return self.actions[(self.turn - 1) % len(self.actions)]


def constant_actions(space: gym.Space[Any]) -> Sequence[Any]:
    """Return the actions of the player "constant": `CONSTANTS` for a space of text, all actions of a discrete space, or
    the lowest, middle and highest action of a box."""
    if isinstance(space, gym.spaces.Box):
        return [space.low, (space.low + space.high) / 2, space.high]
    return CONSTANTS if isinstance(space, Unicode) else range(int(space.n))  # type: ignore[attr-defined]


def constant_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Yield one policy for each of `constant_actions`, which always takes that action."""
    for action in constant_actions(env.action_space):
        yield Cycle([action])


def loop_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Yield one policy for each of the family's ``blind_loops``, which repeats that loop."""
    for cycle in env.blind_loops:
        yield Cycle(cycle)


def random_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Yield the policy of random actions: uniform over a box or a discrete space, and the family's ``random_action``
    for a space of text (nothing is yielded if the family has none)."""
    space = env.action_space
    if isinstance(space, gym.spaces.Box):
        yield lambda: rng.uniform(space.low, space.high).astype(space.dtype)
    elif not isinstance(space, Unicode):
        yield lambda: int(rng.integers(space.n))  # type: ignore[attr-defined]
    elif env.random_action(env.here(), rng) is not None:
        yield lambda: env.write_action(env.random_action(env.here(), rng))


def heuristic_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Yield the policy of the family's ``heuristic_action``, a player that looks one step ahead, if the family has
    one."""
    if env.heuristic_action(env.here()) is not None:
        yield lambda: env.write_action(env.heuristic_action(env.here()))


PLAYERS: dict[str, Callable[[TaskEnv, np.random.Generator], Iterator[Policy]]] = {
    "constant": constant_policies,
    "loop": loop_policies,
    "random": random_policies,
    "heuristic": heuristic_policies,
}


def success_rates(
    env_id: str, difficulty: float, episodes: int = 100, seed: int = 0, split: str = "train"
) -> dict[str, float]:
    """Return the success rate of each player by name, measured on the same episodes for all players.

    The rate of a player with several policies (constants, loops) is the rate of the best policy. A player that the
    family does not have is left out. Episodes are played in the family's ``blind_twin`` if there is one.

    Args:
        env_id: a registered id whose environment is a `TaskEnv`.
        difficulty: difficulty of all episodes.
        episodes: number of episodes; the i-th starts with ``reset(seed=seed + i)``.
        seed: seed of the first episode, and of the random player.
        split: the split that the tasks belong to.
    """
    wins = count_wins(env_id, difficulty, episodes, seed, split)
    return {name: max(counts) / episodes for name, counts in wins.items()}


def count_wins(
    env_id: str, difficulty: float, episodes: int, seed: int = 0, split: str = "train"
) -> dict[str, list[int]]:
    """Return the number of episodes in which each policy of each player succeeds; see `success_rates`."""
    env: Any = gym.make(env_id, difficulty=difficulty, split=split, disable_env_checker=True).unwrapped
    if env.blind_twin is not None:
        env = env.blind_twin(difficulty=difficulty, split=split)
    wins: dict[str, list[int]] = {}
    for number in range(episodes):
        env.reset(seed=seed + number)
        start = env.get_state()
        for name, player in PLAYERS.items():
            env.set_state(start)
            rng = np.random.default_rng((seed, number))
            for index, policy in enumerate(player(env, rng)):
                env.set_state(start)
                counts = wins.setdefault(name, [])
                counts.extend([0] * (index + 1 - len(counts)))
                counts[index] += _succeeds(env, policy)
    return wins


def _succeeds(env: TaskEnv, policy: Policy) -> bool:
    seen: set[Any] = set()
    while True:
        if isinstance(policy, Cycle) and policy.turn % len(policy.actions) == 0:
            state = env.here()
            # A cycle that starts again in a state in which it has started before would loop until the turn limit.
            if is_value(state):
                if state in seen:
                    return False
                seen.add(state)
        _, _, terminated, truncated, info = env.step(policy())
        if terminated or truncated:
            return bool(info["is_success"])
