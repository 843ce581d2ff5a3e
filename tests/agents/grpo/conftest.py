"""Groups of made-up trajectories."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory, Turn


def trajectory(
    reward: float,
    turns: list[tuple[list[int], list[int]]],
    logps: list[list[float]] | None = None,
    texts: list[str] | None = None,
    **changes,
):
    """A trajectory from (observation ids, action ids) pairs; the reward is paid at the end."""
    last = len(turns) - 1
    made = tuple(
        Turn(
            tuple(obs),
            tuple(act),
            tuple(logps[i]) if logps else (-1.0,) * len(act),
            "stop",
            reward if i == last else 0.0,
            observation=" ".join(map(str, obs)),
            action=texts[i] if texts else " ".join(map(str, act)),
        )
        for i, (obs, act) in enumerate(turns)
    )
    fields = {
        "task_id": "t",
        "params": {},
        "difficulty": 0.0,
        "turns": made,
        "success": reward > 0.5,
        "progress": 0.0,
        "truncated": False,
        "valid": True,
        "max_tokens": 16,
    }
    return Trajectory(**{**fields, **changes})


def group(*trajectories: Trajectory, proposal: int = 0) -> Group:
    return Group(proposal, tuple(trajectories))


@pytest.fixture(scope="session")
def ragged():
    """Five groups of one to six rows; one to three turns; rewards with and without variance; one prompt a group."""
    rng = np.random.default_rng(7)
    groups = []
    for number, size in enumerate((4, 6, 1, 3, 2)):
        prompt = rng.integers(5, 100, 6 + number).tolist()
        rows = []
        for _ in range(size):
            turns = [(prompt, rng.integers(5, 100, rng.integers(1, 6)).tolist())]
            for _ in range(rng.integers(0, 3)):
                turns.append(
                    (
                        rng.integers(5, 100, rng.integers(1, 4)).tolist(),
                        rng.integers(5, 100, rng.integers(1, 5)).tolist(),
                    )
                )
            logps = [(-5 + rng.normal(0, 0.3, len(act))).tolist() for _, act in turns]
            rows.append(trajectory(1.0 if number == 4 else float(rng.random() < 0.5), turns, logps))
        groups.append(group(*rows, proposal=number))
    return groups
