"""Units of credit: what gets one return, one baseline and one advantage.

An episode, a turn, an action token or a node of the group's tree. The same baselines and scales work on all of them,
because statistics are taken by index over units that share a ``group``, never by reshaping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...batch.batch import Batch


@dataclass(frozen=True, eq=False)
class Units:
    """M units of a batch.

    Attributes:
        value: return of each unit, then (after a baseline) the centred return, float [M].
        group: units of equal number are compared with each other, int64 [M], numbers from 0.
        episode: episode of each unit (of one of them, where several share the unit), int64 [M].
        of_token: unit of each token, -1 where the token belongs to none, int64 [N].
        uncentred: the returns before any baseline, where ``value`` has been changed since, [M].
    """

    value: Tensor
    group: Tensor
    episode: Tensor
    of_token: Tensor
    uncentred: Tensor | None = None

    def with_value(self, value: Tensor) -> Units:
        """The units with another value; the first one stays known as `raw`."""
        return replace(self, value=value, uncentred=self.raw)

    @property
    def raw(self) -> Tensor:
        """Return of each unit, whatever has been subtracted from its value, [M]."""
        return self.value if self.uncentred is None else self.uncentred

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1 if len(self.group) else 0

    def sum_by_group(self, value: Tensor) -> Tensor:
        """Sum of a unit value over the unit's group, spread back over units: [M] -> [M]."""
        total = value.new_zeros(self.groups).index_add_(0, self.group, value)
        return total[self.group]

    @property
    def size(self) -> Tensor:
        """Units in each unit's group, float [M]."""
        return self.sum_by_group(torch.ones_like(self.value))

    @property
    def mean(self) -> Tensor:
        """Mean value of each unit's group, [M]."""
        return self.sum_by_group(self.value) / self.size

    def std(self, ddof: int) -> Tensor:
        """Standard deviation of each unit's group, [M]; 0 for a group of one."""
        squares = self.sum_by_group((self.value - self.mean) ** 2)
        return (squares / (self.size - ddof).clamp(min=1)).sqrt()

    @property
    def tokens(self) -> Tensor:
        """Action tokens of each unit, float [M]."""
        inside = self.of_token[self.of_token >= 0]
        return torch.zeros_like(self.value).index_add_(0, inside, torch.ones(len(inside), dtype=self.value.dtype))

    def spread(self, value: Tensor) -> Tensor:
        """A unit value at each of the unit's tokens, 0 at tokens of no unit: [M] -> [N]."""
        padded = torch.cat((value, value.new_zeros(1)))
        return padded[self.of_token]


def episode_units(batch: Batch, value: Tensor) -> Units:
    """One unit an episode, compared within its group; ``value`` [E]."""
    of_token = torch.where(batch.action, batch.episode_of, -1)
    return Units(value, batch.group_of, torch.arange(batch.episodes), of_token)


def turn_units(batch: Batch, value: Tensor, group: Tensor | None = None) -> Units:
    """One unit a turn; ``value`` [K]. Compared with all turns of its group, or with those of equal ``group`` [K]."""
    of_token = torch.where(batch.action, batch.turn_of, -1)
    if group is None:
        group = batch.group_of[batch.episode_of_turn]
    return Units(value, group, batch.episode_of_turn, of_token)


def token_units(batch: Batch, value: Tensor) -> Units:
    """One unit an action token, compared within its group; ``value`` [N] (read at action tokens)."""
    place = batch.action.nonzero()[:, 0]
    of_token = torch.full_like(batch.ids, -1)
    of_token[place] = torch.arange(len(place))
    episode = batch.episode_of[place]
    return Units(value[place], batch.group_of[episode], episode, of_token)


def place_of_turn(batch: Batch) -> Tensor:
    """How many turns of its episode precede each turn, int64 [K]."""
    turns = torch.arange(len(batch.episode_of_turn))
    first = torch.searchsorted(batch.episode_of_turn, torch.arange(batch.episodes))
    return turns - first[batch.episode_of_turn]


def turns_left(batch: Batch) -> Tensor:
    """How many turns of its episode follow each turn, int64 [K]."""
    turns = torch.bincount(batch.episode_of_turn, minlength=batch.episodes)
    return turns[batch.episode_of_turn] - 1 - place_of_turn(batch)


def suffix_sum(value: Tensor, segment: Tensor, decay: float = 1.0) -> Tensor:
    """G_i = value_i + decay x G_{i+1} within equal, contiguous ``segment``: [M], [M] -> [M]."""
    exact = value.double()
    if decay == 1:
        before = exact.cumsum(0) - exact
        end = torch.searchsorted(segment, segment, right=True) - 1
        return ((before + exact)[end] - before).to(value.dtype)
    sums, places = exact.tolist(), segment.tolist()
    for i in range(len(sums) - 2, -1, -1):
        if places[i] == places[i + 1]:
            sums[i] += decay * sums[i + 1]
    return torch.tensor(sums, dtype=value.dtype)


def numbered(*keys: Tensor) -> Tensor:
    """Numbers from 0 for equal combinations of integer keys: [M], [M], ... -> int64 [M]."""
    return torch.unique(torch.stack(keys), dim=1, return_inverse=True)[1]
