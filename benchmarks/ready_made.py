"""Episodes of one turn with given tokens and rewards, for benchmarks that train without playing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Answer = tuple[Sequence[int], Sequence[int], Sequence[float], float]
"""Tokens of a prompt, tokens of an answer, log-probabilities of the answer's tokens, and reward of the answer."""


def make_groups(answers: Iterable[Answer], samples: int, most: int | None = None) -> list[Any]:
    """Make groups of ``samples`` consecutive answers.

    Args:
        most: limit on the tokens of an answer; by default the answer's own number, which makes every answer truncated.
    """
    from ..agents.grpo.batch.trajectory import Group, Trajectory, Turn

    members = []
    for prompt, ids, logps, reward in answers:
        turn = Turn(tuple(prompt), tuple(ids), tuple(logps), "length", reward)
        outcome = {"success": reward > 0.5, "progress": reward, "truncated": True, "valid": True}
        members.append(Trajectory("ready-made", {}, 0.0, (turn,), max_tokens=most or len(ids), **outcome))
    return [Group(-1, tuple(members[i : i + samples])) for i in range(0, len(members), samples)]


def make_batch(answers: Iterable[Answer], samples: int = 1) -> Any:
    """Make a batch of the groups of `make_groups`."""
    from ..agents.grpo.batch.batch import collate

    return collate(make_groups(answers, samples))
