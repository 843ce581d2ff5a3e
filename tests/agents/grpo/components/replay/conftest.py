"""Groups that replay strategies remember."""

from __future__ import annotations

import numpy as np
from palaestra.agents.grpo.batch.trajectory import Group

from ...conftest import group, trajectory  # isort: skip


def make_groups(step: int, rewards=(1.0, 0.0), task="t", lengths=None, logp=-1.0, groups=1) -> list[Group]:
    """Fresh groups of a step; the number of a group tells step and place."""
    lengths = lengths or [2] * len(rewards)
    members = [
        trajectory(r, [([1], [2 + i] * n)], [[logp] * n], task_id=task, version=step)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=True))
    ]
    return [group(*members, proposal=100 * step + place) for place in range(groups)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
