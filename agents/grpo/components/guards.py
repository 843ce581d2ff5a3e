"""Guards: predicates that accept or reject an update. Skipped and undone updates are counted.

A guard acts before the update, on the means of the statistics of one optimiser batch by name. The learner always
reports "approx_kl", the mean k3 estimate of KL(mu || pi) in nats, and "ess", the effective sample size of the episodes'
ratios divided by their number, in [0, 1]; surrogates that clip report "clip_fraction". A NaN statistic rejects the
update. With one update per batch on fresh samples, the policy still equals the sampler, and these statistics say
nothing about the update.

A guard that needs "after_update" acts after the update, on |log pi - log mu| of each trained token that the policy
sampled, in nats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from ....checks import check_number
from ....errors import InputError
from ..batch.scored import needs
from ..recipes.stages import GUARDS


def _read_statistic(statistics: Mapping[str, float], name: str) -> float:
    if name not in statistics:
        raise InputError(
            f"a guard reads {name!r}, which nothing in this recipe reports; there are {', '.join(sorted(statistics))}."
        )
    return statistics[name]


@GUARDS.register("max_kl")
def max_kl(statistics: Mapping[str, float], limit: float = 0.1) -> bool:
    """Accept if "approx_kl", the divergence between sampler and policy, is at most ``limit`` nats."""
    return _read_statistic(statistics, "approx_kl") <= check_number("limit", limit, 0)


@GUARDS.register("min_ess")
def min_ess(statistics: Mapping[str, float], share: float = 0.3) -> bool:
    """Accept if "ess", the effective sample size of the episodes' ratios, is at least ``share`` of their number."""
    return _read_statistic(statistics, "ess") >= check_number("share", share, 0, 1)


@GUARDS.register("max_clip_fraction")
def max_clip_fraction(statistics: Mapping[str, float], limit: float = 0.3) -> bool:
    """Accept if "clip_fraction", the share of clipped tokens, is at most ``limit``."""
    return _read_statistic(statistics, "clip_fraction") <= check_number("limit", limit, 0, 1)


@GUARDS.register("max_clip_bias")
def max_clip_bias(statistics: Mapping[str, float], limit: float = 1 / 17.15) -> bool:
    """Accept if the upper clip removes at most ``limit`` of the surrogate, as reported by the regulariser "clip_bias"
    (arXiv 2512.16912: with random rewards at most 1 / 17.15)."""
    correction, raw = (_read_statistic(statistics, name) for name in ("clip_correction", "raw_surrogate"))
    return correction <= check_number("limit", limit, 0) * raw


@GUARDS.register("at_most")
def at_most(statistics: Mapping[str, float], statistic: str = "approx_kl", limit: float = 0.1) -> bool:
    """Accept if the statistic called ``statistic`` is at most ``limit``."""
    return _read_statistic(statistics, statistic) <= check_number("limit", limit)


@GUARDS.register("max_token_change")
@needs("after_update")
def max_token_change(change_t: Tensor, limit: float = 1.0, quantile: float = 1.0) -> bool:
    """Accept if the ``quantile`` (1: the largest) of the changes of tokens by the update, [T] nats, is at most
    ``limit``; otherwise weights and optimiser are restored.

    A trust region on single tokens, in contrast to PPO's early stopping, which bounds the mean KL divergence. It costs
    one forward pass per update; "token_change" in ``metrics.jsonl`` is the largest change, including updates that were
    undone.
    """
    check_number("limit", limit, 0)
    check_number("quantile", quantile, 0, 1)
    count = len(change_t)
    return not count or float(change_t.kthvalue(max(math.ceil(quantile * count), 1)).values) <= limit
