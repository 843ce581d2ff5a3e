"""Surrogates for tokens that the policy did not sample: one surrogate per `Origin`, and ratios for a teacher's tokens.

Such tokens have no behaviour log-probability under the policy; with the anchor "sampler" their pi_old is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import LossTerm, Scored, needs
from ...batch.trajectory import Origin
from ...recipes.stages import SURROGATES
from ..loss_arrays import from_scored, surrogate
from .clip import clipped_surrogate

Surrogate = Callable[[Scored], LossTerm]
CLIP: Surrogate = from_scored(clipped_surrogate, "clip")


@SURROGATES.register("by_origin")
def by_origin(
    scored: Scored,
    policy: Surrogate = CLIP,
    teacher: Surrogate | None = None,
    hint: Surrogate | None = None,
    copy: Surrogate | None = None,
) -> LossTerm:
    """Apply a separate surrogate to the tokens of each origin; an origin without one uses the policy's surrogate.

    Each surrogate receives only its tokens, so a ratio of the whole episode covers the tokens of one origin. Inputs of
    all surrogates are needed. Names of statistics are prefixed with the origin, except the policy's.
    """
    others = {Origin.TEACHER: teacher, Origin.HINT: hint, Origin.COPY: copy}
    apart = {origin: scored.origin == origin for origin, part in others.items() if part}
    own = ~torch.stack([torch.zeros_like(scored.trained), *apart.values()]).any(0)
    value, stats = torch.zeros_like(scored.logp), {}
    for prefix, part, chosen in [("", policy, own), *((f"{o.name.lower()}_", others[o], apart[o]) for o in apart)]:
        if part and chosen.any():
            term = part(select_tokens(scored, chosen))
            value = value.index_put((chosen.nonzero()[:, 0],), term.value.to(value.dtype))
            stats |= {prefix + name: count for name, count in term.stats.items()}
    return LossTerm(value, stats)


def select_tokens(scored: Scored, chosen: Tensor) -> Scored:
    """Select the tokens ``chosen`` (bool [A]); numbers, groups and outcomes of episodes stay."""
    tokens = (field.name for field in fields(scored) if field.name not in ("episodes", "group", "outcome"))
    values = {name: getattr(scored, name) for name in tokens}
    return replace(scored, **{name: value[chosen] for name, value in values.items() if value is not None})


@surrogate("shaped_ratio")
def shaped_ratio(logp_t: Tensor, adv_t: Tensor, gamma: float = 0.1) -> Tensor:
    """A pi / (pi + gamma), without ratio and clip: the gradient A gamma pi / (pi + gamma)^2 x grad log pi stays large
    for tokens that are rare under the policy (LUFFY, arXiv 2504.14945; AMPO, arXiv 2510.02227)."""
    check_number("gamma", gamma, 1e-9)
    p = logp_t.exp()
    return p / (p + gamma) * adv_t


@surrogate("shaped_importance")
def shaped_importance(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, gamma: float = 0.1) -> Tensor:
    """A r / (r + gamma), r = pi / pi_old, for tokens of an earlier policy: bounded however far the policies are apart,
    and steepest at tokens that have become unlikely under the policy (ExGRPO, arXiv 2510.02245, section 4.2). Nothing
    is detached."""
    check_number("gamma", gamma, 1e-9)
    return adv_t * (logp_t - logp_old_t - math.log(gamma)).sigmoid()


@surrogate("rl_plus")
@needs("logp_old")
def rl_plus(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, gamma: float = 0.5) -> Tensor:
    """A (1 - sg(pi))^gamma 2 pi / (pi_old + (pi_old + 1) / 2): ratio to a mixture of the policy and an unknown author,
    with more weight on tokens that the policy finds unlikely (RL-PLUS, arXiv 2508.00222).

    Requires the anchor "policy". Only pi in the ratio has a gradient.
    """
    check_number("gamma", gamma, 0)
    p, old = logp_t.exp(), logp_old_t.exp()
    unknown = (1 - p.detach()).clamp(min=0) ** gamma
    return unknown * 2 * p / (old + (old + 1) / 2) * adv_t
