"""Policy gradients with a detached weight: sg(w) A log pi, w from the ratio r = pi / pi_old (sg: stop-gradient).

A token keeps a gradient where a clip would remove it. Only log pi is differentiated.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from .....errors import InputError
from ...batch.scored import needs
from ...batch.segments import Segments
from ..loss_arrays import Statistics, surrogate
from .ratios import bounded_exp, probability_ratio


@surrogate("cispo")
def cispo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, cap: float = 5.0, floor: float = 0.0
) -> tuple[Tensor, Statistics]:
    """sg(w) A log pi with w = r limited to [floor, cap]; the bounds are ratios, not offsets from 1 (CISPO, arXiv
    2506.13585, eq. 4).

    Raises:
        InputError: the bounds exclude 1, so that even a fresh sample would be scaled.
    """
    check_number("floor of cispo", floor, 0)
    if not floor <= 1 <= check_number("cap of cispo", cap):
        raise InputError(f"cap of cispo is a bound of the ratio itself and must be at least 1 (about 5), got {cap!r}.")
    r = probability_ratio(logp_t, logp_old_t).detach()
    weight = r.clamp(floor, cap)
    return weight * adv_t * logp_t, {"clip_fraction": weight != r}


@surrogate("topr")
def topr(
    logp_t: Tensor,
    logp_mu_t: Tensor,
    adv_t: Tensor,
    episode: Segments,
    level: str = "sequence",
    positive: tuple[float, float] = (1.0, 1.0),
    negative: tuple[float, float] = (0.0, 1.0),
) -> tuple[Tensor, Statistics]:
    """sg(w) A log pi with w = pi / mu limited to ``positive`` where A > 0 and to ``negative`` elsewhere (TOPR, arXiv
    2503.14286): right actions are imitated at full weight, and wrong ones ignored once the policy no longer takes them.

    Args:
        level: "token": ratio of each token; "sequence": product over the episode; "sequence_mean": geometric mean over
            it.
    """
    check_choice("level", level, ("token", "sequence", "sequence_mean"))
    with torch.no_grad():
        gap = logp_t - logp_mu_t
        if level != "token":
            gap = episode.expand(episode.sum(gap) if level == "sequence" else episode.mean(gap))
        w = bounded_exp(gap)
        bounded = torch.where(adv_t > 0, w.clamp(*positive), w.clamp(*negative))
    return bounded * adv_t * logp_t, {"clip_fraction": bounded != w}


@surrogate("rec")
def rec(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    clip: str = "one_side",
    weight: str = "is",
    near: tuple[float, float] = (0.2, 0.2),
    far: tuple[float, float] = (0.6, 2.0),
    temperature: float = 1.0,
) -> tuple[Tensor, Statistics]:
    """sg(w) A log pi on the tokens that ``clip`` keeps (REC, arXiv 2509.24203).

    Args:
        clip: see `inside_clip`, as for ``near`` and ``far``.
        weight: w is 1 for "none", r for "is", exp(A / temperature) for "advantage".
    """
    check_choice("weight", weight, ("none", "is", "advantage"))
    with torch.no_grad():
        r = probability_ratio(logp_t, logp_old_t)
        kept = inside_clip(r, adv_t, clip, near, far)
        w = {"none": torch.ones_like(r), "is": r, "advantage": bounded_exp(adv_t / temperature)}[weight]
    return w * kept * adv_t * logp_t, {"clip_fraction": ~kept}


def inside_clip(r_t: Tensor, adv_t: Tensor, clip: str, near: tuple[float, float], far: tuple[float, float]) -> Tensor:
    """Return the tokens that a clip of `rec` keeps, bool [A].

    Args:
        clip: "none": all; "one_side": r <= 1 + b where A >= 0 and r >= 1 - a where A <= 0, which with the weight "is"
            has the gradient of GRPO's clip; "two_side": both bounds whatever A; "ring": as two_side, and also r <= 1 -
            c where A >= 0 and r >= 1 + d where A <= 0.
        near: (a, b).
        far: (c, d).
    """
    check_choice("clip", clip, ("none", "one_side", "two_side", "ring"))
    up, down = adv_t >= 0, adv_t <= 0
    if clip == "none":
        return torch.ones_like(r_t, dtype=torch.bool)
    if clip == "one_side":
        return (up & (r_t <= 1 + near[1])) | (down & (r_t >= 1 - near[0]))
    inside = (r_t <= 1 + near[1]) & (r_t >= 1 - near[0])
    return inside if clip == "two_side" else inside | (up & (r_t <= 1 - far[0])) | (down & (r_t >= 1 + far[1]))


@surrogate("asymre")
@needs("every_row")
def asymre(logp_t: Tensor, adv_t: Tensor, shift: float = 0.1) -> Tensor:
    """(A + shift) log pi: equivalent to a baseline lower by ``shift``, so that successes weigh more than failures
    (AsymRE, arXiv 2506.20520, section 5)."""
    return (adv_t + shift) * logp_t


@surrogate("opmd")
def opmd(logp_t: Tensor, adv_t: Tensor, tau: float = 1.0) -> Tensor:
    """A log pi / (1 + tau): first step of online policy mirror descent, without any ratio (R3L, arXiv 2601.03715; OPMD
    in arXiv 2505.17826)."""
    return adv_t * logp_t / (1 + check_number("tau", tau, 0))
