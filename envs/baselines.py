"""Players without thought, and how often they succeed: what a score has to be compared with.

``success_rates("palaestra/ConnectFour-v0", 0.5)`` plays the same episodes with each of `PLAYERS`. A family says in its
``baselines`` what they reach at five difficulties; the suite over all families measures it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from .task_env import TaskEnv
from .unicode import Unicode

DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)

# Answers that a model falls into when it has learned nothing but the form of answers.
CONSTANTS = ("", "0", "1", "2", "10", "42", "A", "B", "C", "x", "yes", "no", "true", "false", "correct", "none")

# What a player does turn by turn in one episode, beginning from the state the environment is in.
Policy = Callable[[], Any]


class Cycle:
    """The policy that repeats ``actions``, whatever happens."""

    def __init__(self, actions: Sequence[Any]):
        self.actions = tuple(actions)
        self.turn = 0

    def __call__(self) -> Any:
        self.turn += 1
        return self.actions[(self.turn - 1) % len(self.actions)]


def constant_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """One action at every turn: each of `CONSTANTS`, or each action of a discrete space."""
    space = env.action_space
    actions = CONSTANTS if isinstance(space, Unicode) else range(int(space.n))  # type: ignore[attr-defined]
    for action in actions:
        yield Cycle([action])


def loop_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Each cycle of the family's ``blind_loops``, again and again, whatever happens."""
    for cycle in env.blind_loops:
        yield Cycle(cycle)


def random_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """Random legal actions: any of a discrete space, else the family's ``random_action``."""
    space = env.action_space
    if not isinstance(space, Unicode):
        yield lambda: int(rng.integers(space.n))  # type: ignore[attr-defined]
    elif env.random_action(env.here(), rng) is not None:
        yield lambda: env.write_action(env.random_action(env.here(), rng))


def heuristic_policies(env: TaskEnv, rng: np.random.Generator) -> Iterator[Policy]:
    """The family's player that looks one step ahead."""
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
    """How often each player succeeds, over the same episodes for all.

    A player of several policies (constants, loops) is rated by its best one. A player that the family does not
    have is left out.

    Args:
        env_id: a registered id whose environment is a `TaskEnv`.
        difficulty: of all episodes.
        episodes: how many; the i-th is that of ``reset(seed=seed + i)``.
        seed: of the first episode, and of the random player.
        split: which tasks.
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
            # Who begins a cycle anew where it has begun before goes on so until the turns run out.
            if _compares_by_value(state):
                if state in seen:
                    return False
                seen.add(state)
        _, _, terminated, truncated, info = env.step(policy())
        if terminated or truncated:
            return bool(info["is_success"])


def _compares_by_value(state: Any) -> bool:
    """Whether states are equal when, and as long as, they hold the same."""
    try:
        hash(state)
    except TypeError:
        return False
    return type(state).__eq__ is not object.__eq__
