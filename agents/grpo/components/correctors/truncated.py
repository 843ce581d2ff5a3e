"""Correctors by importance weight: c = pi_old / mu of each token, the ratio of anchor to sampler, bounded or not.

They require the anchor "policy": if the sampler is the anchor, there is no gap to correct. At tokens that the policy
did not sample, mu is unknown and c = 1. Factors have no gradient. Sums and means over an episode count the trained
tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from .....errors import InputError
from ...batch.scored import needs
from ...batch.segments import Segments
from ..loss_arrays import corrector
from ..surrogates.ratios import bounded_exp


def sampling_gap(logp_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor) -> Tensor:
    """Return log pi - log mu, 0 at tokens that the policy did not sample, without gradient, [A]."""
    return torch.where(sampled_t, logp_t - logp_mu_t, 0.0).detach()


@corrector("none")
def no_correction(logp_old_t: Tensor) -> Tensor:
    """Return 1: the anchor's log-probabilities are used uncorrected."""
    return torch.ones_like(logp_old_t)


@corrector("importance")
@needs("anchor")
def importance(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, level: str = "token"
) -> Tensor:
    """Weight by c = pi_old / mu without truncation (decoupled PPO, arXiv 2110.00641; AReaL, arXiv 2505.24298).

    Args:
        level: "token": c of each token; "sequence": product of c over the episode, at each of its tokens.
    """
    check_choice("level", level, ("token", "sequence"))
    gap = sampling_gap(logp_old_t, logp_mu_t, sampled_t)
    return bounded_exp(gap if level == "token" else episode.expand(episode.sum(gap)))


@corrector("truncated_is")
@needs("anchor")
def truncated_importance(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, cap: float = 2.0, level: str = "token"
) -> Tensor:
    """Weight by min(c, cap) with c = pi_old / mu (truncated importance sampling; Ionides 2008, J. Comput. Graph. Stat.
    17(2)).

    Args:
        cap: upper bound, at least 1.
        level: see `importance`; the product of "sequence" drifts away from 1 with the length of the episode.
    """
    return importance(logp_old_t, logp_mu_t, sampled_t, episode, level).clamp(max=_check_cap(cap))


@corrector("masked_is")
@needs("anchor")
def masked_importance(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, cap: float = 2.0, level: str = "token"
) -> Tensor:
    """Weight by c = pi_old / mu, and drop tokens with c > cap (masked importance sampling)."""
    c = importance(logp_old_t, logp_mu_t, sampled_t, episode, level)
    return torch.where(c <= _check_cap(cap), c, 0.0)


@corrector("icepop")
@needs("anchor")
def icepop(logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, low: float = 0.5, high: float = 5.0) -> Tensor:
    """Weight by c = pi_old / mu, and drop tokens with c outside [low, high] (IcePop, in Ring-1T, arXiv 2510.18855)."""
    check_band(low, high)
    c = bounded_exp(sampling_gap(logp_old_t, logp_mu_t, sampled_t))
    return torch.where((c >= low) & (c <= high), c, 0.0)


@corrector("normalised_is")
@needs("anchor", "batch", "every_row")
def normalised_importance(
    logp_old_t: Tensor,
    logp_mu_t: Tensor,
    sampled_t: Tensor,
    trained_t: Tensor,
    episode: Segments,
    cap: float = 2.0,
    level: str = "token",
) -> Tensor:
    """Weight by min(c, cap) over its mean in the batch's trained tokens, so that the step size stays the same."""
    c = truncated_importance(logp_old_t, logp_mu_t, sampled_t, episode, cap, level)
    return c / c[trained_t].mean() if trained_t.any() else c


def _check_cap(cap: float) -> float:
    if check_number("cap", cap) < 1:
        raise InputError(f"cap bounds an importance weight and must be at least 1 (usually 2 to 5), got {cap!r}.")
    return cap


def check_band(low: float, high: float) -> None:
    """Raise InputError for a band of importance weights that does not contain 1."""
    if not 0 <= check_number("low", low) <= 1 <= check_number("high", high):
        raise InputError(f"a band of importance weights must contain 1, as [0.5, 5] does; got [{low!r}, {high!r}].")
