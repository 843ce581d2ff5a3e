"""Cost of a language model's replies (tokens, price, cached replies), and `ActionTrace`, the record of how an action
came about that an evaluation writes beside the action."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class TokenUsage:
    """Sums of tokens, replies and cost over a number of replies.

    Attributes:
        replies: number of replies, including cached ones.
        cached: number of replies from a cache, which cost nothing.
        uncounted: number of replies for which the server gave no token counts.
        cut: number of replies that ended at the token limit.
        prompt_tokens, completion_tokens: tokens of the replies with counts; a completion includes the thoughts.
        reasoning_tokens: tokens of thoughts, as far as the server reports them.
        cost: cost in the currency of the prices; None if no prices are known.
    """

    replies: int = 0
    cached: int = 0
    uncounted: int = 0
    cut: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        values = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)[:-1]}
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return TokenUsage(**values, cost=sum(known) if known else None)

    def to_json(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TokenUsage:
        """Read what `to_json` made. Raises TypeError for anything else."""
        return cls(**row)

    def __str__(self) -> str:
        thoughts = f", {self.reasoning_tokens:,} of them thoughts" if self.reasoning_tokens else ""
        parts = [f"{self.prompt_tokens:,} tokens read, {self.completion_tokens:,} written{thoughts}"]
        if self.uncounted:
            parts.append(f"{self.uncounted} of {self.replies} replies without counts")
        if self.cost is not None:
            parts.append(f"cost {self.cost:.4g}")
        if self.cached:
            parts.append(f"{self.cached} of {self.replies} replies from the cache")
        if self.cut:
            parts.append(f"{self.cut} cut at the limit of tokens")
        return "; ".join(parts)


def sum_usage(parts: Iterable[TokenUsage | None]) -> TokenUsage | None:
    """Return the sum of the usages that are not None; None if all are None."""
    known = [part for part in parts if part is not None]
    return sum(known, TokenUsage()) if known else None


@dataclass(frozen=True)
class ActionTrace:
    """Record of how an action came about.

    Attributes:
        usage: cost of the replies that led to the action, or None.
        notes: JSON-serializable data, such as the model's thoughts; written beside the action, and never scored.
    """

    usage: TokenUsage | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
