"""The update: optimiser steps on a step's groups.

All measurements are made before the first change of a weight. Rollouts and streams are split over the same
mini-batches, so that one optimiser step trains on a part of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..language.adapters import BaseOnly
from .batch.batch import Batch, collate
from .batch.forward import Forward
from .batch.tally import Tally
from .batch.trajectory import Group
from .config import TrainConfig
from .objective.loss import WeightedBatch, accumulate_gradients
from .objective.objective import Objective
from .optimizers import make_optimizer


class Update:
    """The trained model with its optimiser, its reference and the auxiliary models.

    Args:
        model: the policy; only parameters that require a gradient are trained.
        reference: the reference model, or None if no component needs one.
        teacher: a frozen model to distil from, or None.
        vocabulary: see `Forward`.
    """

    def __init__(
        self,
        config: TrainConfig,
        objective: Objective,
        model: Any,
        reference: Any,
        teacher: Any,
        vocabulary: int | None = None,
    ):
        self.config, self.objective = config, objective
        self.model, self.reference, self.teacher = model, reference, teacher
        self.forward = Forward(
            config.packer,
            config.token_budget or (16_384 if config.device.startswith("cuda") else 2048),
            config.temperature,
            config.fp32_head,
            config.gradient_checkpointing,
            vocabulary,
        )
        self.epochs = config.epochs or objective.recipe.epochs
        self.minibatches = min(config.minibatches or objective.recipe.minibatches, config.prompts)
        self.reset_optimizer()
        for part in objective.auxiliaries:
            part.target.attach(model, reference)

    def reset_optimizer(self) -> None:
        """Make a new optimiser."""
        config = self.config
        self.optimizer = make_optimizer(
            [weight for weight in self.model.parameters() if weight.requires_grad],
            lr=config.lr,
            betas=(0.9, config.beta2),
            weight_decay=config.weight_decay,
        )

    def run(
        self, groups: Sequence[Group], streams: Sequence[Sequence[Group]], rate: float
    ) -> tuple[Tally, dict[str, float]]:
        """Take optimiser steps on the groups and streams; a mini-batch without any gradient is left out.

        Args:
            groups: rollouts that passed the filters, shaped.
            streams: groups of each stream of the recipe.
            rate: learning rate.

        Returns:
            (the tally of the losses, figures of the optimiser steps).
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        tally = Tally()
        norms: list[float] = []
        skipped = 0
        prepared = self._prepare(groups, streams)
        for _ in range(self.epochs):
            for parts in prepared:
                step = self._accumulate(parts)
                if step is None:
                    continue
                tally.merge(step)
                norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
                if torch.isfinite(norm) and all(guard(step.means()) for guard in self.objective.guards):
                    self.optimizer.step()
                    norms.append(float(norm))
                else:
                    skipped += 1
                self.optimizer.zero_grad()
        for part in self.objective.auxiliaries:
            for batch in {id(w.batch): w.batch for parts in prepared for w in parts[:1]}.values():
                tally.add_all(part.refresh().update(batch, self.forward))
        norm = float(np.mean(norms)) if norms else 0.0
        return tally, {"grad_norm": norm, "updates": len(norms), "skipped_updates": skipped, "lr": rate}

    def _prepare(self, groups: Sequence[Group], streams: Sequence[Sequence[Group]]) -> list[list[WeightedBatch]]:
        """Weight the parts of each mini-batch: the rollouts' part first, then one of each stream."""
        count = max(1, min(self.minibatches, max([len(groups), *map(len, streams)], default=1)))
        prepared: list[list[WeightedBatch]] = []
        for rollouts, *others in zip(*(_split_groups(part, count) for part in (groups, *streams)), strict=True):
            weighted = [self.weigh(rollouts)]
            for terms, part in zip(self.objective.streams, others, strict=True):
                old = bool(terms.needs_before & _POLICY_MEASUREMENTS)
                batch = self._measure(collate(part), terms.loss.needs | terms.needs_before, old=old)
                weighted.append(terms.weigh(batch))
            prepared.append(weighted)
        return prepared

    def weigh(self, groups: Sequence[Group]) -> WeightedBatch:
        """Measure and weight one optimiser batch of rollouts."""
        objective = self.objective
        batch = collate(groups)
        before = objective.needs_before | objective.auxiliary_needs
        several = self.epochs * self.minibatches > 1
        old = bool(before & _POLICY_MEASUREMENTS) or (objective.recipe.anchor == "policy" and several)
        return objective.weigh(self._measure(batch, before | objective.loss.needs, old=old))

    def _measure(self, batch: Batch, needs: frozenset[str], *, old: bool) -> Batch:
        """Add the measurements of ``needs``; the policy is measured if ``old`` or if an episode is to be rescored."""
        if not batch.episodes:
            empty = torch.zeros(len(batch.ids))
            return batch.with_(**dict.fromkeys(needs & _FIELDS, empty))
        found: dict[str, Tensor] = {}
        if old or batch.rescore.any():
            out = self.forward.measure(self.model, batch, hidden="hidden" in needs)
            found |= {"logp_old": out.logp, "entropy": out.entropy}
            if out.hidden is not None:
                found["hidden"] = out.hidden
        if "logp_ref" in needs:
            found["logp_ref"] = self.forward.measure(self.reference, batch).logp
        if "logp_teacher" in needs:
            found["logp_teacher"] = self.forward.measure(self.teacher, batch).logp
        batch = batch.with_(**found)
        if "head" in needs:
            batch = dataclasses.replace(batch, head=self.forward.logits_of(self.model))
        if batch.logp_old is not None and batch.rescore.any():
            again = batch.per_token(batch.rescore) & batch.action
            batch = batch.with_(logp_mu=torch.where(again, batch.logp_old.float(), batch.logp_mu))
        for part in self.objective.auxiliaries:
            if needs & frozenset(part.target.provides):
                batch = batch.with_(**part.refresh().measure(batch, self.forward))
        return batch

    def _accumulate(self, parts: Sequence[WeightedBatch]) -> Tally | None:
        """Accumulate the gradients of a mini-batch's parts. Return None if no episode is trained."""
        if not any(part.episodes for part in parts):
            return None
        tally = Tally()
        for number, part in enumerate(parts):
            one = accumulate_gradients(self.model, part, self.forward, reference=self.reference)
            tally.merge(one, prefix=f"stream{number}/" if number else "")
        return tally

    # The reference, and what is saved --------------------------------------------------------------------------------

    @torch.no_grad()
    def move_reference(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Move the reference to the policy by the recipe's rule. Return True if it was replaced by the policy."""
        rule = self.objective.reference.refresh()
        share = rule.after_step(step, metrics)
        if share is None or self.reference is None:
            return False
        for mine, theirs in zip(self.reference.parameters(), self.model.parameters(), strict=True):
            mine.lerp_(theirs, share) if share < 1 else mine.copy_(theirs)
        if share == 1 and rule.clears_optimizer:
            self.reset_optimizer()
        return share == 1

    @property
    def owns_reference(self) -> bool:
        """True if the reference has weights of its own that must be saved."""
        return self.reference is not None and not isinstance(self.reference, BaseOnly)

    def auxiliary_states(self) -> list[Any]:
        """States of the auxiliary models."""
        return [part.target.state() for part in self.objective.auxiliaries]

    def load_auxiliary_states(self, states: Sequence[Any]) -> None:
        for part, state in zip(self.objective.auxiliaries, states, strict=True):
            part.target.load(state)


_POLICY_MEASUREMENTS = frozenset({"logp_old", "entropy", "hidden"})
"""Measurements of the policy at the beginning of the update."""
_FIELDS = frozenset(item.name for item in dataclasses.fields(Batch) if item.default is None) - {"head"}


def _split_groups(groups: Sequence[Group], count: int) -> list[list[Group]]:
    """Split the groups, in order, into ``count`` parts of nearly equal size."""
    return [[groups[i] for i in part] for part in np.array_split(np.arange(len(groups)), count)]
