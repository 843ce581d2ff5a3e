"""Compare two agents on the same held-out tasks, with the interval of their difference."""

from __future__ import annotations

import re

import palaestra
from palaestra.agents.evaluation import compare


def bisect(observation: str):
    """Halve the interval: a generator, which keeps its state between turns."""
    low, high = map(int, re.search(r"from (\d+) to (\d+)", observation).groups())
    while True:
        guess = (low + high) // 2
        observation = yield str(guess)
        low, high = (guess + 1, high) if "higher" in observation else (low, guess - 1)


def count_up(observation: str):
    """Guess one number after the other."""
    guess, last = map(int, re.search(r"from (\d+) to (\d+)", observation).groups())
    while guess <= last:
        yield str(guess)
        guess += 1


reports = [palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=150) for agent in (bisect, count_up)]
for report in reports:
    print(report)
print(compare(*reports))
