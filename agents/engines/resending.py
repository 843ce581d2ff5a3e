"""Base of engines that hold no sessions, so that every request sends its whole conversation again.

The engine's prefix cache avoids encoding the conversation again. The base class keeps conversations, checks requests
and turns answers into completions; a subclass starts a `GenerationTask`, waits for `Answer`s and cancels tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import InputError
from .engine import ABILITIES, Engine
from .noise import noise_seed
from .sampler import Completion, Likeliest, Request


@dataclass(frozen=True)
class GenerationTask:
    """Request to an engine without sessions.

    Attributes:
        number: unique number of the task.
        ids: the conversation so far, with the forced tokens at the end.
        forced: number of last ids whose log-probabilities are requested.
        samples: most tokens to sample, at least 1.
        temperature: as in `sampler.Request`; must be 1 or 0 if tokens are forced.
        top: number of likeliest ids requested at each token.
        seed: seed of the sampling noise, below 2**63.
    """

    number: int
    ids: tuple[int, ...]
    forced: int
    samples: int
    temperature: float
    top: int
    seed: int


@dataclass(frozen=True)
class Answer:
    """Tokens of an answer, the forced ones first, with log-probabilities (nats) and, if requested, likeliest ids."""

    ids: tuple[int, ...]
    logps: tuple[float, ...]
    top: tuple[Likeliest, ...] = ()


@dataclass(eq=False)
class _Conversation:
    ids: list[int] = field(default_factory=list)
    requests: int = 0
    request: Request | None = None
    task: GenerationTask | None = None


class ResendingEngine(Engine):
    """Base of engines without sessions.

    Args:
        stop_ids: ids that end an answer.
        vocabulary: number of ids that can be sampled.
        max_length: longest conversation in tokens.
        room: longest conversation of the underlying engine in tokens; ``max_length`` + 1 if the model allows it.
    """

    abilities = frozenset({"forced", "top", "truncation"})
    copies = True

    def __init__(self, stop_ids: Sequence[int], vocabulary: int, max_length: int, room: int):
        self._stop_ids = tuple(stop_ids)
        self._vocabulary, self._max_length, self._room = vocabulary, max_length, room
        self._conversations: dict[int, _Conversation] = {}
        self._sessions: dict[int, int] = {}  # number of a task in progress -> session
        self._tasks = 0

    def _start(self, task: GenerationTask) -> None:
        """Begin a task."""
        raise NotImplementedError

    def _wait(self) -> list[tuple[int, Answer]]:
        """Wait until at least one task is finished; return (number of the task, answer) for each finished one."""
        raise NotImplementedError

    def _cancel(self, task: GenerationTask) -> None:
        """Cancel a task in progress."""
        raise NotImplementedError

    def submit(self, request: Request) -> None:
        """Queue a request.

        Raises:
            InputError: the request needs an ability that the engine lacks.
            ValueError: as in `Request.check`.
        """
        if request.entropies:
            raise InputError(f"here an engine is needed that {ABILITIES['entropies']}; take --engine torch.")
        if request.forced and request.temperature not in (0.0, 1.0):
            raise InputError(
                f"this engine scores given tokens at temperature 1 alone, not {request.temperature}; take --engine "
                "torch."
            )
        conversation = self._conversations.setdefault(request.session, _Conversation())
        request.check(self._vocabulary, self._max_length, len(conversation.ids), conversation.task is not None)
        ids = (*conversation.ids, *request.ids, *request.forced)
        samples = request.max_new_tokens
        if self._ends_with_forced(request):  # engines sample at least one token, which is dropped
            samples = 1
            if len(ids) == self._room:
                raise InputError(
                    f"{self._room} tokens are to be scored, and the model has no position for another one, which this "
                    f"engine needs; take a --context below {self._room}, or --engine torch."
                )
        key = (self._seed, request.session, conversation.requests) if request.seed is None else (request.seed,)
        task = GenerationTask(
            self._tasks,
            ids,
            len(request.forced),
            samples,
            request.temperature,
            min(request.top, self._vocabulary),
            noise_seed(*key),
        )
        self._tasks += 1
        conversation.ids = list(ids)
        conversation.requests += 1
        conversation.request, conversation.task = request, task
        self._sessions[task.number] = request.session
        self._start(task)

    def step(self) -> list[Completion]:
        """Wait until at least one request finishes. Return [] if no request is in flight."""
        if not self._sessions:
            return []
        return [self._finish(number, answer) for number, answer in self._wait()]

    def close(self, session: int) -> None:
        """Forget a session. A request in flight is cancelled."""
        conversation = self._conversations.pop(session, None)
        if conversation is not None and conversation.task is not None:
            del self._sessions[conversation.task.number]
            self._cancel(conversation.task)

    def _task(self, number: int) -> GenerationTask:
        """Return the task in progress with a number."""
        task = self._conversations[self._sessions[number]].task
        assert task is not None
        return task

    def _finish(self, number: int, answer: Answer) -> Completion:
        conversation = self._conversations[self._sessions.pop(number)]
        request = conversation.request
        assert request is not None
        kept = len(request.forced) if self._ends_with_forced(request) else len(answer.ids)
        ids = answer.ids[:kept]
        conversation.ids += ids[len(request.forced) :]
        conversation.request = conversation.task = None
        reason = "stop" if ids[-1] in self._stop_ids else "length"
        return Completion(request.session, ids, answer.logps[:kept], reason, (), answer.top[:kept])

    def _ends_with_forced(self, request: Request) -> bool:
        """Return True if nothing is sampled after the forced tokens."""
        return bool(request.forced) and (request.max_new_tokens == 0 or request.forced[-1] in self._stop_ids)
