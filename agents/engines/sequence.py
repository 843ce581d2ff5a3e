"""One conversation of the in-process engine: its tokens, its row in the cache and the request in progress."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from .sampler import Completion, Likeliest, Request


@dataclass(eq=False)
class TokenSequence:
    """The tokens of one session. The scheduler sets ``row``, the runner ``cached`` and ``pending``.

    Attributes:
        id: number of the session.
        row: its row in the cache; -1 while it has none.
        cached: tokens that the cache holds.
        pending: tokens that the cache does not hold yet.
        request: the request in progress.
        ids: the answer so far, forced tokens first.
        logps: log-probability (nats) of each token of the answer.
        entropies: entropy (nats) at each token of the answer, where it was recorded.
        top: the likeliest ids at each token of the answer, where they were recorded.
        noise: source of randomness of the request alone, if it has a seed.
    """

    id: int
    row: int = -1
    cached: int = 0
    pending: list[int] = field(default_factory=list)
    request: Request | None = None
    ids: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    top: list[Likeliest] = field(default_factory=list)
    noise: np.random.Generator | None = None

    @property
    def forced(self) -> int:
        """Number of tokens that the request forces. Before the request is encoded, they are the last pending ones."""
        return 0 if self.request is None else len(self.request.forced)

    def start(self, request: Request) -> None:
        """Begin a new answer."""
        self.request = request
        self.pending.extend((*request.ids, *request.forced))
        self.ids, self.logps, self.entropies, self.top = [], [], [], []
        self.noise = None if request.seed is None else np.random.default_rng(request.seed)

    def is_complete(self, stop_ids: Collection[int]) -> bool:
        """Return whether the answer ends with a stop token or has used its budget."""
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
        return Completion(self.id, tuple(self.ids), tuple(self.logps), reason, entropies, top)
