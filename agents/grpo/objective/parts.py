"""Parts of an objective: the weights of tokens, the terms of the advantage, and streams of further episodes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ....errors import unknown_name
from ..batch.batch import Batch
from ..batch.rounding import merge_equal, subtract
from ..batch.trajectory import Origin
from ..recipes import Credit, Recipe, Stream
from .binding import Bound, Clock, bind_number, bind_stages
from .loss import LossTerms, WeightedBatch


class Selection:
    """Weights of the tokens of a batch, by origins, masks, reduction and weights of a recipe or a stream."""

    def __init__(self, part: Recipe | Stream, clock: Clock):
        for name in part.origins:
            if name.upper() not in Origin.__members__ or name == "environment":
                raise unknown_name("origin of trained tokens", name, ("policy", "hint", "teacher", "copy"))
        self.origins = [Origin[name.upper()] for name in part.origins]
        stages = bind_stages("selection", part, clock)
        self.masks, self.weights, (self.reduction,) = (stages[name] for name in ("masks", "weights", "reduction"))

    @property
    def parts(self) -> list[Bound]:
        return [*self.masks, *self.weights, self.reduction]

    def weight(self, batch: Batch, advantage: Tensor) -> Tensor:
        """Weight of every token, [N]."""
        keep = batch.written_by(*self.origins)
        for mask in self.masks:
            keep = keep & mask(batch, advantage)
        weight = self.reduction(batch, keep)
        for factor in self.weights:
            weight = weight * factor(batch, advantage)
        by_teacher = [t.weight for t in batch.trajectories]
        return weight if all(w == 1.0 for w in by_teacher) else weight * batch.per_token(torch.tensor(by_teacher))


def trained_episodes(advantage: Tensor, weight: Tensor, loss: LossTerms, batch: Batch) -> tuple[list[int], list[int]]:
    """Return the episodes with a token that can have a gradient, and the subset that still has one while the policy
    equals its reference. Denominators count the other episodes, too."""
    active = weight != 0
    found = []
    for at_reference in (False, True):
        every = loss.coupled or loss.trains_every_row(at_reference)
        found.append(batch.episode_of[active if every else active & (advantage != 0)].unique().tolist())
    return found[0], found[1]


class CreditTerm:
    """One term of the advantage."""

    def __init__(self, term: Credit, clock: Clock):
        self.clock = clock
        self.coefficient = bind_number(term.coefficient)
        stages = bind_stages("credit", term, clock)
        self.parts = [self.returns, self.baseline, self.scale] = [
            part for name in ("returns", "baseline", "scale") for part in stages[name]
        ]

    def advantage(self, batch: Batch) -> Tensor:
        """Advantage of every token, [N]; exactly 0 where the return differs from its baseline by rounding alone."""
        units = self.returns(batch)
        units = replace(units, value=merge_equal(units.value, units.group))
        centred = units.with_value(subtract(units.value, self.baseline(units, batch)))
        return self.coefficient(self.clock) * units.spread(self.scale(centred, batch))


class StreamTerms:
    """One stream of a recipe with its components resolved."""

    def __init__(self, stream: Stream, clock: Clock):
        self.clock = clock
        (self.source,) = bind_stages("streams", stream, clock)["source"]
        self.loss = LossTerms(stream, clock)
        self.selection = Selection(stream, clock)
        self.coefficient = bind_number(stream.coefficient)

    @property
    def parts(self) -> list[Bound]:
        return [self.source, *self.selection.parts, *self.loss.parts]

    @property
    def needs_before(self) -> frozenset[str]:
        """Measurements that weighting the stream's batch needs."""
        return frozenset().union(*(part.needs for part in self.selection.parts))

    def weigh(self, batch: Batch) -> WeightedBatch:
        """Compute advantages and weights of the stream's batch.

        The advantage of a trajectory is the one assigned beforehand, else 1.
        """
        own = [1.0 if t.advantage is None else t.advantage for t in batch.trajectories]
        advantage = batch.per_token(torch.tensor(own))
        weight = self.coefficient(self.clock) * self.selection.weight(batch, advantage)
        anchored = replace(batch, logp_old=batch.logp_mu)
        episodes, at_reference = trained_episodes(advantage, weight, self.loss, batch)
        return WeightedBatch(anchored, advantage, weight, episodes, self.loss, episodes_at_reference=at_reference)
