"""Importance weights for the gap between sampler and anchor, truncated or dropped; c = pi_old / mu of each token.

They take the anchor "policy": with the sampler as the anchor there is no gap to correct. A token that the policy did
not sample has no mu and c = 1. Nothing here has a gradient. Sums and means over an episode count its trained tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from .....errors import InputError
from ...batch.scored import Scored, needs
from ...batch.trajectory import Origin
from ...recipes.stages import CORRECTORS
from ..surrogates.ratios import bounded_exp, episode_sum


def sampled(scored: Scored, gap: Tensor) -> Tensor:
    """A gap of log-probabilities, 0 at tokens that the policy did not sample, without gradient, [A]."""
    own = (scored.origin == Origin.POLICY) | (scored.origin == Origin.COPY)
    return torch.where(own, gap, 0.0).detach()


def anchor_gap(scored: Scored) -> Tensor:
    """log c, [A]."""
    return sampled(scored, scored.logp_old - scored.logp_mu)


def importance_at(scored: Scored, level: str) -> Tensor:
    """c of each token, or its product over the episode at each of the episode's tokens, [A]."""
    check_choice("level", level, ("token", "sequence"))
    gap = anchor_gap(scored)
    return bounded_exp(gap if level == "token" else scored.per_token(episode_sum(scored, gap)))


@CORRECTORS.register("none")
def none(scored: Scored) -> Tensor:
    """Trust the log-probabilities of the anchor."""
    return torch.ones_like(scored.logp_old)


@CORRECTORS.register("importance")
@needs("anchor")
def importance(scored: Scored, level: str = "token") -> Tensor:
    """c as it is (decoupled PPO, arXiv 2110.00641; AReaL, arXiv 2505.24298)."""
    return importance_at(scored, level)


@CORRECTORS.register("truncated_is")
@needs("anchor")
def truncated_is(scored: Scored, cap: float = 2.0, level: str = "token") -> Tensor:
    """min(c, cap) (truncated importance sampling; Ionides 2008, J. Comput. Graph. Stat. 17(2)).

    ``level="sequence"`` truncates the product over the episode, which drifts away from 1 with its length.
    """
    return importance_at(scored, level).clamp(max=_checked_cap(cap))


@CORRECTORS.register("masked_is")
@needs("anchor")
def masked_is(scored: Scored, cap: float = 2.0, level: str = "token") -> Tensor:
    """c where c <= cap, else 0 (masked importance sampling)."""
    c = importance_at(scored, level)
    return torch.where(c <= _checked_cap(cap), c, 0.0)


@CORRECTORS.register("icepop")
@needs("anchor")
def icepop(scored: Scored, low: float = 0.5, high: float = 5.0) -> Tensor:
    """c where low <= c <= high, else 0, for each token (IcePop, in Ring-1T, arXiv 2510.18855)."""
    _checked_band(low, high)
    c = importance_at(scored, "token")
    return torch.where((c >= low) & (c <= high), c, 0.0)


@CORRECTORS.register("normalised_is")
@needs("anchor", "batch", "every_row")
def normalised_is(scored: Scored, cap: float = 2.0, level: str = "token") -> Tensor:
    """min(c, cap) divided by its mean over the batch's trained tokens, so that the gap leaves the step size alone."""
    c = truncated_is(scored, cap, level)
    trained = scored.trained
    return c / c[trained].mean() if trained.any() else c


def _checked_cap(cap: float) -> float:
    if check_number("cap", cap) < 1:
        raise InputError(f"cap bounds an importance weight and must be at least 1 (usually 2 to 5), got {cap!r}.")
    return cap


def _checked_band(low: float, high: float) -> None:
    if not 0 <= check_number("low", low) <= 1 <= check_number("high", high):
        raise InputError(f"a band of importance weights must contain 1, as [0.5, 5] does; got [{low!r}, {high!r}].")
