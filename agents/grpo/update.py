"""Update of the policy: optimiser steps on a step's groups.

Rollouts and streams are divided into the same number of mini-batches, so that one optimiser step trains on a part of
each. The groups of each mini-batch are flattened to a `Batch`, measured and weighted (`objective.advantages`), all
before any weight changes; then the gradients of its losses are accumulated (`objective.loss`), and the optimiser steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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
from .batch.passes import Passes
from .batch.tally import Tally
from .batch.trajectory import Group, Origin
from .config import TrainConfig
from .measures.influence import gradient_products, last_layer_gradient, utility_slope
from .objective.advantages import StreamTerms
from .objective.loss import WeightedBatch, accumulate_gradients
from .objective.notices import updates_per_batch
from .objective.objective import Objective
from .optimizer_steps import OptimizerSteps
from .optimizers import pending_bytes
from .ranks.leader import Ranks


@dataclass
class UpdateStatistics:
    """Statistics of the optimiser steps on one batch of rollouts.

    Attributes:
        rate: learning rate.
        norms: norm of the gradient at each applied step.
        changes: largest change of a token at each step that guards judged afterwards, nats.
        skipped: number of steps that were skipped or undone.
        nonfinite: number of skipped steps whose gradient was not finite.
    """

    rate: float
    norms: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    skipped: int = 0
    nonfinite: int = 0

    def add(self, norm: float, accepted: bool, change: float | None) -> None:
        """Count a step.

        Args:
            norm: norm of the gradient.
            accepted: True if the step was applied.
            change: largest change of a token, nats; None if it was not measured.
        """
        if accepted:
            self.norms.append(norm)
        else:
            self.skipped += 1
            self.nonfinite += not math.isfinite(norm)
        if change is not None:
            self.changes.append(change)

    def values(self) -> dict[str, float]:
        """Return the statistics for ``metrics.jsonl``."""
        norm = float(np.mean(self.norms)) if self.norms else 0.0
        found = {"grad_norm": norm, "updates": len(self.norms), "skipped_updates": self.skipped, "lr": self.rate}
        found |= {"nonfinite_updates": self.nonfinite} if self.nonfinite else {}
        return found | ({"token_change": max(self.changes)} if self.changes else {})


class Update:
    """The policy in training, with its optimiser, its reference and the auxiliary models.

    Args:
        model: the policy; only parameters that require a gradient are trained.
        reference: the reference model, or None if no component needs one.
        teacher: a frozen model to distil from, or None.
        vocabulary: see `Passes`.
        ranks: further processes that compute shares of passes and gradients; None: this process alone.
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
        self.passes = Passes(
            config.packer,
            config.token_budget or CPU_BUDGET,
            config.temperature,
            config.fp32_head,
            config.gradient_checkpointing,
            vocabulary,
            config.compile,
            rule=objective.logit_rule,
        )
        if not config.token_budget and config.device.startswith("cuda"):
            self.passes = fit_budget(model, self.passes, config.device, held)
        self.ranks = ranks
        if objective.logit_rule is not None:
            objective.logit_rule.policies = (model, reference)
        if ranks is None:
            self.steps = OptimizerSteps(config, model, reference)
        else:
            self.passes = ranks.begin(config, [model, reference, teacher], self.passes)
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
        """Optimiser of the weights, or of this process's shards."""
        return self.steps.optimizer

    @property
    def pending_bytes(self) -> int:
        """Bytes that the optimiser will allocate at its first step; 0 after that step."""
        return pending_bytes(self.optimizer)

    def run(
        self, groups: Sequence[Group], streams: Sequence[Sequence[Group]], rate: float
    ) -> tuple[Tally, dict[str, float]]:
        """Take optimiser steps on the groups and streams; a mini-batch without any gradient is skipped.

        Args:
            groups: rollouts that passed the filters, with the recipe's rewards.
            streams: groups of each stream of the recipe.
            rate: learning rate.

        Returns:
            (the tally of the losses, statistics of the optimiser steps).
        """
        self.steps.set_rate(rate)
        tally, statistics = Tally(), UpdateStatistics(rate)
        balance = self.objective.balance.refresh()
        slope = self._measure_slope(groups, streams) if balance.reads_slope else 0.0
        minibatches = self._weigh_minibatches(groups, streams)
        self.has_signal = any(weighted.has_signal for minibatch in minibatches for weighted in minibatch)
        before = [guard for guard in self.objective.guards if "after_update" not in guard.needs]
        for _ in range(self.epochs):
            for minibatch in minibatches:
                losses = self._accumulate(minibatch)
                if losses is None:
                    continue
                tally.merge(losses)
                norm, change = float(self.steps.clip()), None
                accepted = math.isfinite(norm) and all(guard(losses.means()) for guard in before)
                if accepted:
                    accepted, change = self._step(minibatch)
                statistics.add(norm, accepted, change)
                self.steps.clear()
        self.steps.finish()
        for auxiliary in self.objective.auxiliaries:
            for rollouts, *_ in minibatches:
                tally.add_all(auxiliary.refresh().update(rollouts.batch, self.passes))
        for producer in self.objective.copies:
            producer.refresh().follow(self.model)
        moved = {} if balance.share is None else balance.after_step(_sampled_entropy(groups), slope)
        return tally, {**statistics.values(), **moved}

    def _measure_slope(self, groups: Sequence[Group], streams: Sequence[Sequence[Group]]) -> float:
        """Measure the slope of the utility by the share of imitation (`measures.influence.utility_slope`): the utility
        is that of every other group, and the rest are trained on."""
        objective, state = self.objective, self.objective.state_dict()
        objective.balance.target.share = None  # gradients before they are weighed
        parts = [(groups[::2], None), (groups[1::2], None), *zip(streams, objective.streams, strict=True)]
        found = [last_layer_gradient(self.weigh(some, terms), self.model, self.passes) for some, terms in parts]
        objective.load_state_dict(state)  # weighting may advance the memory of components
        utility, reinforcement, *imitation = found
        return utility_slope(utility, np.sum(imitation, axis=0), reinforcement)

    def update_reward_weights(self, groups: Sequence[Group]) -> dict[str, float]:
        """Let rewards that depend on the gradients of their objectives learn from a step's episodes, before the policy
        is trained on them; return their new weights, for the logs."""
        objective, metrics = self.objective, {}
        for reward in objective.gradient_rewards:
            state = objective.state_dict()  # weighting may advance the memory of components
            products = gradient_products(groups, list(reward.children), self.weigh, self.model, self.passes)
            objective.load_state_dict(state)
            reward.update(products)  # type: ignore[attr-defined]
            metrics |= {f"weight/{name}": value for name, value in reward.weights.items()}  # type: ignore[attr-defined]
        return metrics

    def _weigh_minibatches(
        self, groups: Sequence[Group], streams: Sequence[Sequence[Group]]
    ) -> list[list[WeightedBatch]]:
        """Weight each mini-batch: its rollouts, then its part of each stream."""
        count = max(1, min(self.minibatches, max([len(groups), *map(len, streams)], default=1)))
        minibatches: list[list[WeightedBatch]] = []
        for rollouts, *others in zip(*(split_groups(some, count) for some in (groups, *streams)), strict=True):
            weighted = self.weigh(rollouts, first=not minibatches, train=True)
            drawn = zip(others, self.objective.streams, strict=True)
            minibatches.append([weighted, *(self.weigh(some, stream) for some, stream in drawn)])
        return minibatches

    def weigh(
        self, groups: Sequence[Group], stream: StreamTerms | None = None, first: bool = False, train: bool = False
    ) -> WeightedBatch:
        """Flatten, measure and weight one optimiser batch.

        Args:
            stream: terms of the stream that drew the groups; None for rollouts.
            first: True if the batch is trained before any other of its step.
            train: True if the batch will be trained on; auxiliary models may then be trained on it right away.
        """
        terms = stream or self.objective.rollout_terms
        batch = collate(groups)
        before = terms.needs_before if stream else terms.needs_before | self.objective.auxiliary_needs
        several = self.epochs * self.minibatches > 1
        live = None
        old = bool(before & _POLICY_MEASUREMENTS) or (terms.anchor == "policy" and several)
        if terms.anchor == "rescored":
            # A second measurement would round differently, so ratios known to be 1 are not computed from one.
            live = bool((terms.sampled_now(batch) == batch.action).all()) and (not several or first)
            live = live and self.epochs == 1
            old = old or not live
        needs = before | terms.loss.needs
        late = "logp_ref" in needs - before and not (stream or several or self.ranks) and self._is_at_reference()
        batch = self._measure(batch, needs - {"logp_ref"} if late else needs, old=old, train=train)
        weighted = terms.weigh(batch, live_anchor=live)
        if late:
            # Only episodes with a gradient are measured; none are left if every group failed.
            episodes = list(weighted.episodes_at_reference)
            logp_ref = self.passes.measure(self.reference, weighted.batch, episodes=episodes).logp
            weighted = replace(weighted, batch=weighted.batch.with_(logp_ref=logp_ref), episodes=episodes)
        return weighted

    def _is_at_reference(self) -> bool:
        """Return True if the policy equals its reference, as it does before the first update."""
        whole = self.ranks is None or not self.ranks.splits
        return whole and self.reference is not None and same_policy(self.model, self.reference)

    def _measure(self, batch: Batch, needs: frozenset[str], *, old: bool, train: bool = False) -> Batch:
        """Add the measurements in ``needs`` to a batch.

        Args:
            old: measure the policy; it is also measured if an episode must be rescored (`Trajectory.rescore`).
            train: auxiliary models with ``when="before"`` are trained on the batch before they measure it.
        """
        if not batch.episodes:
            empty = torch.zeros(len(batch.ids))
            return batch.with_(**dict.fromkeys(needs & _FIELDS, empty))
        found: dict[str, Tensor] = {}
        if old or batch.rescore.any():
            out = self.passes.measure(self.model, batch, hidden="hidden" in needs)
            found |= {"logp_old": out.logp, "entropy": out.entropy}
            if out.hidden is not None:
                found["hidden"] = out.hidden
        if "top_tokens" in needs:
            found["top_ids"], found["top_logp"] = self.passes.likeliest(self.model, batch)
        if "prompt_divergence" in needs:
            found["prompt_divergence"] = self.passes.measure_prompt_divergence(self.model, batch)
        if "prompt_logp" in needs:
            found["prompt_logp"] = self.passes.measure_prompts(self.model, batch)
        if "logp_ref" in needs:
            found["logp_ref"] = self.passes.measure(self.reference, batch).logp
        if "logp_teacher" in needs:
            found["logp_teacher"] = self.passes.measure(self.teacher, batch).logp
        batch = batch.with_(**found)
        if "head" in needs:
            batch = replace(batch, head=self.passes.logits_of(self.model))
        if batch.logp_old is not None and batch.rescore.any():
            again = batch.per_token(batch.rescore) & batch.action
            batch = batch.with_(logp_mu=torch.where(again, batch.logp_old.float(), batch.logp_mu))
        for part in self.objective.auxiliaries:
            if needs & frozenset(part.target.provides):
                model = part.refresh()
                if train:
                    model.train_early(batch, self.passes)
                batch = batch.with_(**model.measure(batch, self.passes))
        return batch

    def _accumulate(self, minibatch: Sequence[WeightedBatch]) -> Tally | None:
        """Accumulate the gradients of a mini-batch; return the tally, or None if no episode is trained."""
        if any(w.episodes != w.episodes_at_reference for w in minibatch) and self._is_at_reference():
            minibatch = [replace(weighted, episodes=list(weighted.episodes_at_reference)) for weighted in minibatch]
        if not any(weighted.episodes for weighted in minibatch):
            return None
        tally = Tally()
        for number, weighted in enumerate(minibatch):
            if self.ranks is None:
                losses = accumulate_gradients(self.model, weighted, self.passes, reference=self.reference)
            else:
                losses = self.ranks.accumulate(weighted, number, self.passes, self.reference)
            tally.merge(losses, prefix=f"stream{number}/" if number else "")
        if self.ranks is not None:
            self.ranks.collect_gradients()
        return tally

    def _step(self, minibatch: Sequence[WeightedBatch]) -> tuple[bool, float | None]:
        """Take an optimiser step, and undo it if a guard rejects its effect.

        Returns:
            (True if the step was kept, largest change of a token in nats; None without such guards).
        """
        guards = [guard for guard in self.objective.guards if "after_update" in guard.needs]
        if not guards:
            self.steps.take()
            return True, None
        self.steps.remember()
        self.steps.take()
        moved = []
        for weighted in minibatch:
            sampled = (weighted.weight != 0) & weighted.batch.written_by(Origin.POLICY, Origin.COPY)
            logp = self.passes.measure(self.model, weighted.batch).logp
            moved.append((logp - weighted.batch.logp_mu)[sampled].abs())
        change = torch.cat(moved)
        kept = all(guard(change) for guard in guards)
        if not kept:
            self.steps.undo()
        return kept, float(change.max()) if len(change) else 0.0

    # The reference, and what is saved --------------------------------------------------------------------------------

    def move_reference(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Move the reference towards the policy by the recipe's rule. Return True if the policy replaced it."""
        rule = self.objective.reference.refresh()
        share = rule.after_step(step, metrics)
        if share is None or self.reference is None:
            return False
        self.steps.move_reference(share)
        if rule.returns_policy:
            self.steps.return_to_reference()
        if (share == 1 or rule.returns_policy) and rule.clears_optimizer:
            self.steps.reset()
        return share == 1

    def save(self, folder: Path) -> None:
        """Save the optimiser, a reference with its own weights, auxiliary models and producers with weights."""
        self.steps.save(folder)
        for name, parts in self._owners.items():
            torch.save([part.target.state() for part in parts], folder / name)

    def load(self, folder: Path) -> None:
        """Load the files of `save`."""
        self.steps.load(folder)
        for name, parts in self._owners.items():
            for part, state in zip(parts, torch.load(folder / name, weights_only=True), strict=True):
                part.target.load(state)

    @property
    def _owners(self) -> dict[str, list[Any]]:
        """File name -> components with weights that are saved in it."""
        found = {"auxiliaries.pt": self.objective.auxiliaries, "measures.pt": self.objective.copies}
        return {name: list(parts) for name, parts in found.items() if parts}


_POLICY_MEASUREMENTS = frozenset({"logp_old", "entropy", "hidden"})
"""Measurements that one pass through the policy at the beginning of the update makes."""
_FIELDS = frozenset(item.name for item in fields(Batch) if item.default is None) - {"head"}


def _sampled_entropy(groups: Sequence[Group]) -> float | None:
    """Return the mean of -log p over the tokens that the policy sampled, an estimate of its entropy in nats that costs
    no pass; None without any."""
    turns = [turn for group in groups for t in group.valid for turn in t.turns]
    logps = [logp for turn in turns for logp, o in zip(turn.logps, turn.token_origins) if o == Origin.POLICY]
    return -math.fsum(logps) / len(logps) if logps else None


def split_groups(groups: Sequence[Group], count: int) -> list[list[Group]]:
    """Divide the groups, in order, into ``count`` parts of nearly equal size; two groups of a pair stay together."""
    units: list[list[Group]] = []
    for group in groups:
        if units and group.pair >= 0 and group.pair == units[-1][-1].pair:
            units[-1].append(group)
        else:
            units.append([group])
    parts = np.array_split(np.arange(len(units)), count)
    return [[group for i in part for group in units[i]] for part in parts]
