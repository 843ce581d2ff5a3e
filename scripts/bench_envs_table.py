"""The lines of ``palaestra bench envs``: which task of ours stands beside which of a peer's, and what each promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GAMES = ("palaestra/GuessNumber-v0",)


@dataclass(frozen=True)
class Match:
    """One kind of task at one size.

    Attributes:
        name: of the line.
        env_id, options: ours, for ``gymnasium.make``.
        promise: what our generator guarantees.
        peers: (peer, its name of the task, its configuration) each.
        promises: (peer, what it guarantees).
    """

    name: str
    env_id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    promise: str = ""
    peers: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    promises: tuple[tuple[str, str], ...] = ()


MATCHES = (
    Match(
        "countdown",
        "palaestra/Countdown-v0",
        {"count": 6, "largest": 100},
        "solvable, target up to 1,000",
        (("reasoning-gym", "countdown", {"min_numbers": 6, "max_numbers": 6}),),
        (("reasoning-gym", "solvable, target 100 to 999"),),
    ),
    Match(
        "arithmetic",
        "palaestra/Arithmetic-v0",
        {"terms": 4, "digits": 3, "operations": "+-*"},
        "exact",
        (
            (
                "reasoning-gym",
                "chain_sum",
                {"min_terms": 4, "max_terms": 4, "min_digits": 3, "max_digits": 3},
            ),
        ),
        (("reasoning-gym", "exact, + and - only"),),
    ),
)
