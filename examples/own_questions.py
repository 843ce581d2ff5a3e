"""Make an environment from a file of questions, and score a function on its held-out part."""

from __future__ import annotations

import json
from pathlib import Path

import palaestra

rows = [
    {"question": f"What is {a} times {b}?", "answer": a * b, "grade": a} for a in range(1, 13) for b in range(2, 24)
]
Path("questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
options = {"prompt": "question", "answer": "answer", "verifier": "number", "level": "grade"}


def multiply(observation: str) -> str:
    """Multiply a digit and a number below 20 correctly; for all other products, use ten as the second factor."""
    first, second = (int(word) for word in observation.replace("?", " ").split() if word.isdigit())
    return str(first * second if first < 10 and second < 20 else first * 10)


def make_environment(split: str):
    return palaestra.envs.from_dataset("questions.jsonl", split=split, **options)


env = make_environment("train")
observation, info = env.reset(seed=0)
print(observation, info["params"], "difficulty", round(info["difficulty"], 2))
print(palaestra.evaluate(multiply, lambda: make_environment("test"), episodes=100))
