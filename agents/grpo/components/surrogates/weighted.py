"""Policy gradients with a detached weight: sg(w) A log pi, w from the ratio r = pi / pi_old.

A token keeps a gradient where a clip would cut it; all weights below are detached, log pi alone is differentiated.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from .....errors import InputError
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import SURROGATES
from .ratios import bounded_exp, counted, episode_mean, episode_sum, ratio_of


@SURROGATES.register("cispo")
def cispo(scored: Scored, cap: float = 5.0, floor: float = 0.0) -> LossTerm:
    """w = r cut to [floor, cap], the bounds being ratios themselves, not offsets from 1 (CISPO, arXiv 2506.13585,
    eq. 4).

    Raises:
        InputError: the bounds exclude 1, so that even a fresh sample would be scaled.
    """
    check_number("floor of cispo", floor, 0)
    if not floor <= 1 <= check_number("cap of cispo", cap):
        raise InputError(f"cap of cispo is a bound of the ratio itself and must be at least 1 (about 5), got {cap!r}.")
    r = ratio_of(scored).detach()
    weight = r.clamp(floor, cap)
    return LossTerm(weight * scored.advantage * scored.logp, {"clip_fraction": counted(weight != r, scored)})


@SURROGATES.register("topr")
def topr(
    scored: Scored,
    level: str = "sequence",
    positive: tuple[float, float] = (1.0, 1.0),
    negative: tuple[float, float] = (0.0, 1.0),
) -> LossTerm:
    """w = pi / mu cut to ``positive`` where A > 0 and to ``negative`` where A < 0 (TOPR, arXiv 2503.14286): what
    was right is imitated at full weight, what was wrong is left alone once the policy no longer does it.

    ``level``: the ratio of each "token", the product over the episode ("sequence"), or its geometric mean
    ("sequence_mean").
    """
    check_choice("level", level, _LEVELS)
    with torch.no_grad():
        w = _LEVELS[level](scored, scored.logp - scored.logp_mu)
        bounded = torch.where(scored.advantage > 0, w.clamp(*positive), w.clamp(*negative))
    return LossTerm(bounded * scored.advantage * scored.logp, {"clip_fraction": counted(bounded != w, scored)})


def _token(scored: Scored, gap: Tensor) -> Tensor:
    return bounded_exp(gap)


def _product(scored: Scored, gap: Tensor) -> Tensor:
    return scored.per_token(bounded_exp(episode_sum(scored, gap)))


def _geometric(scored: Scored, gap: Tensor) -> Tensor:
    return scored.per_token(bounded_exp(episode_mean(scored, gap)))


_LEVELS = {"token": _token, "sequence": _product, "sequence_mean": _geometric}


@SURROGATES.register("rec")
def rec(
    scored: Scored,
    clip: str = "one_side",
    weight: str = "is",
    near: tuple[float, float] = (0.2, 0.2),
    far: tuple[float, float] = (0.6, 2.0),
    temperature: float = 1.0,
) -> LossTerm:
    """sg(w) A log pi on the tokens that ``clip`` keeps, near = (a, b), far = (c, d) (REC, arXiv 2509.24203).

    ``clip``: "none"; "one_side", r <= 1 + b where A >= 0 and r >= 1 - a where A <= 0, which with the weight "is" has
    the gradient of GRPO's clip; "two_side", both bounds whatever A; "ring", two_side, and also r <= 1 - c where A >= 0
    and r >= 1 + d where A <= 0. ``weight``: "none", w = 1; "is", w = r; "advantage", w = exp(A / temperature).
    """
    check_choice("clip", clip, _KEPT)
    check_choice("weight", weight, ("none", "is", "advantage"))
    with torch.no_grad():
        r = ratio_of(scored)
        kept = _KEPT[clip](r, scored.advantage, near, far)
        w = {"none": torch.ones_like(r), "is": r, "advantage": bounded_exp(scored.advantage / temperature)}[weight]
    return LossTerm(w * kept * scored.advantage * scored.logp, {"clip_fraction": counted(~kept, scored)})


Band = tuple[float, float]


def _all(r: Tensor, a: Tensor, near: Band, far: Band) -> Tensor:
    return torch.ones_like(r, dtype=torch.bool)


def _one_side(r: Tensor, a: Tensor, near: Band, far: Band) -> Tensor:
    return ((a >= 0) & (r <= 1 + near[1])) | ((a <= 0) & (r >= 1 - near[0]))


def _two_side(r: Tensor, a: Tensor, near: Band, far: Band) -> Tensor:
    return (r <= 1 + near[1]) & (r >= 1 - near[0])


def _ring(r: Tensor, a: Tensor, near: Band, far: Band) -> Tensor:
    return _two_side(r, a, near, far) | ((a >= 0) & (r <= 1 - far[0])) | ((a <= 0) & (r >= 1 + far[1]))


_KEPT = {"none": _all, "one_side": _one_side, "two_side": _two_side, "ring": _ring}


@SURROGATES.register("asymre")
@needs("every_row")
def asymre(scored: Scored, shift: float = 0.1) -> LossTerm:
    """(A + shift) log pi: a baseline that is lower by ``shift``, so that successes weigh more than failures (AsymRE,
    arXiv 2506.20520, section 5).
    """
    return LossTerm((scored.advantage + shift) * scored.logp)


@SURROGATES.register("opmd")
def opmd(scored: Scored, tau: float = 1.0) -> LossTerm:
    """A log pi / (1 + tau): online policy mirror descent's first step, without any ratio (R3L, arXiv 2601.03715; OPMD
    in arXiv 2505.17826).
    """
    return LossTerm(scored.advantage * scored.logp / (1 + check_number("tau", tau, 0)))
