"""Episodes whose turns have rewards."""

from __future__ import annotations

from dataclasses import replace

from ...conftest import trajectory  # isort: skip


def episode_of(rewards, tokens=1, **changes):
    """An episode of one turn for each reward, ``tokens`` action tokens a turn (or as many as a list says)."""
    counts = [tokens] * len(rewards) if isinstance(tokens, int) else tokens
    made = trajectory(0.0, [([5], [6] * n) for n in counts], **changes)
    turns = tuple(replace(turn, reward=r) for turn, r in zip(made.turns, rewards, strict=True))
    return replace(made, turns=turns)
