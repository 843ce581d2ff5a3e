"""Tokens that the policy did not sample: surrogates by who wrote a token, and ratios for a teacher's tokens.

Such tokens have no behaviour log-probability of the policy; under the anchor "sampler" their pi_old counts as 1.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .....checks import check_number
from ...batch.scored import LossTerm, Scored, needs
from ...batch.trajectory import Origin
from ...recipes.stages import SURROGATES
from .clip import clip
from .ratios import restricted

Surrogate = Callable[[Scored], LossTerm]


@SURROGATES.register("by_origin")
def by_origin(
    scored: Scored,
    policy: Surrogate = clip,
    teacher: Surrogate | None = None,
    hint: Surrogate | None = None,
    copy: Surrogate | None = None,
) -> LossTerm:
    """One surrogate for each origin of tokens; an origin without one has that of the policy's own tokens.

    Each surrogate sees its tokens alone, so a ratio of an episode is taken over the tokens of one origin. It needs what
    its parts need. Statistics of other origins than the policy's carry their name in front.
    """
    others = {Origin.TEACHER: teacher, Origin.HINT: hint, Origin.COPY: copy}
    apart = {origin: scored.origin == origin for origin, part in others.items() if part}
    own = ~torch.stack([torch.zeros_like(scored.trained), *apart.values()]).any(0)
    value, stats = torch.zeros_like(scored.logp), {}
    for prefix, part, chosen in [("", policy, own), *((f"{o.name.lower()}_", others[o], apart[o]) for o in apart)]:
        if part and chosen.any():
            term = part(restricted(scored, chosen))
            value = value.index_put((chosen.nonzero()[:, 0],), term.value.to(value.dtype))
            stats |= {prefix + name: count for name, count in term.stats.items()}
    return LossTerm(value, stats)


@SURROGATES.register("shaped_ratio")
def shaped_ratio(scored: Scored, gamma: float = 0.1) -> LossTerm:
    """A pi / (pi + gamma), no ratio and no clip: the gradient A gamma pi / (pi + gamma)^2 x grad log pi stays large for
    tokens that are rare under the policy (LUFFY, arXiv 2504.14945; AMPO, arXiv 2510.02227).
    """
    check_number("gamma", gamma, 1e-9)
    p = scored.logp.exp()
    return LossTerm(p / (p + gamma) * scored.advantage)


@SURROGATES.register("rl_plus")
@needs("logp_old")
def rl_plus(scored: Scored, gamma: float = 0.5) -> LossTerm:
    """A (1 - sg(pi))^gamma 2 pi / (pi_old + (pi_old + 1) / 2): the ratio to the mixture of the policy and an unknown
    author, with more weight on what the policy does not know yet (RL-PLUS, arXiv 2508.00222).

    Takes the anchor "policy". The gradient flows through pi in the ratio alone.
    """
    check_number("gamma", gamma, 0)
    p, old = scored.logp.exp(), scored.logp_old.exp()
    unknown = (1 - p.detach()).clamp(min=0) ** gamma
    return LossTerm(unknown * 2 * p / (old + (old + 1) / 2) * scored.advantage)
