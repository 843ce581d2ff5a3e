"""Plain policy gradient and the proximal clip in its variants; r = pi / pi_old, A the advantage, all per token.

Gradients flow through r wherever the formula shows it; nothing is detached but the centre of `moving_clip`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from .....errors import InputError
from ...batch.scored import LossTerm, Scored
from ...recipes.stages import SURROGATES
from .ratios import bounded_exp, counted, ratio_of


@SURROGATES.register("none")
def none(scored: Scored) -> LossTerm:
    """Zero: the regularisers alone are trained (entropy-only control, arXiv 2504.20571)."""
    return LossTerm(torch.zeros_like(scored.logp))


@SURROGATES.register("reinforce")
def reinforce(scored: Scored) -> LossTerm:
    """A log pi (Williams 1992, Machine Learning 8, eq. 4)."""
    return LossTerm(scored.advantage * scored.logp)


@SURROGATES.register("ratio")
def ratio(scored: Scored) -> LossTerm:
    """r A without any bound: the importance-weighted policy gradient."""
    return LossTerm(ratio_of(scored) * scored.advantage)


def pessimistic(free: Tensor, bounded: Tensor, scored: Scored) -> LossTerm:
    """min(free A, bounded A) of two ratios [A], and how often the bound decides."""
    unbounded, bound = free * scored.advantage, bounded * scored.advantage
    return LossTerm(torch.minimum(unbounded, bound), {"clip_fraction": counted(bound < unbounded, scored)})


@SURROGATES.register("clip")
def clip(scored: Scored, low: float = 0.2, high: float = 0.2) -> LossTerm:
    """min(r A, clip(r, 1 - low, 1 + high) A) (PPO, arXiv 1707.06347, eq. 7).

    Unequal bounds are DAPO's clip-higher (arXiv 2503.14476, section 3.1).
    """
    check_number("low of clip", low, 0, 1)
    check_number("high of clip", high, 0)
    free = ratio_of(scored)
    return pessimistic(free, free.clamp(1 - low, 1 + high), scored)


@SURROGATES.register("dual_clip")
def dual_clip(scored: Scored, low: float = 0.2, high: float = 0.2, worst: float = 3.0) -> LossTerm:
    """The clip, and for A < 0 at least ``worst`` x A, so that a ratio beyond ``worst`` has no gradient (Dual-clip PPO,
    arXiv 1912.09729, eq. 5).
    """
    _checked_above("worst", worst, high)
    term = clip(scored, low, high)
    floor = torch.maximum(term.value, worst * scored.advantage)
    return LossTerm(torch.where(scored.advantage < 0, floor, term.value), term.stats)


@SURROGATES.register("two_sided")
def two_sided(scored: Scored, low: float = 0.2, high: float = 0.2, delta: float = 4.0) -> LossTerm:
    """min(min(r, delta) A, clip(r, 1 - low, 1 + high) A) (INTELLECT-2, arXiv 2505.07291)."""
    _checked_above("delta", delta, high)
    free = ratio_of(scored)
    return pessimistic(free.clamp(max=delta), free.clamp(1 - low, 1 + high), scored)


@SURROGATES.register("clip_preclipped")
def clip_preclipped(scored: Scored, low: float = 0.2, high: float = 0.2, largest: float = 1000.0) -> LossTerm:
    """The clip on a ratio whose logarithm is first cut to +-log(largest), without gradient beyond (StableReinforce,
    arXiv 2505.02835).
    """
    _checked_above("largest", largest, high)
    edge = float(torch.tensor(largest, dtype=torch.float64).log())
    free = scored.log_ratio.clamp(-edge, edge).exp()
    return pessimistic(free, free.clamp(1 - low, 1 + high), scored)


@SURROGATES.register("moving_clip")
def moving_clip(scored: Scored, low: float = 0.2, high: float = 0.2) -> LossTerm:
    """min(q A, clip(q, m - low, m + high) A) with q = pi / mu and m = pi_old / mu, detached (ReMix, arXiv 2507.06892).

    Takes the anchor "policy": the window then moves with how stale the sampler is. With the sampler as the anchor m = 1
    and this is the clip.
    """
    free = bounded_exp(scored.logp - scored.logp_mu)
    middle = bounded_exp(scored.logp_old - scored.logp_mu)
    bounded = torch.minimum(torch.maximum(free, middle - low), middle + high)
    return pessimistic(free, bounded, scored)


def _checked_above(name: str, value: float, high: float) -> None:
    if check_number(name, value) <= 1 + high:
        raise InputError(f"{name} must exceed 1 + high = {1 + high:g}, or it undoes the upper bound; got {value!r}.")
