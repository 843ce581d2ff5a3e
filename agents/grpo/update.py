"""The update: optimiser steps on a step's groups.

All measurements are made before the first change of a weight. Rollouts and streams are split over the same
mini-batches, so that one optimiser step trains on a part of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ..language.adapters import same_policy
from ..language.decoder import has_own_forward
from ..language.precision import set_product_precision
from .batch.batch import Batch, collate
from .batch.budget import CPU_BUDGET, fit_budget
from .batch.forward import Forward
from .batch.tally import Tally
from .batch.trajectory import Group, Origin
from .config import TrainConfig
from .measures.influence import gradient_products
from .objective.binding import Bound
from .objective.loss import WeightedBatch, accumulate_gradients
from .objective.notices import updates_per_batch
from .objective.objective import Objective
from .optimizers import pending_bytes
from .ranks.leader import Ranks
from .ranks.optimizer_steps import OptimizerSteps


class Update:
    """The trained model with its optimiser, its reference and the auxiliary models.

    Args:
        model: the policy; only parameters that require a gradient are trained.
        reference: the reference model, or None if no component needs one.
        teacher: a frozen model to distil from, or None.
        vocabulary: see `Forward`.
        ranks: further processes that compute shares of forwards and gradients; None for this one alone.
        held: see `batch.budget.fit_budget`.
    """

    def __init__(
        self,
        config: TrainConfig,
        objective: Objective,
        model: Any,
        reference: Any,
        teacher: Any,
        vocabulary: int | None = None,
        ranks: Ranks | None = None,
        held: Callable[[int, int], int] = lambda weights, free: 0,
    ):
        self.config, self.objective = config, objective
        self.model, self.reference, self.teacher = model, reference, teacher
        set_product_precision(config.device, config.dtype, config.tf32)
        if config.compile and not has_own_forward(model):
            raise InputError(
                f"a {type(model).__name__} runs its own code, which --compile does not reach; leave it out."
            )
        self.forward = Forward(
            config.packer,
            config.token_budget or CPU_BUDGET,
            config.temperature,
            config.fp32_head,
            config.gradient_checkpointing,
            vocabulary,
            config.compile,
        )
        if not config.token_budget and config.device.startswith("cuda"):
            self.forward = fit_budget(model, self.forward, config.device, held)
        self.ranks = ranks
        if ranks is None:
            self.steps = OptimizerSteps(config, model, reference)
        else:
            self.forward = ranks.begin(config, [model, reference, teacher], self.forward)
            self.steps = ranks.optimizer_steps(config)
        self.minibatches, self.epochs = updates_per_batch(objective.recipe, config)
        self.has_signal = False
        """True if the latest `run` had a training signal other than penalties."""
        for part in objective.auxiliaries:
            part.target.attach(model, reference)
        for part in objective.copies:
            part.target.attach(model)

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of the weights, or of this process's shards."""
        return self.steps.optimizer

    @property
    def pending_bytes(self) -> int:
        """Bytes that the optimiser will take at its first step, and keep; 0 once it has them."""
        return pending_bytes(self.optimizer)

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
        self.steps.set_rate(rate)
        tally = Tally()
        norms: list[float] = []
        changes: list[float] = []
        skipped = nonfinite = 0
        prepared = self._prepare(groups, streams)
        self.has_signal = any(_has_signal(part) for parts in prepared for part in parts)
        after = [guard for guard in self.objective.guards if "after_update" in guard.needs]
        before = [guard for guard in self.objective.guards if "after_update" not in guard.needs]
        for _ in range(self.epochs):
            for parts in prepared:
                step = self._accumulate(parts)
                if step is None:
                    continue
                tally.merge(step)
                norm = self.steps.clip()
                if (
                    torch.isfinite(norm)
                    and all(guard(step.means()) for guard in before)
                    and self._step(parts, after, changes)
                ):
                    norms.append(float(norm))
                else:
                    skipped += 1
                    nonfinite += not torch.isfinite(norm)
                self.steps.clear()
        self.steps.finish()
        for part in self.objective.auxiliaries:
            for batch in {id(w.batch): w.batch for parts in prepared for w in parts[:1]}.values():
                tally.add_all(part.refresh().update(batch, self.forward))
        for part in self.objective.copies:
            part.refresh().follow(self.model)
        norm = float(np.mean(norms)) if norms else 0.0
        figures: dict[str, float] = {"grad_norm": norm, "updates": len(norms), "skipped_updates": skipped, "lr": rate}
        figures |= {"nonfinite_updates": nonfinite} if nonfinite else {}
        return tally, figures | ({"token_change": max(changes)} if changes else {})

    def balance(self, groups: Sequence[Group]) -> dict[str, float]:
        """Let rewards that follow the gradients of their objectives learn from a step's episodes, before the policy
        does. Return their new weights, for the logs."""
        objective, metrics = self.objective, {}
        for reward in objective.gradient_rewards:
            state = objective.state_dict()  # weighting may advance the memory of components
            products = gradient_products(groups, list(reward.children), self.weigh, self.model, self.forward)
            objective.load_state_dict(state)
            reward.update(products)  # type: ignore[attr-defined]
            metrics |= {f"weight/{name}": value for name, value in reward.weights.items()}  # type: ignore[attr-defined]
        return metrics

    def _prepare(self, groups: Sequence[Group], streams: Sequence[Sequence[Group]]) -> list[list[WeightedBatch]]:
        """Weight the parts of each mini-batch: the rollouts' part first, then one of each stream."""
        count = max(1, min(self.minibatches, max([len(groups), *map(len, streams)], default=1)))
        prepared: list[list[WeightedBatch]] = []
        for rollouts, *others in zip(*(_split_groups(part, count) for part in (groups, *streams)), strict=True):
            weighted = [self.weigh(rollouts, first=not prepared, train=True)]
            for terms, part in zip(self.objective.streams, others, strict=True):
                old = bool(terms.needs_before & _POLICY_MEASUREMENTS)
                batch = self._measure(collate(part), terms.loss.needs | terms.needs_before, old=old)
                weighted.append(terms.weigh(batch))
            prepared.append(weighted)
        return prepared

    def weigh(self, groups: Sequence[Group], first: bool = False, train: bool = False) -> WeightedBatch:
        """Measure and weight one optimiser batch of rollouts.

        Args:
            first: it is trained before any other of its step.
            train: it is trained, and auxiliary models may begin with that.
        """
        objective = self.objective
        batch = collate(groups)
        before = objective.needs_before | objective.auxiliary_needs
        several = self.epochs * self.minibatches > 1
        live = None
        old = bool(before & _POLICY_MEASUREMENTS) or (objective.recipe.anchor == "policy" and several)
        if objective.recipe.anchor == "rescored":
            # Measuring again would round differently, so that ratios of 1 are taken as such where they are known.
            live = bool((objective.sampled_now(batch) == batch.action).all()) and (not several or first)
            live = live and self.epochs == 1
            old = old or not live
        needs = before | objective.loss.needs
        late = "logp_ref" in needs - before and not several and self.ranks is None and self._is_at_reference()
        weighted = objective.weigh(
            self._measure(batch, needs - {"logp_ref"} if late else needs, old=old, train=train), live_anchor=live
        )
        if not late:
            return weighted
        # Often few episodes are left: none, where every group failed.
        episodes = weighted.episodes_at_reference
        logp_ref = self.forward.measure(self.reference, weighted.batch, episodes=episodes).logp
        return dataclasses.replace(weighted, batch=weighted.batch.with_(logp_ref=logp_ref), episodes=list(episodes))

    def _is_at_reference(self) -> bool:
        """Return True if the policy equals its reference, as before the first update."""
        whole = self.ranks is None or not self.ranks.splits
        return whole and self.reference is not None and same_policy(self.model, self.reference)

    def _measure(self, batch: Batch, needs: frozenset[str], *, old: bool, train: bool = False) -> Batch:
        """Add the measurements of ``needs``; the policy is measured if ``old`` or if an episode is to be rescored, and
        auxiliary models may ``train`` on the batch first."""
        if not batch.episodes:
            empty = torch.zeros(len(batch.ids))
            return batch.with_(**dict.fromkeys(needs & _FIELDS, empty))
        found: dict[str, Tensor] = {}
        if old or batch.rescore.any():
            out = self.forward.measure(self.model, batch, hidden="hidden" in needs)
            found |= {"logp_old": out.logp, "entropy": out.entropy}
            if out.hidden is not None:
                found["hidden"] = out.hidden
        if "top_tokens" in needs:
            found["top_ids"], found["top_logp"] = self.forward.likeliest(self.model, batch)
        if "prompt_divergence" in needs:
            found["prompt_divergence"] = self.forward.measure_twins(self.model, batch)
        if "prompt_logp" in needs:
            found["prompt_logp"] = self.forward.measure_prompts(self.model, batch)
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
                model = part.refresh()
                if train:
                    model.train_early(batch, self.forward)
                batch = batch.with_(**model.measure(batch, self.forward))
        return batch

    def _step(self, parts: Sequence[WeightedBatch], guards: Sequence[Bound], changes: list[float]) -> bool:
        """Take an optimiser step. Return False, with weights and optimiser as before, if a guard refuses the result.

        With guards, the largest change of a token is appended to ``changes``.
        """
        if not guards:
            self.steps.take()
            return True
        self.steps.remember()
        self.steps.take()
        moved = []
        for part in parts:
            sampled = (part.weight != 0) & part.batch.written_by(Origin.POLICY, Origin.COPY)
            logp = self.forward.measure(self.model, part.batch).logp
            moved.append((logp - part.batch.logp_mu)[sampled].abs())
        change = torch.cat(moved)
        changes.append(float(change.max()) if len(change) else 0.0)
        if all(guard(change) for guard in guards):
            return True
        self.steps.undo()
        return False

    def _accumulate(self, parts: Sequence[WeightedBatch]) -> Tally | None:
        """Accumulate the gradients of a mini-batch's parts. Return None if no episode is trained."""
        if any(part.episodes != part.episodes_at_reference for part in parts) and self._is_at_reference():
            parts = [dataclasses.replace(part, episodes=list(part.episodes_at_reference)) for part in parts]
        if not any(part.episodes for part in parts):
            return None
        tally = Tally()
        for number, part in enumerate(parts):
            if self.ranks is None:
                one = accumulate_gradients(self.model, part, self.forward, reference=self.reference)
            else:
                one = self.ranks.accumulate(part, number, self.forward, self.reference)
            tally.merge(one, prefix=f"stream{number}/" if number else "")
        if self.ranks is not None:
            self.ranks.collect_gradients()
        return tally

    # The reference, and what is saved --------------------------------------------------------------------------------

    def move_reference(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Move the reference to the policy by the recipe's rule. Return True if it was replaced by the policy."""
        rule = self.objective.reference.refresh()
        share = rule.after_step(step, metrics)
        if share is None or self.reference is None:
            return False
        self.steps.move_reference(share)
        if share == 1 and rule.clears_optimizer:
            self.steps.reset()
        return share == 1

    def save(self, folder: Path) -> None:
        """Save the optimiser, a reference that owns weights, auxiliary models and the weights of measures."""
        self.steps.save(folder)
        for name, parts in self._owners.items():
            torch.save([part.target.state() for part in parts], folder / name)

    def load(self, folder: Path) -> None:
        """The inverse of `save`."""
        self.steps.load(folder)
        for name, parts in self._owners.items():
            for part, state in zip(parts, torch.load(folder / name, weights_only=True), strict=True):
                part.target.load(state)

    @property
    def _owners(self) -> dict[str, list[Any]]:
        """Components that own weights, by the file that these are saved to."""
        found = {"auxiliaries.pt": self.objective.auxiliaries, "measures.pt": self.objective.copies}
        return {name: list(parts) for name, parts in found.items() if parts}


def _has_signal(part: WeightedBatch) -> bool:
    """True if there is more to learn from than penalties: an advantage at a trained token, returns that differ within a
    group whose episodes the loss compares, or a model to distil from.
    """
    if "logp_teacher" in part.loss.needs:
        return bool(part.episodes)
    if ((part.weight != 0) & (part.advantage != 0)).any():
        return True
    return bool(part.episodes) and any(group.has_variance for group in part.batch.group_list)


_POLICY_MEASUREMENTS = frozenset({"logp_old", "entropy", "hidden"})
"""Measurements of the policy at the beginning of the update."""
_FIELDS = frozenset(item.name for item in dataclasses.fields(Batch) if item.default is None) - {"head"}


def _split_groups(groups: Sequence[Group], count: int) -> list[list[Group]]:
    """Split the groups, in order, into ``count`` parts of nearly equal size; pairs stay together."""
    units: list[list[Group]] = []
    for group in groups:
        if units and group.pair >= 0 and group.pair == units[-1][-1].pair:
            units[-1].append(group)
        else:
            units.append([group])
    parts = np.array_split(np.arange(len(units)), count)
    return [[group for i in part for group in units[i]] for part in parts]
