"""Scales of centred returns: by a deviation, a mean, a rank, over the group or the batch."""

from __future__ import annotations

import torch
from torch import Tensor

from ...batch.batch import Batch
from ...recipes.stages import SCALES
from .peers import compared
from .units import Units


@SCALES.register("none")
def no_scale(units: Units, batch: Batch) -> Tensor:
    """Centred returns as they are."""
    return units.value


@SCALES.register("group_std")
def group_std(units: Units, batch: Batch, ddof: int = 1, eps: float = 1e-4, by: str = "group") -> Tensor:
    """Divide by the peers' standard deviation plus ``eps`` (GRPO, arXiv 2402.03300, section 4.1.2). See
    `peers.compared` for ``by``.

    Released code differs in ``ddof`` and ``eps``; with eight samples ddof 0 instead of 1 makes every advantage 7 %
    larger.
    """
    return units.value / (compared(units, batch, by).std(ddof) + eps)


@SCALES.register("batch_std")
def batch_std(units: Units, batch: Batch, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the standard deviation of the *returns* of the whole batch, so that a group where nearly all agree is
    not blown up (Lite PPO, arXiv 2508.08221).
    """
    returns = compared(units, batch, "batch").with_value(units.raw)
    return units.value / (returns.std(ddof) + eps)


@SCALES.register("whiten")
def whiten(units: Units, batch: Batch, eps: float = 1e-8) -> Tensor:
    """Subtract the mean over the batch and divide by the deviation, every unit counted once for each of its tokens
    (REINFORCE++, arXiv 2501.03262). Zero where all values are equal.
    """
    return standardised(units.value, units.tokens, eps)


@SCALES.register("whiten_units")
def whiten_units(units: Units, batch: Batch, eps: float = 1e-8) -> Tensor:
    """The same with every unit counted once (single-stream policy optimisation, arXiv 2509.13232)."""
    return standardised(units.value, torch.ones_like(units.value), eps)


def standardised(value: Tensor, count: Tensor, eps: float) -> Tensor:
    """Mean 0 and deviation 1, each value counted ``count`` times; 0 where all that count are equal: [M] -> [M]."""
    total = count.sum().clamp(min=1)
    centred = value - (count * value).sum() / total
    deviation = ((count * centred**2).sum() / total).sqrt()
    # Rounding errors of equal values are not to be blown up.
    noise = 1e-6 * value.abs().max() if len(value) else deviation
    return torch.where(deviation > noise, centred / (deviation + eps), 0)


@SCALES.register("mean")
def mean(units: Units, batch: Batch, eps: float = 1e-6) -> Tensor:
    """Divide by the mean return of the group, so that the gradient is that of the log of the success rate; 0 where the
    mean is not positive (MaxRL, arXiv 2602.02710).
    """
    level = units.with_value(units.raw).mean
    return torch.where(level > eps, units.value / level.clamp(min=eps), 0)


@SCALES.register("max_abs")
def max_abs(units: Units, batch: Batch, by: str = "batch", eps: float = 1e-8) -> Tensor:
    """Divide by the largest magnitude among the peers."""
    peers = compared(units, batch, by)
    largest = units.value.new_zeros(peers.groups).scatter_reduce_(0, peers.group, units.value.abs(), "amax")
    return units.value / (largest[peers.group] + eps)


@SCALES.register("rank")
def rank(units: Units, batch: Batch, by: str = "group") -> Tensor:
    """Rank among the peers, from -1 (lowest) to 1 (highest), equals sharing their mean rank: only the order counts."""
    peers = compared(units, batch, by)
    _, level = units.value.unique(return_inverse=True)
    levels = int(level.max()) + 1 if len(level) else 1
    cell = peers.group * levels + level
    same = torch.bincount(cell, minlength=peers.groups * levels).reshape(-1, levels)
    below = (same.cumsum(1) - same).reshape(-1)[cell]
    place = below + (same.reshape(-1)[cell] - 1) / 2
    size = peers.size
    return torch.where(size > 1, 2 * place.to(units.value.dtype) / (size - 1).clamp(min=1) - 1, 0)


@SCALES.register("sign")
def sign(units: Units, batch: Batch) -> Tensor:
    """1, 0 or -1."""
    return units.value.sign()


@SCALES.register("informative")
def informative(units: Units, batch: Batch, eps: float = 1e-6) -> Tensor:
    """Multiply by (units of the batch) / (units in groups whose returns differ), so that groups without a signal do not
    shrink the step (GPG, arXiv 2504.02546).
    """
    differ = units.with_value(units.raw).std(0) > eps
    return units.value * (len(units.value) / differ.sum().clamp(min=1))


@SCALES.register("drawn_std")
def drawn_std(units: Units, batch: Batch, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the standard deviation of everything that was sampled for the task; of the group where all was kept."""
    drawn = [torch.tensor(group.drawn, dtype=torch.float64) for group in batch.group_list]
    known = [float(((d - d.mean()) ** 2).sum().div(max(len(d) - ddof, 1)).sqrt()) if len(d) else -1.0 for d in drawn]
    deviation = torch.tensor(known, dtype=units.value.dtype)[batch.group_of[units.episode]]
    deviation = torch.where(deviation < 0, units.with_value(units.raw).std(ddof), deviation)
    return units.value / (deviation + eps)
