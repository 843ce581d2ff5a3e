"""Units of credit: the parts of a batch that get one return, one baseline and one advantage each.

A unit is an episode, a turn, an action token or a node of the group's tree. Baselines and scales work on all of them
alike, because statistics are computed by index over units with equal ``group``, never by reshaping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...batch.batch import Batch
from ...batch.rounding import ROUNDING
from ...batch.segments import Segments, segment_places, segment_sum


@dataclass(frozen=True, eq=False)
class Units:
    """M units of a batch.

    Attributes:
        value: return of each unit; after `with_value`, the centred or scaled return; float [M].
        group: number of each unit's peer group, from 0, int64 [M]; units with equal numbers are compared with each
            other.
        episode: episode of each unit (one of the episodes if several share the unit), int64 [M].
        of_token: unit of each token, -1 for tokens outside all units, int64 [N].
        uncentred: the returns before any baseline, if ``value`` has been replaced, [M]; else None.
    """

    value: Tensor
    group: Tensor
    episode: Tensor
    of_token: Tensor
    uncentred: Tensor | None = None

    def with_value(self, value: Tensor) -> Units:
        """Return a copy with another value; `raw` still returns the first one."""
        return replace(self, value=value, uncentred=self.raw)

    @property
    def raw(self) -> Tensor:
        """Return of each unit before any baseline and scale, [M]."""
        return self.value if self.uncentred is None else self.uncentred

    @property
    def peers(self) -> Segments:
        """Segments of the units with equal ``group``."""
        return Segments(self.group, int(self.group.max()) + 1 if len(self.group) else 0)

    @property
    def tokens(self) -> Tensor:
        """Number of tokens of each unit, float [M]."""
        inside = self.of_token[self.of_token >= 0]
        return segment_sum(torch.ones(len(inside), dtype=self.value.dtype), inside, len(self.value))

    def expand(self, value: Tensor) -> Tensor:
        """Repeat a unit value at each of the unit's tokens, 0 at tokens outside all units: [M] -> [N]."""
        padded = torch.cat((value, value.new_zeros(1)))
        return padded[self.of_token]


def episode_units(batch: Batch, value: Tensor) -> Units:
    """Make one unit per episode from ``value`` [E]; peers are the episodes of the group."""
    of_token = torch.where(batch.action, batch.episode_of, -1)
    return Units(value, batch.group_of, torch.arange(batch.episodes), of_token)


def turn_units(batch: Batch, value: Tensor, group: Tensor | None = None) -> Units:
    """Make one unit per turn from ``value`` [K]; peers are the turns of the group, or those of equal ``group`` [K]."""
    of_token = torch.where(batch.action, batch.turn_of, -1)
    if group is None:
        group = batch.group_of[batch.episode_of_turn]
    return Units(value, group, batch.episode_of_turn, of_token)


def token_units(batch: Batch, value: Tensor) -> Units:
    """Make one unit per action token from ``value`` [A]; peers are the tokens of the group."""
    of_token = torch.full_like(batch.ids, -1)
    of_token[batch.action] = torch.arange(len(value))
    episode = batch.episode_of[batch.action]
    return Units(value, batch.group_of[episode], episode, of_token)


def place_of_turn(batch: Batch) -> Tensor:
    """Return the number of turns that precede each turn in its episode, int64 [K]."""
    return segment_places(batch.episode_of_turn)


def turns_left(batch: Batch) -> Tensor:
    """Return the number of turns that follow each turn in its episode, int64 [K]."""
    turns = torch.bincount(batch.episode_of_turn, minlength=batch.episodes)
    return turns[batch.episode_of_turn] - 1 - place_of_turn(batch)


def reward_by_turn(batch: Batch) -> Tensor:
    """Return the reward of each turn, [K]; rewards of the whole episode are added to its last turn."""
    reward = batch.turn_reward.clone()
    last = turns_left(batch) == 0
    total = segment_sum(batch.turn_reward, batch.episode_of_turn, batch.episodes)
    size = segment_sum(batch.turn_reward.abs(), batch.episode_of_turn, batch.episodes)
    rest = batch.outcome - total
    rest = torch.where(rest.abs() < ROUNDING * torch.maximum(size, batch.outcome.abs()), 0, rest)
    reward[last] += rest[batch.episode_of_turn[last]]
    return reward


def reward_by_token(batch: Batch) -> Tensor:
    """Return the reward of each action token, [A]: a turn's reward is placed at its last action token, and the reward
    of a part of an action at the last token of the part.

    The reward of a turn without action tokens is placed at the last action token before it in the episode, or else at
    the first after it.
    """
    turn, episode = batch.turn_of[batch.action], batch.episode_of[batch.action]
    reward = torch.zeros(len(turn), dtype=batch.outcome.dtype)
    if not len(turn):
        return reward
    at = torch.searchsorted(turn, torch.arange(len(batch.turn_reward)), right=True) - 1
    own = (at >= 0) & (episode[at.clamp(min=0)] == batch.episode_of_turn)
    at = torch.where(own, at, at + 1).clamp(max=len(turn) - 1)
    there = episode[at] == batch.episode_of_turn
    left = reward_by_turn(batch)
    if batch.spans:
        tokens = torch.tensor([token for token, _ in batch.spans])
        parts = torch.tensor([value for _, value in batch.spans], dtype=reward.dtype)
        place = batch.action.cumsum(0) - 1
        reward.index_add_(0, place[tokens], parts)
        left.index_add_(0, batch.turn_of[tokens], -parts)
    return reward.index_add_(0, at[there], left[there])
