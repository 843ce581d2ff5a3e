"""Protocol of sampling engines: sessions are extended by tokens, and sampled tokens are returned.

A session is one conversation. A `Request` appends observation tokens to a session and asks for an action; the
`Completion` holds the ids exactly as sampled and, for each, the log-probability under the distribution that it was
drawn from, so no text is tokenized again. `step` never waits for a whole batch: it returns as soon as at least one
request has finished, so that an environment can step while the other rows continue to decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from ..language.soft_tokens import SoftToken

Likeliest = tuple[tuple[int, float], ...]
"""Likeliest ids at a token as pairs (id, log-probability in nats), the likeliest first."""


@dataclass(frozen=True)
class Request:
    """Request to append tokens to a session and to sample until a stop token or ``max_new_tokens``.

    Attributes:
        session: id of the session; a new id begins a new session.
        ids: observation tokens; at least one.
        max_new_tokens: most tokens to sample. 0 is allowed together with ``forced``, which are then only scored.
        temperature: sampling temperature, at least 0. 0 takes the most likely token; log-probabilities and entropies
            are then computed at temperature 1.
        entropies: True returns the entropy at each token of the completion.
        forced: ids with which the answer begins as if they had been sampled (a hint inside an answer, the prefix that a
            branch starts from). The completion includes them, with their log-probabilities under the policy; they do
            not count towards ``max_new_tokens``. If the last forced id is a stop token, nothing is sampled.
        top: number of likeliest ids to return for each token of the completion.
        seed: non-negative seed of the sampling noise, which makes the answer independent of other requests. None: the
            noise depends on the engine's seed, the session and the session's number of earlier requests.
        thinks: True lets an engine with `Engine.thinking` begin the answer with a thought of soft tokens, unless
            ``forced`` begins it.
    """

    session: int
    ids: Sequence[int]
    max_new_tokens: int
    temperature: float = 1.0
    entropies: bool = False
    forced: Sequence[int] = ()
    top: int = 0
    seed: int | None = None
    thinks: bool = False

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a request needs at least one token to condition on; ids is empty.")
        least = 0 if self.forced else 1
        if self.max_new_tokens < least:
            raise ValueError(f"max_new_tokens must be at least {least}, got {self.max_new_tokens}.")
        if self.temperature < 0:
            raise ValueError(f"temperature must not be negative, got {self.temperature}.")
        if self.top < 0:
            raise ValueError(f"top must not be negative, got {self.top}.")
        if self.seed is not None and self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}.")

    def check(self, vocabulary: int, most: int, known: int = 0, busy: bool = False) -> None:
        """Check a request against the sizes of an engine and its session.

        Args:
            vocabulary: number of ids that can be sampled.
            most: longest conversation in tokens.
            known: tokens of the session so far.
            busy: True if the session has a request in flight.

        Raises:
            ValueError: the session is busy or would outgrow ``most``, or an id is forced that cannot be sampled.
        """
        if self.forced and not 0 <= min(self.forced) <= max(self.forced) < vocabulary:
            raise ValueError(f"forced ids must lie in [0, {vocabulary}), got {list(self.forced)}.")
        if busy:
            raise ValueError(f"session {self.session} already has a request in flight.")
        if (total := known + len(self.ids) + len(self.forced) + self.max_new_tokens) > most:
            raise ValueError(f"session {self.session} would reach {total} tokens; the limit is {most}.")


@dataclass(frozen=True)
class Completion:
    """Answer to a `Request`.

    Attributes:
        session: id of the session.
        ids: the forced ids, then the sampled ones.
        logps: log-probability of each id, in nats.
        finish: "stop" if the last id is a stop token, "length" if the token budget ran out.
        entropies: for each id, the entropy of the distribution at this token in nats; () unless requested.
        top: for each id, the likeliest ids of the distribution at this token; () unless requested.
        thought: the soft tokens of which the first ids are the candidates with the largest perturbed log-probability;
            the ``logps`` there are scores of the mixtures. () without a thought.
    """

    session: int
    ids: tuple[int, ...]
    logps: tuple[float, ...]
    finish: Literal["stop", "length"]
    entropies: tuple[float, ...] = ()
    top: tuple[Likeliest, ...] = ()
    thought: tuple[SoftToken, ...] = ()

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.logps):
            raise ValueError(f"{len(self.ids)} ids but {len(self.logps)} log-probabilities.")
        if self.entropies and len(self.entropies) != len(self.ids):
            raise ValueError(f"{len(self.ids)} ids but {len(self.entropies)} entropies.")
        if self.top and len(self.top) != len(self.ids):
            raise ValueError(f"{len(self.ids)} ids but {len(self.top)} lists of likeliest ids.")


class Sampler(Protocol):
    """Protocol of a sampling engine. Requests may be submitted at any time; a session lives until it is closed."""

    def submit(self, request: Request) -> None:
        """Queue a request. The session must have no request in flight."""
        ...

    def step(self) -> list[Completion]:
        """Decode until at least one request finishes. Return [] if no request is in flight."""
        ...

    def close(self, session: int) -> None:
        """Forget a session and free its memory."""
        ...

    def seed(self, seed: int) -> None:
        """Set the seed from which the noise of requests without a seed is derived."""
        ...
