"""Play environments of several domains, at random and by their scripted solvers."""

from __future__ import annotations

import gymnasium as gym
import palaestra  # noqa: F401  (registers the ids)

IDS = ("palaestra/Arithmetic-v0", "palaestra/Countdown-v0", "palaestra/GuessNumber-v0", "palaestra/TextToSQL-v0")
COUNT, STEPS = 4, 40


def play(env_id: str, solve: bool) -> tuple[int, int]:
    """Step ``COUNT`` environments ``STEPS`` times. Return how many episodes ended, and how many of these succeeded."""
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(env_id, difficulty=0.4)] * COUNT)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    ended = solved = 0
    for _ in range(STEPS):
        actions = [env.unwrapped.oracle() for env in envs.envs] if solve else envs.action_space.sample()
        _, _, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        ended += int(over.sum())
        solved += int((over & infos.get("is_success", over & False)).sum())
    envs.close()
    return ended, solved


for env_id in IDS:
    for name, solve in (("random", False), ("oracle", True)):
        ended, solved = play(env_id, solve)
        print(f"{env_id:28} {name:8} {solved:3} of {ended:3} episodes solved")
