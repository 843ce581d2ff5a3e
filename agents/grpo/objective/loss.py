"""Loss over scored tokens, and the accumulation of its gradient: `WeightedBatch` -> `Scored` -> loss.

A loss that relates no episodes to each other is computed one micro-batch at a time. A loss that relates episodes, or
takes statistics over the batch, is evaluated once on the log-probabilities of the whole batch; its derivatives with
respect to these are the coefficients of a backward pass through the model. Neither gradient depends on the division
into micro-batches.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..batch.batch import Batch
from ..batch.packing import MicroBatch
from ..batch.passes import Outputs, Passes
from ..batch.scored import Scored
from ..batch.tally import Tally
from ..batch.token_indices import send
from ..batch.trajectory import Origin
from ..components.loss_arrays import arrays_of
from ..recipes import Recipe, Stream, is_kl
from .binding import Clock, bind_stages


class LossTerms:
    """Corrector, surrogate and regularisers of a recipe or stream."""

    def __init__(self, row: Recipe | Stream, clock: Clock):
        stages = bind_stages("loss", row, clock)
        (self.corrector,), (self.surrogate,) = stages["corrector"], stages["surrogate"]
        self.regularisers = stages["regularisers"]
        self.parts = [self.corrector, self.surrogate, *self.regularisers]
        self.needs: frozenset[str] = frozenset().union(*(part.needs for part in self.parts))

    @property
    def coupled(self) -> bool:
        """True if a component must receive the whole optimiser batch at once."""
        return "batch" in self.needs

    def trains_every_row(self, at_reference: bool = False) -> bool:
        """Return True if a token with advantage 0 can have a gradient.

        Args:
            at_reference: True if the policy equals its reference, so that penalties on the distance between them have
                no slope.
        """
        return any(
            "every_row" in part.needs
            and not (at_reference and "zero_at_reference" in part.needs)
            and part.value_of("coefficient") != 0
            for part in self.parts
        )

    def __call__(self, scored: Scored, tally: Tally) -> Tensor:
        """Return sum of weight x (penalties - corrector x surrogate); add the components' statistics to ``tally``."""
        term = self.surrogate(scored)
        value = -self.corrector(scored) * term.value
        tally.add_all(term.stats)
        kl_factor = 1.0 if scored.kl_scale is None else scored.per_token(scored.kl_scale.nan_to_num(1.0))
        for regulariser in self.regularisers:
            penalty = regulariser(scored)
            value = value + (kl_factor * penalty.value if is_kl(regulariser.component) else penalty.value)
            tally.add_all(penalty.stats)
        # Tokens with weight 0 may have values that are not finite, and 0 x infinity would be NaN.
        return (scored.weight * torch.where(scored.trained, value, 0.0)).sum()


@dataclass(frozen=True, eq=False)
class WeightedBatch:
    """Batch ready for training, with advantages and weights.

    Attributes:
        advantage: [N].
        weight: weight of each token in the loss, including the coefficient of the rollouts or stream, [N]; 0 for tokens
            that are not trained.
        episodes: episodes that need a forward pass.
        loss: the loss over these tokens.
        live_anchor: True if importance ratios are relative to the policy being trained (detached), so that no anchor is
            measured.
        episodes_at_reference: episodes that need a forward pass while the policy equals its reference.
    """

    batch: Batch
    advantage: Tensor
    weight: Tensor
    episodes: list[int]
    loss: LossTerms
    live_anchor: bool = False
    episodes_at_reference: Sequence[int] = ()

    @property
    def has_signal(self) -> bool:
        """True if something besides penalties can be learned: a trained token has an advantage, returns differ within a
        group whose episodes the loss compares, the loss reads the returns of single episodes, or it has a model to
        distil from."""
        single = arrays_of(self.loss.surrogate.target) & {"outcome_e", "group"} == {"outcome_e"}
        if single or "logp_teacher" in self.loss.needs:
            return bool(self.episodes)
        if ((self.weight != 0) & (self.advantage != 0)).any():
            return True
        return bool(self.episodes) and any(group.has_variance for group in self.batch.group_list)


def make_scored(weighted: WeightedBatch, place: Tensor, episode: Tensor, episodes: Tensor, outputs: Outputs) -> Scored:
    """Gather what the loss reads about the A tokens with indices ``place`` of a batch.

    Args:
        episode: episode of each token, 0..R-1, [A].
        episodes: index of each of the R episodes in the batch, [R].
        outputs: outputs of the model at these tokens.
    """
    batch, logp = weighted.batch, outputs.logp

    def at(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[place].to(logp)

    logp_mu = batch.logp_mu[place].to(logp)
    logp_old = logp.detach() if weighted.live_anchor else at(batch.measurement("logp_old"))
    assert logp_old is not None
    device = logp.device
    return Scored(
        logp=logp,
        logp_old=logp_old,
        advantage=weighted.advantage[place].to(logp),
        episode=episode.to(device),
        episodes=len(episodes),
        logp_mu=logp_mu,
        entropy=outputs.entropy,
        weight=weighted.weight[place].to(logp),
        origin=batch.origin[place].to(device),
        turn=batch.turn_of[place].to(device),
        group=batch.group_of[episodes].to(device),
        outcome=batch.outcome[episodes].to(device),
        logp_ref=at(batch.logp_ref),
        logp_teacher=at(batch.logp_teacher),
        kl_ref=outputs.kl_ref,
        kl_scale=None if batch.kl_scale is None else batch.kl_scale[episodes].to(logp),
        logp_top=outputs.logp_top,
        logp_top_old=at(batch.other_measurements.get("top_logp")),
    )


def accumulate_gradients(
    model: Any,
    weighted: WeightedBatch,
    passes: Passes,
    *,
    reference: Any = None,
    episodes: Sequence[int] | None = None,
) -> Tally:
    """Add the gradient of the loss to the ``grad`` of ``model``'s parameters.

    Args:
        reference: the reference model; required if the loss needs "kl_ref".
        episodes: a process's share of ``weighted.episodes``; all by default. The gradients of all shares add up to the
            gradient of the batch.

    Returns:
        Statistics as (sum, count): those of `add_loss_statistics` and of the components.
    """
    loss = weighted.loss
    share = set(weighted.episodes if episodes is None else episodes)
    wanted = [episode for episode in weighted.episodes if episode in share]
    reference = reference if "kl_ref" in loss.needs else None
    if loss.coupled and wanted:
        return _accumulate_coupled(model, weighted, passes, reference, wanted)
    device = passes.device(model)
    batch, weighted = weighted.batch, _send(weighted, device)
    top_ids = weighted.batch.other_measurements.get("top_ids") if "top_tokens" in loss.needs else None

    def compute(micro: MicroBatch) -> tuple[Tensor | None, Tally]:
        micro = micro.to(device)
        outputs = passes.score(
            model, micro, entropy_grad="entropy_grad" in loss.needs, reference=reference, top_ids=top_ids
        )
        if not len(micro.scored):  # empty: other processes wait for a pass of this one
            return outputs.logp.sum(), Tally()
        scored = make_scored(weighted, micro.scored, micro.episode, micro.episodes, outputs)
        tally = Tally()
        value = loss(scored, tally)
        add_loss_statistics(tally, scored, value)
        if value.requires_grad:
            return value, tally
        return ((outputs.logp * 0.0).sum() if passes.in_step else None), tally

    memories = [(part, copy.deepcopy(state)) for part in loss.parts if (state := part.state_dict())]

    def reset() -> None:
        for part, state in memories:
            part.load_state_dict(copy.deepcopy(state))

    total = Tally()
    for tally in passes.run(batch, wanted, compute, weights=model.parameters(), reset=reset if memories else None):
        total.append(tally)
    return total


def _send(weighted: WeightedBatch, device: torch.device) -> WeightedBatch:
    """Copy the tensors that `make_scored` reads to a device, once for all micro-batches."""
    if device.type == "cpu":
        return weighted
    batch = weighted.batch
    names = ("logp_mu", "logp_old", "origin", "turn_of", "group_of", "outcome", "logp_ref", "logp_teacher")
    moved = {name: send(value, device) for name in names if (value := getattr(batch, name)) is not None}
    likeliest = {
        name: send(batch.other_measurements[name], device)
        for name in ("top_ids", "top_logp")
        if name in batch.other_measurements
    }
    sent = replace(batch, **moved, other_measurements=likeliest)
    # Set the cached property, which would otherwise be computed again from the episodes, on the CPU.
    sent.__dict__["kl_scale"] = None if batch.kl_scale is None else send(batch.kl_scale, device)
    advantage, weight = send(weighted.advantage, device), send(weighted.weight, device)
    return replace(weighted, batch=sent, advantage=advantage, weight=weight)


def _accumulate_coupled(
    model: Any, weighted: WeightedBatch, passes: Passes, reference: Any, wanted: list[int]
) -> Tally:
    batch, needs = weighted.batch, weighted.loss.needs
    top_ids = batch.other_measurements.get("top_ids") if "top_tokens" in needs else None
    measured = passes.measure(model, batch, reference=reference, top_ids=top_ids)
    place = batch.action.nonzero()[:, 0]
    # Leaves of the graph: the loss is differentiated with respect to them, not to the weights.
    outputs = Outputs(
        measured.logp[place].requires_grad_(),
        measured.entropy[place].requires_grad_("entropy_grad" in needs),
        None if measured.kl_ref is None else measured.kl_ref[place].requires_grad_(),
        logp_top=None if measured.logp_top is None else measured.logp_top[place].requires_grad_(),
    )
    tally = Tally()
    everyone = torch.arange(batch.episodes)
    scored = make_scored(weighted, place, batch.episode_of[place], everyone, outputs)
    value = weighted.loss(scored, tally)
    names = ("logp", "entropy", "kl_ref", "logp_top")
    inputs = {name: x for name in names if (x := getattr(outputs, name)) is not None and x.requires_grad}
    slopes = torch.autograd.grad(value, list(inputs.values()), allow_unused=True) if value.requires_grad else ()
    coefficients: dict[str, Tensor] = {}
    for name, slope in zip(inputs, slopes, strict=False):
        if slope is not None:
            coefficients[name] = slope.new_zeros(len(batch.ids), *slope.shape[1:]).index_copy_(0, place, slope)
    coefficients.setdefault("logp", measured.logp.new_zeros(len(batch.ids)))
    passes.backward(model, batch, **coefficients, reference=reference, top_ids=top_ids, episodes=wanted)
    add_loss_statistics(tally, scored, value)
    return tally


def add_loss_statistics(tally: Tally, scored: Scored, value: Tensor) -> None:
    """Add the statistics of every loss, over trained tokens, and those on the sampler, over sampled tokens."""
    trained = scored.trained
    sampled = trained & ((scored.origin == Origin.POLICY) | (scored.origin == Origin.COPY))
    logp, count, compared = scored.logp.detach(), trained.sum(), sampled.sum()
    gap = torch.where(sampled, logp - scored.logp_mu, 0.0)
    tally.add("loss", value, 0)
    tally.add("entropy", (scored.entropy.detach() * trained).sum(), count)
    tally.add("sampler_gap", gap.abs().sum(), compared)
    # Without the bound a single overflowing ratio would make the mean infinite.
    tally.add("approx_kl", (gap.clamp(max=30).exp() - 1 - gap).sum(), compared)
    # The effective sample size is computed from the sums of the episodes' importance weights and of their squares.
    weights = scored.sum_by_episode(gap).clamp(-30, 30).exp()
    tally.add_weights(weights.sum(), weights.square().sum(), len(weights))
