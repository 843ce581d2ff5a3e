"""Conversation of the in-process engine: its tokens, its row in the cache and the request in progress."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .noise import noise_key, noise_seed
from .sampler import Completion, Likeliest, Request

if TYPE_CHECKING:
    from torch import Tensor

    from ..language.soft_tokens import SoftToken


@dataclass(eq=False)
class SharedPrompt:
    """Prompt that is stored once for several sequences; see `prompts.SharedPrompts`.

    Attributes:
        place: row of the prompts' cache with its keys and values.
        length: number of tokens.
        tail: hidden states [forced + 1, H] of the last tokens, which predict the forced tokens and the next one.
        members: number of sequences that continue the prompt.
    """

    place: int
    length: int = 0
    tail: Tensor | None = None
    members: int = 0


@dataclass(eq=False)
class TokenSequence:
    """Tokens and state of one session. The scheduler sets ``row``, the runner ``cached``.

    Attributes:
        id: id of the session.
        row: row in the cache; -1 without a row.
        tokens: all tokens of the conversation, including sampled ones.
        cached: number of cached tokens, those of a shared prompt included.
        prompt: the shared prompt that the row continues, or None.
        requests: number of requests so far.
        request: the request in progress, or None.
        key: key of the request's noise.
        end: number of tokens of the conversation at which the request has used its token budget.
        ids: the answer so far, forced tokens first.
        logps: log-probability (nats) of each token of the answer.
        entropies: entropy (nats) at each token of the answer, if recorded.
        top: the likeliest ids at each token of the answer, if recorded.
        soft: the soft tokens of the conversation, by their positions in ``tokens``.
        paused: counter value of the scheduler at the last pause; smaller is earlier.
    """

    id: int
    row: int = -1
    tokens: list[int] = field(default_factory=list)
    cached: int = 0
    prompt: SharedPrompt | None = None
    requests: int = 0
    request: Request | None = None
    key: tuple[int, int] = (0, 0)
    end: int = 0
    ids: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    top: list[Likeliest] = field(default_factory=list)
    soft: dict[int, SoftToken] = field(default_factory=dict)
    paused: int = 0

    @property
    def base(self) -> int:
        """Number of tokens in the shared prompt; 0 without one."""
        return 0 if self.prompt is None else self.prompt.length

    @property
    def own(self) -> int:
        """Number of cached tokens in the row, without those of the shared prompt."""
        return self.cached - self.base

    @property
    def pending(self) -> list[int]:
        """Tokens that the cache does not hold yet."""
        return self.tokens[self.cached :]

    @property
    def forced(self) -> int:
        """Number of forced tokens of the request; until the request is encoded, these are the last pending tokens."""
        return 0 if self.request is None else len(self.request.forced)

    @property
    def thinks(self) -> bool:
        """True if the answer begins with a thought: the request asks for one, and gives no tokens to begin with."""
        return self.request is not None and self.request.thinks and not self.request.forced

    def go_on_from(self, prompt: SharedPrompt) -> None:
        """Continue a shared prompt, which must hold exactly the tokens so far."""
        prompt.members += 1
        self.prompt, self.cached = prompt, prompt.length

    def drop(self) -> None:
        """Discard the cached tokens."""
        if self.prompt is not None:
            self.prompt.members -= 1
        self.prompt, self.cached = None, 0

    def start(self, request: Request, seed: int = 0) -> None:
        """Begin the answer to a request.

        Args:
            seed: seed of the engine; used, with the session and the number of its earlier requests, for the noise of a
                request without a seed.
        """
        own = noise_seed(seed, self.id, self.requests) if request.seed is None else request.seed
        self.request, self.key = request, noise_key(own)
        self.requests += 1
        self.tokens.extend((*request.ids, *request.forced))
        self.end = len(self.tokens) + request.max_new_tokens
        self.ids, self.logps, self.entropies, self.top = [], [], [], []

    def is_complete(self, stop_ids: Collection[int]) -> bool:
        """Return True if the answer ends with a stop token or has used its token budget."""
        request = self.request
        assert request is not None
        stopped = bool(self.ids) and self.ids[-1] in stop_ids
        return stopped or len(self.ids) - len(request.forced) == request.max_new_tokens

    def finish(self, stop_ids: Collection[int]) -> Completion:
        """End the request in progress and return its answer."""
        request = self.request
        assert request is not None
        self.request = None
        reason = "stop" if self.ids[-1] in stop_ids else "length"
        entropies = tuple(self.entropies) if request.entropies else ()
        top = tuple(self.top) if request.top else ()
        first = len(self.tokens) - len(self.ids)
        thought = tuple(token for place, token in self.soft.items() if place >= first) if self.soft else ()
        return Completion(self.id, tuple(self.ids), tuple(self.logps), reason, entropies, top, thought)
