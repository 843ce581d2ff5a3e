"""Ready-made episodes of one turn, for benchmarks that train without playing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Answer = tuple[Sequence[int], Sequence[int], Sequence[float], float]
"""Tokens of a prompt and of an answer, the log-probabilities of the latter, and its reward."""


def make_groups(answers: Iterable[Answer], samples: int, most: int | None = None) -> list[Any]:
    """Make groups of ``samples`` answers side by side.

    Args:
        most: limit on the tokens of an answer; by default its own number.
    """
    from ..agents.grpo.batch.trajectory import Group, Trajectory, Turn

    members = []
    for prompt, ids, logps, reward in answers:
        turn = Turn(tuple(prompt), tuple(ids), tuple(logps), "length", reward)
        outcome = {"success": reward > 0.5, "progress": reward, "truncated": True, "valid": True}
        members.append(Trajectory("ready-made", {}, 0.0, (turn,), max_tokens=most or len(ids), **outcome))
    return [Group(-1, tuple(members[i : i + samples])) for i in range(0, len(members), samples)]


def make_batch(answers: Iterable[Answer], samples: int = 1) -> Any:
    """Make a batch of such groups."""
    from ..agents.grpo.batch.batch import collate

    return collate(make_groups(answers, samples))
