"""Write conversations in which tasks are solved, in the form that trainers read: one list of messages per line."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import palaestra  # noqa: F401  (registers the ids)

IDS = ("palaestra/WordProblem-v0", "palaestra/Mastermind-v0", "palaestra/SQLRepair-v0")
EACH = 20


def solve(env: gym.Env, seed: int) -> list[dict[str, str]]:
    """Return the messages of a training episode that the scripted solver plays."""
    observation, info = env.reset(seed=seed)
    messages, terminated, truncated = [], False, False
    while not (terminated or truncated):
        action = env.unwrapped.oracle()
        messages += [{"role": "user", "content": observation}, {"role": "assistant", "content": action}]
        observation, _, terminated, truncated, info = env.step(action)
    assert info["is_success"]
    return messages


with Path("solutions.jsonl").open("w", encoding="utf-8") as file:
    for env_id in IDS:
        env = gym.make(env_id, split="train")
        for seed in range(EACH):
            file.write(json.dumps({"env": env_id, "seed": seed, "messages": solve(env, seed)}) + "\n")
lines = Path("solutions.jsonl").read_text(encoding="utf-8").splitlines()
print(len(lines), "conversations;", sum(len(json.loads(line)["messages"]) // 2 for line in lines), "turns")
