"""Advantages and weights of a batch's tokens: `Batch` -> `Units` -> `WeightedBatch`.

A credit term computes the return of each unit of credit (such as an episode, turn or token), subtracts a baseline,
scales the difference to an advantage and assigns it to the unit's tokens. Origins, masks, reduction and weights
determine each token's weight in the loss. `RolloutTerms` does both for the rollouts, `StreamTerms` for a stream, whose
advantages are given.

The formulas are in ``components/credit``: GRPO's mean of the group is `baselines.group_mean`, its division by the
standard deviation `scales.group_std`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ....errors import unknown_name
from ..batch.batch import Batch
from ..batch.rounding import merge_equal, subtract_beyond_rounding
from ..batch.trajectory import Origin
from ..recipes import Component, Credit, Recipe, Stream
from .binding import Bound, Clock, bind_number, bind_stages
from .loss import LossTerms, WeightedBatch


class CreditTerm:
    """One summand of the advantage: coefficient x scale(return - baseline)."""

    def __init__(self, term: Credit, clock: Clock):
        self.clock = clock
        self.coefficient = bind_number(term.coefficient)
        stages = bind_stages("credit", term, clock)
        (self.returns,), (self.baseline,), (self.scale,) = stages["returns"], stages["baseline"], stages["scale"]
        self.parts = [self.returns, self.baseline, self.scale]

    def advantage(self, batch: Batch) -> Tensor:
        """Return the advantage of every token, [N]; exactly 0 if return and baseline differ by rounding only."""
        units = self.returns(batch)
        units = replace(units, value=merge_equal(units.value, units.group))
        centred = units.with_value(subtract_beyond_rounding(units.value, self.baseline(units, batch)))
        return self.coefficient(self.clock) * units.expand(self.scale(centred, batch))


class Selection:
    """Weights of a batch's tokens, from the origins, masks, reduction and weights of a recipe or a stream."""

    def __init__(self, row: Recipe | Stream, clock: Clock):
        for name in row.origins:
            if name.upper() not in Origin.__members__ or name == "environment":
                raise unknown_name("origin of trained tokens", name, ("policy", "hint", "teacher", "copy"))
        self.origins = [Origin[name.upper()] for name in row.origins]
        stages = bind_stages("selection", row, clock)
        self.masks, self.weights, (self.reduction,) = stages["masks"], stages["weights"], stages["reduction"]
        self.parts = [*self.masks, *self.weights, self.reduction]

    def weight(self, batch: Batch, advantage: Tensor) -> Tensor:
        """Return the weight of every token, [N]; 0 for tokens that are not trained."""
        keep = batch.written_by(*self.origins)
        for mask in self.masks:
            keep = keep & mask(batch, advantage)
        weight = self.reduction(batch, keep)
        for factor in self.weights:
            weight = weight * factor(batch, advantage)
        by_teacher = [t.weight for t in batch.trajectories]
        return weight if all(w == 1.0 for w in by_teacher) else weight * batch.per_token(torch.tensor(by_teacher))


class BatchTerms:
    """Base class of the terms of the loss over the rollouts or a stream: advantages, weights and the loss.

    Attributes:
        anchor: policy in the denominator of importance ratios; see `Recipe`.
        needs_before: measurements that must be made before a batch is weighted.
    """

    anchor = "sampler"
    needs_before: frozenset[str]

    def __init__(self, row: Recipe | Stream, coefficient: float | Component, clock: Clock, balance: Bound):
        self.clock, self.balance = clock, balance
        self.coefficient = bind_number(coefficient)
        self.selection = Selection(row, clock)
        self.loss = LossTerms(row, clock)

    @property
    def factor(self) -> float:
        """Factor of the recipe's balance on the coefficient."""
        raise NotImplementedError

    def advantage(self, batch: Batch) -> Tensor:
        """Return the advantage of every token, float32 [N]."""
        raise NotImplementedError

    def weigh(self, batch: Batch, *, live_anchor: bool | None = None) -> WeightedBatch:
        """Compute the advantage and weight of every token of an optimiser batch.

        Args:
            batch: the batch, with the measurements of `needs_before`.
            live_anchor: True if no other update precedes this batch, so that the policy being trained serves as anchor
                and need not be measured; by default, True if ``logp_old`` was not measured.
        """
        advantage = self.advantage(batch)
        weight = self.coefficient(self.clock) * self.factor * self.selection.weight(batch, advantage)
        live_anchor = batch.logp_old is None if live_anchor is None else live_anchor
        live_anchor = live_anchor and self.anchor != "sampler"
        if self.anchor == "sampler":
            batch = replace(batch, logp_old=batch.logp_mu)
        elif self.anchor == "rescored" and not live_anchor:
            old = batch.measurement("logp_old").to(batch.logp_mu)
            batch = replace(batch, logp_old=torch.where(self.sampled_now(batch), old, batch.logp_mu))

        def trained_episodes(at_reference: bool) -> list[int]:
            # Episodes left out here still count in the denominators of the weights.
            every_row = self.loss.coupled or self.loss.trains_every_row(at_reference)
            trained = weight != 0 if every_row else (weight != 0) & (advantage != 0)
            return batch.episode_of[trained].unique().tolist()

        episodes, at_reference = trained_episodes(False), trained_episodes(True)
        return WeightedBatch(batch, advantage, weight, episodes, self.loss, live_anchor, at_reference)

    def sampled_now(self, batch: Batch) -> Tensor:
        """Return the mask of action tokens sampled in this step, by the policy before the update, bool [N]."""
        fresh = torch.tensor([t.version == self.clock.step for t in batch.trajectories], dtype=torch.bool)
        return batch.written_by(Origin.POLICY, Origin.COPY) & batch.per_token(fresh)


class RolloutTerms(BatchTerms):
    """Terms of a recipe's loss over the rollouts; the advantage is the sum of the credit terms, then adjusted."""

    def __init__(self, recipe: Recipe, adjustments: Sequence[Bound], clock: Clock, balance: Bound):
        super().__init__(recipe, recipe.rollout_share, clock, balance)
        self.anchor = recipe.anchor
        self.credit = [CreditTerm(term, clock) for term in recipe.credit]
        self.adjustments = adjustments
        credit = [part for term in self.credit for part in term.parts]
        self.needs_before = frozenset().union(*(p.needs for p in [*credit, *adjustments, *self.selection.parts]))

    @property
    def factor(self) -> float:
        return self.balance.refresh().rollouts

    def advantage(self, batch: Batch) -> Tensor:
        advantage = torch.zeros(len(batch.ids), dtype=batch.outcome.dtype)
        for term in self.credit:
            advantage = advantage + term.advantage(batch)
        if any(t.advantage_weight != 1.0 for t in batch.trajectories):
            by_teacher = torch.tensor([t.advantage_weight for t in batch.trajectories])
            advantage = advantage * batch.per_token(by_teacher)
        for adjust in self.adjustments:
            advantage = adjust(advantage, batch)
        return advantage.float()


class StreamTerms(BatchTerms):
    """Terms of the loss over a stream. The advantage is the one stored in the trajectory, or 1 if there is none."""

    def __init__(self, stream: Stream, clock: Clock, balance: Bound):
        super().__init__(stream, stream.coefficient, clock, balance)
        (self.source,) = bind_stages("streams", stream, clock)["source"]
        self.parts = [self.source, *self.selection.parts, *self.loss.parts]
        self.needs_before = frozenset().union(*(part.needs for part in self.selection.parts))

    @property
    def factor(self) -> float:
        return self.balance.refresh().streams

    def advantage(self, batch: Batch) -> Tensor:
        given = [1.0 if t.advantage is None else t.advantage for t in batch.trajectories]
        return batch.per_token(torch.tensor(given))
