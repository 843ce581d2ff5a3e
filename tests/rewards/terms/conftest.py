"""Episodes by their facts: ``episode(success=True, text="...", tokens=10, name_of_an_extra=...)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from palaestra.rewards import Episode, Step


def an_episode(
    success: bool = True,
    text: str | Sequence[str] = "",
    tokens: int = 10,
    *,
    prompt: str = "",
    observations: Sequence[str] | None = None,
    reward: float = 0.0,
    logps: Sequence[float] | None = None,
    max_tokens: int | None = None,
    truncated: bool = False,
    valid: bool = True,
    progress: float | None = None,
    **extras: Any,
) -> Episode:
    """``text`` may be several actions; ``tokens``, ``reward`` and ``logps`` are those of the last."""
    actions = [text] if isinstance(text, str) else list(text)
    seen = list(observations) if observations is not None else [prompt] + [""] * (len(actions) - 1)
    last = len(actions) - 1
    steps = tuple(
        Step(
            seen[index],
            action,
            reward if index == last else 0.0,
            {},
            tokens if index == last else 0,
            None if logps is None else tuple(logps) if index == last else (),
        )
        for index, action in enumerate(actions)
    )
    reached = float(success) if progress is None else progress
    return Episode("task", {}, steps, success, reached, valid, truncated, max_tokens, extras)


@pytest.fixture
def episode() -> Callable[..., Episode]:
    return an_episode
