"""Engine that answers from a function: for tests, and to pass scripted answers through the learner's code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .engine import ABILITIES, ENGINES, Engine
from .sampler import Completion, Likeliest, Request

Script = Callable[[int, Sequence[int]], Sequence[int]]
"""Function of a session and all ids so far, forced ones included, that returns the ids of the answer, which should end
with a stop token."""


Beliefs = Callable[[Sequence[int]], Likeliest]
"""Function of all ids so far that returns the likeliest next ids with log-probabilities, the likeliest first."""


@ENGINES.register("scripted")
class ScriptedSampler(Engine):
    """Engine of scripted answers, in which every token has log-probability 0 and entropy 0.

    Args:
        script: function that returns the answers.
        stop_ids: ids that end an answer.
        beliefs: function that returns the likeliest ids for `Completion.top`; None: the token itself, with
            log-probability 0.
    """

    abilities = frozenset(ABILITIES) - {"truncation", "logits", "soft"}

    @classmethod
    def serve(
        cls, language: Any, slots: int, max_length: int, fp32_head: bool = False, answer: str = ""
    ) -> ScriptedSampler:
        """Make an engine that answers every request with the text ``answer``."""
        ids = language.renderer.action_ids(str(answer))
        return cls(lambda session, context: ids, language.renderer.stop_ids)

    def __init__(self, script: Script, stop_ids: Sequence[int], beliefs: Beliefs | None = None):
        self._script, self._beliefs = script, beliefs
        self._stop_ids = frozenset(stop_ids)
        self._contexts: dict[int, list[int]] = {}
        self._queue: deque[Request] = deque()

    def submit(self, request: Request) -> None:
        self._contexts.setdefault(request.session, []).extend(request.ids)
        self._queue.append(request)

    def step(self) -> list[Completion]:
        if not self._queue:
            return []
        request = self._queue.popleft()
        context = self._contexts[request.session]
        ids = tuple(request.forced)
        context.extend(ids)
        if not ids or ids[-1] not in self._stop_ids:
            sampled = tuple(self._script(request.session, context))[: request.max_new_tokens]
            context.extend(sampled)
            ids += sampled
        finish = "stop" if ids and ids[-1] in self._stop_ids else "length"
        zeros = (0.0,) * len(ids)
        top = self._top(context, ids, request.top) if request.top else ()
        return [Completion(request.session, ids, zeros, finish, zeros if request.entropies else (), top)]

    def _top(self, context: Sequence[int], ids: Sequence[int], count: int) -> tuple[Likeliest, ...]:
        """Return the likeliest ids at each of ``ids``, which must be the last ids of ``context``."""
        before = len(context) - len(ids)
        if self._beliefs is None:
            return tuple(((token, 0.0),) for token in ids)
        return tuple(self._beliefs(context[: before + i])[:count] for i in range(len(ids)))

    def close(self, session: int) -> None:
        self._contexts.pop(session, None)

    def seed(self, seed: int) -> None:
        """Do nothing: a script has no noise."""
