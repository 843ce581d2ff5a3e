"""Made-up thoughts of soft tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.language.soft_tokens import SoftToken


def with_thoughts(groups: list[Group], seed: int = 0) -> list[Group]:
    """The groups with soft tokens at the beginning of all actions but every third."""
    rng, count = np.random.default_rng(seed), 0

    def soft(token: int) -> SoftToken:
        size = int(rng.integers(1, 5))
        values = np.sort(rng.normal(-1, 1, size))[::-1]
        weights = np.exp(values) / np.exp(values).sum()
        others = rng.choice([i for i in range(5, 100) if i != token], size - 1, replace=False).tolist()
        kept = int(rng.integers(1, size + 1))
        return SoftToken((token, *others), tuple(weights.tolist()), tuple(values[:kept].tolist()))

    def thinking(turn):
        nonlocal count
        count += 1
        size = 0 if count % 3 == 0 else int(rng.integers(1, len(turn.act_ids) + 1))
        return replace(turn, thought=tuple(soft(token) for token in turn.act_ids[:size]))

    return [
        replace(g, trajectories=tuple(replace(t, turns=tuple(map(thinking, t.turns))) for t in g.trajectories))
        for g in groups
    ]
