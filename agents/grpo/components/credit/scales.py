"""Scales: functions that normalise centred returns by a deviation, mean or rank over the group or the batch."""

from __future__ import annotations

import torch
from torch import Tensor

from ...batch.batch import Batch
from ...batch.rounding import merge_equal, subtract_beyond_rounding
from ...batch.segments import Segments
from ...recipes.stages import SCALES
from .credit_arrays import scale
from .units import Units


@scale("none")
def no_scale(centred_u: Tensor) -> Tensor:
    """Leave the centred returns as they are."""
    return centred_u


@scale("group_std", by="group")
def group_std(centred_u: Tensor, peers: Segments, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the peers' standard deviation plus ``eps`` (GRPO, arXiv 2402.03300, section 4.1.2).

    Released code differs in ``ddof`` and ``eps``; with eight samples, ddof 0 instead of 1 makes every advantage 7 %
    larger. See `peers.peers_by` for the values of ``by``.
    """
    return centred_u / (peers.shared_std(centred_u, ddof) + eps)


@scale("batch_std", peers="batch")
def batch_std(centred_u: Tensor, return_u: Tensor, peers: Segments, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the standard deviation of the *returns* of the whole batch, so that small differences within a group
    are not amplified (Lite PPO, arXiv 2508.08221)."""
    return centred_u / (peers.shared_std(return_u, ddof) + eps)


@scale("whiten")
def whiten(centred_u: Tensor, tokens_u: Tensor, eps: float = 1e-8) -> Tensor:
    """Standardise over the batch to mean 0 and deviation 1, counting every unit once per token (REINFORCE++, arXiv
    2501.03262); 0 if all values are equal."""
    return standardise(centred_u, tokens_u, eps)


@scale("whiten_units")
def whiten_units(centred_u: Tensor, eps: float = 1e-8) -> Tensor:
    """Standardise over the batch, counting every unit once (single-stream policy optimisation, arXiv 2509.13232)."""
    return standardise(centred_u, torch.ones_like(centred_u), eps)


def standardise(value: Tensor, count: Tensor, eps: float) -> Tensor:
    """Shift and scale to mean 0 and deviation 1, each value counted ``count`` times: [M], [M] -> [M].

    All results are 0 if the values with a positive count are equal.
    """
    whole = Segments(torch.zeros(len(value), dtype=torch.int64), min(len(value), 1))
    centred = subtract_beyond_rounding(value, whole.shared_mean(value, count))
    counted = torch.where(count > 0, centred, 0)
    size = counted.abs().sum()
    deviation = size * ((count * (counted / size.where(size > 0, 1)) ** 2).sum() / count.sum().clamp(min=1)).sqrt()
    return torch.where(size > 0, centred / (deviation + eps), 0)


@scale("mean")
def mean_return(centred_u: Tensor, return_u: Tensor, peers: Segments, eps: float = 1e-6) -> Tensor:
    """Divide by the mean return of the group, which gives the gradient of the log success rate; 0 if the mean is not
    positive (MaxRL, arXiv 2602.02710)."""
    level = peers.shared_mean(return_u)
    return torch.where(level > eps, centred_u / level.clamp(min=eps), 0)


@scale("max_abs", by="batch")
def max_abs(centred_u: Tensor, peers: Segments, eps: float = 1e-8) -> Tensor:
    """Divide by the largest magnitude among the peers."""
    return centred_u / (peers.shared_max(centred_u.abs()) + eps)


@scale("rank", by="group")
def rank(centred_u: Tensor, peers: Segments) -> Tensor:
    """Replace by the rank among the peers, from -1 (lowest) to 1 (highest); equal values share their mean rank."""
    _, level = merge_equal(centred_u, peers.of).unique(return_inverse=True)
    levels = int(level.max()) + 1 if len(level) else 1
    cell = peers.of * levels + level
    same = torch.bincount(cell, minlength=peers.count * levels).reshape(-1, levels)
    below = (same.cumsum(1) - same).reshape(-1)[cell]
    place = below + (same.reshape(-1)[cell] - 1) / 2
    size = peers.shared_size(centred_u)
    return torch.where(size > 1, 2 * place.to(centred_u.dtype) / (size - 1).clamp(min=1) - 1, 0)


@scale("sign")
def sign_of_return(centred_u: Tensor) -> Tensor:
    """Replace by the sign: 1, 0 or -1."""
    return centred_u.sign()


@scale("informative")
def per_informative_unit(centred_u: Tensor, return_u: Tensor, peers: Segments, eps: float = 1e-6) -> Tensor:
    """Multiply by (units of the batch) / (units in groups whose returns differ), so that groups of equal returns do not
    shrink the step (GPG, arXiv 2504.02546)."""
    differ = peers.shared_std(return_u, 0) > eps
    return centred_u * (len(centred_u) / differ.sum().clamp(min=1))


@SCALES.register("drawn_std")
def drawn_std(units: Units, batch: Batch, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the standard deviation over all episodes sampled for the task, or over the group if all were kept."""
    drawn = [torch.tensor(group.drawn, dtype=torch.float64) for group in batch.group_list]
    known = [float(((d - d.mean()) ** 2).sum().div(max(len(d) - ddof, 1)).sqrt()) if len(d) else -1.0 for d in drawn]
    deviation = torch.tensor(known, dtype=units.value.dtype)[batch.group_of[units.episode]]
    deviation = torch.where(deviation < 0, units.peers.shared_std(units.raw, ddof), deviation)
    return units.value / (deviation + eps)
