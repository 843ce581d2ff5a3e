"""Define a game, play an episode of it, and score two agents on its held-out tasks."""

from __future__ import annotations

import functools
import operator
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
from palaestra.envs import Game, IntAxis, ParamSpace, Transition

Heaps = tuple[int, ...]


def winning_move(heaps: Heaps) -> tuple[int, int]:
    """Return a heap and the number to take from it so that the opponent loses, or else one from the largest heap."""
    odd = functools.reduce(operator.xor, heaps)
    for heap, size in enumerate(heaps):
        if size ^ odd < size:
            return heap, size - (size ^ odd)
    return int(np.argmax(heaps)), 1


def take(heaps: Heaps, heap: int, count: int) -> Heaps:
    return (*heaps[:heap], heaps[heap] - count, *heaps[heap + 1 :])


class Nim(Game):
    """Take matches from one of several heaps, in turn with a perfect opponent; the taker of the last match wins.

    Parameters:
        heaps (3 to 5): number of heaps at the start.
        largest (5 to 12): largest number of matches in a heap at the start.
    """

    param_space = ParamSpace([IntAxis("heaps", 3, 5), IntAxis("largest", 5, 12)])

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Heaps:
        while True:
            heaps = tuple(int(size) for size in rng.integers(1, params["largest"] + 1, params["heaps"]))
            if functools.reduce(operator.xor, heaps):  # otherwise the first player loses
                return heaps

    def observe(self, state: Heaps) -> str:
        sizes = ", ".join(f"{size} in heap {number}" for number, size in enumerate(state, 1))
        return f"Matches: {sizes}. Who takes the last match wins. Answer with a heap and how many you take from it: 2 3"

    def act(self, state: Heaps, action: str) -> Transition:
        words = action.split()
        if len(words) != 2 or not all(word.isdecimal() and len(word) < 4 for word in words):
            return Transition(state, action_error="Answer with two numbers: a heap, and how many to take from it.")
        heap, count = int(words[0]) - 1, int(words[1])
        if not 0 <= heap < len(state) or not 1 <= count <= state[heap]:
            return Transition(state, action_error=f"Heaps are 1 to {len(state)}; take at least one, and what is there.")
        state = take(state, heap, count)
        if not any(state):
            return Transition(state, done=True, success=True, progress=1.0)
        state = take(state, *winning_move(state))
        return Transition(state, done=not any(state))

    def oracle(self, state: Heaps) -> str:
        heap, count = winning_move(state)
        return f"{heap + 1} {count}"


palaestra.envs.register("mine/Nim-v0", Nim)
env = gym.make("mine/Nim-v0", difficulty=0.3)
observation, info = env.reset(seed=3)
over = False
while not over:
    action = env.unwrapped.oracle()
    print(observation, "->", action)
    observation, reward, terminated, truncated, info = env.step(action)
    over = terminated or truncated
print("won" if info["is_success"] else "lost", info["task_id"])
for agent in (lambda observation: "1 1", "oracle"):
    print(palaestra.evaluate(agent, "mine/Nim-v0", episodes=50).success)
