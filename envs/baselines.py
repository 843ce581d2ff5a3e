"""Baseline players that do not reason about the task, and their success rates, to compare scores with.

``success_rates("palaestra/ConnectFour-v0", 0.5)`` plays the same episodes with each of `PLAYERS`. The ``baselines`` in
``measured.json`` are these rates at five difficulties, and the test suite over all families measures them again.
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

# Returns the next action of one episode, starting from the current state of the environment.
Policy = Callable[[], Any]


class Cycle:
    """The policy that repeats ``actions`` in order, whatever it observes."""

    def __init__(self, actions: Sequence[Any]):
        self.actions = tuple(actions)
        self.turn = 0

    def __call__(self) -> Any:
        self.turn += 1
        return self.actions[(self.turn - 1) % len(self.actions)]


def constant_actions(space: gym.Space[Any]) -> Sequence[Any]:
    """`CONSTANTS`, each action of a discrete space, or the least, middle and largest one of a box."""
    if isinstance(space, gym.spaces.Box):
        return [space.low, (space.low + space.high) / 2, space.high]
    return CONSTANTS if isinstance(space, Unicode) else range(int(space.n))  # type: ignore[attr-defined]


def constant_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Policies that always take the same action, each of `constant_actions`."""
    for action in constant_actions(env.action_space):
        yield Cycle([action])


def loop_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Policies that repeat one of the family's ``blind_loops``."""
    for cycle in env.blind_loops:
        yield Cycle(cycle)


def random_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """The policy of random legal actions: any of a discrete space or a box, else the family's ``random_action``."""
    space = env.action_space
    if isinstance(space, gym.spaces.Box):
        yield lambda: rng.uniform(space.low, space.high).astype(space.dtype)
    elif not isinstance(space, Unicode):
        yield lambda: int(rng.integers(space.n))  # type: ignore[attr-defined]
    elif env.random_action(env.here(), rng) is not None:
        yield lambda: env.write_action(env.random_action(env.here(), rng))


def heuristic_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """The policy of the family's player that looks one step ahead."""
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
    """Measure the success rate of each player, on the same episodes for all.

    A player with several policies (constants, loops) is rated by its best one. A player that the family does not have
    is left out.

    Args:
        env_id: a registered id whose environment is a `TaskEnv`.
        difficulty: difficulty of all episodes.
        episodes: number of episodes; the i-th starts with ``reset(seed=seed + i)``.
        seed: seed of the first episode, and of the random player.
        split: the split that the tasks belong to.
    """
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
    return {name: max(counts) / episodes for name, counts in wins.items()}


def _succeeds(env: TaskEnv, policy: Policy) -> bool:
    seen: set[Any] = set()
    while True:
        if isinstance(policy, Cycle) and policy.turn % len(policy.actions) == 0:
            state = env.here()
            # A cycle that restarts in a state where it started before repeats until the turns run out.
            if is_value(state):
                if state in seen:
                    return False
                seen.add(state)
        _, _, terminated, truncated, info = env.step(policy())
        if terminated or truncated:
            return bool(info["is_success"])
