"""Conversations of several turns with an engine."""

from __future__ import annotations

from collections.abc import Callable

from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.torch_engine import TorchEngine


def play(
    engine: TorchEngine,
    asked: list[Request],
    turns: int = 2,
    answer: Callable[[int], list[int]] = lambda session: [9, 10 + session],
) -> dict[tuple[int, int], Completion]:
    """Answers by session and turn; in later turns each conversation goes on with ``answer(session)``, and it is closed
    after its last one."""
    said: dict[tuple[int, int], Completion] = {}
    for request in asked:
        engine.submit(request)
    while completions := engine.step():
        for completion in completions:
            turn = sum((completion.session, earlier) in said for earlier in range(turns))
            said[completion.session, turn] = completion
            if turn + 1 < turns:
                engine.submit(Request(completion.session, answer(completion.session), 6))
            else:
                engine.close(completion.session)
    return said
