"""What one answer to all of the easiest tasks would earn: no more than the family says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.measured import find_measured

FAMILIES = [name for name in palaestra.envs.ids() if ".math." in gym.spec(name).entry_point]  # type: ignore[operator]
TASKS = 800


@pytest.mark.parametrize("name", FAMILIES)
def test_the_commonest_answer_is_as_common_as_stated(name: str):
    env: Any = gym.make(name, difficulty=0.0).unwrapped
    answers: Counter[str] = Counter()
    for seed in range(TASKS):
        env.reset(seed=seed)
        answers[env.oracle(env.here())] += 1
    ((_, times),) = answers.most_common(1)
    # Three standard deviations.
    chance = find_measured(name, type(env)).chance
    stated = max(0.02, chance)
    spread = 3 * (stated * (1 - stated) / TASKS) ** 0.5
    assert times / TASKS <= stated + spread
    if chance:
        assert times / TASKS >= stated - spread
