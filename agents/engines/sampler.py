"""What every generation engine offers: sessions that are extended by tokens and answer with sampled tokens.

A session is one conversation. A `Request` appends observation tokens to it and asks for an action; the `Completion`
holds the ids exactly as sampled and, for each, the log-probability under the distribution it was drawn from. Nothing
is ever tokenised again. `step` never waits for a whole batch: it returns as soon as at least one request has
finished, so that an environment can take its turn while the other rows keep decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Request:
    """Append ``ids`` to session ``session`` and sample until a stop token or ``max_new_tokens``.

    ``temperature`` 0 takes the most likely token; its log-probability is then the one at temperature 1.
    """

    session: int
    ids: Sequence[int]
    max_new_tokens: int
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a request needs at least one token to condition on; ids is empty.")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}.")
        if self.temperature < 0:
            raise ValueError(f"temperature must not be negative, got {self.temperature}.")


@dataclass(frozen=True)
class Completion:
    """Sampled tokens: ``ids`` and their behaviour log-probabilities ``logps`` (nats), of equal length.

    ``finish`` is "stop" where the last id is a stop token and "length" where the budget ran out.
    """

    session: int
    ids: tuple[int, ...]
    logps: tuple[float, ...]
    finish: Literal["stop", "length"]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.logps):
            raise ValueError(f"{len(self.ids)} ids but {len(self.logps)} log-probabilities.")


class Sampler(Protocol):
    """An engine. Requests may be submitted at any time; a session lives until it is closed."""

    def submit(self, request: Request) -> None:
        """Queue a request. The session must have no request in flight."""
        ...

    def step(self) -> list[Completion]:
        """Decode until at least one request finishes; [] when none is in flight."""
        ...

    def close(self, session: int) -> None:
        """Forget a session and free what it holds."""
        ...

    def seed(self, seed: int) -> None:
        """Restart the sampling noise from ``seed``."""
        ...
