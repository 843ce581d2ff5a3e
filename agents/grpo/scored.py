"""What surrogates and regularisers see, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from torch import Tensor

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Scored:
    """The action tokens of one micro-batch (A tokens in R rows), aligned to the token they score.

    Attributes:
        logp: log-probability under the policy being trained, with gradient, [A].
        logp_old: log-probability that ratios are taken against, [A].
        advantage: [A].
        entropy: of the distribution each token came from, no gradient, [A].
        row: row of each token, int64 [A].
        rows: R.
        logp_ref: log-probability under the reference policy, [A], where a component needs it.
    """

    logp: Tensor
    logp_old: Tensor
    advantage: Tensor
    entropy: Tensor
    row: Tensor
    rows: int
    logp_ref: Tensor | None = None


@dataclass(frozen=True, eq=False)
class LossTerm:
    """A value for each token [A], and statistics as (sum, count), so that they add up over micro-batches."""

    value: Tensor
    stats: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def needs(*names: str) -> Callable[[F], F]:
    """Declare what a component needs beyond log-probabilities ("logp_ref"); what nobody needs is not computed."""

    def mark(component: F) -> F:
        component.needs = frozenset(names)  # type: ignore[attr-defined]
        return component

    return mark


def needs_of(component: object) -> frozenset[str]:
    """What a component declared with `needs`."""
    return getattr(component, "needs", frozenset())
