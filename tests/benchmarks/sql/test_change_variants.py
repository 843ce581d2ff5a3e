"""Scripts made from right ones: rewritings that are right, and mistakes that mostly are wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
from palaestra.benchmarks.sql.change_variants import label_changes


def test_rewritings_are_right_and_mistakes_of_many_kinds_are_wrong():
    env: Any = gym.make("palaestra/SQLChange-v0", disable_env_checker=True, split="all").unwrapped
    right, wrong, undecided = Counter(), Counter(), Counter()
    for seed in range(8):
        env.reset(seed=seed, options={"difficulty": seed % 5 / 4} if seed % 2 else {})
        for one in label_changes(env.here().data, 12, undecided):
            (right if one.right else wrong)[one.made] += 1
    assert {"EXISTS for IN", "CTE for IN", "comments", "rows one by one", "columns and rows in another order"} <= set(
        right
    )
    assert {"operator", "value", "NULL for a value", "column", "WHERE left out", "statement left out"} <= set(wrong)
    assert wrong.total() > 100
    assert undecided.total() < wrong.total() / 4
