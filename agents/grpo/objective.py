"""A recipe made runnable: from groups to advantages and weights, and from a batch to gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ... import rewards
from ...errors import InputError
from ...registry import Registry
from ..language.decoder import hidden_states
from .batch import Batch
from .correctors import CORRECTORS
from .credit import BASELINES, RETURNS, SCALES
from .filters import FILTERS
from .logprobs import token_logps
from .masks import MASKS
from .metrics import Tally
from .packing import PACKERS, MicroBatch
from .recipes import Component, Recipe
from .reductions import REDUCTIONS
from .regularisers import REGULARISERS
from .rollout import with_shaping
from .scored import Scored, needs_of
from .surrogates import SURROGATES
from .types import Group


@dataclass(frozen=True, eq=False)
class Weighted:
    """A batch ready for training.

    Attributes:
        advantage: [N].
        weight: [N], zero where a token is not trained.
        rows: rows that need a forward pass.
    """

    batch: Batch
    advantage: Tensor
    weight: Tensor
    rows: list[int]


_SUPPLIED = frozenset({"logps"})
"""What rewards may need and trajectories have: log-probabilities of the actions as sampled."""


def _bind(registry: Registry[Any], component: Component) -> Callable[..., Any]:
    """The registered function with the recipe's parameters filled in; wrong parameter names raise InputError."""
    function = registry[component.name]
    registry.check_options(component.name, component.params)
    bound = partial(function, **component.params)
    bound.needs = needs_of(function)  # type: ignore[attr-defined]
    return bound


class Objective:
    """The stages of one recipe, resolved from their registries.

    Raises:
        InputError: the recipe names an unknown component or parameter.
    """

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.rewards = [rewards.build(part.data()) for part in recipe.shaping]
        self._filters = [_bind(FILTERS, part) for part in recipe.filters]
        self._credit = [
            (term.coefficient, _bind(RETURNS, term.returns), _bind(BASELINES, term.baseline), _bind(SCALES, term.scale))
            for term in recipe.credit
        ]
        self._masks = [_bind(MASKS, part) for part in recipe.masks]
        self._corrector = _bind(CORRECTORS, recipe.corrector)
        self._surrogate = _bind(SURROGATES, recipe.surrogate)
        self._regularisers = [_bind(REGULARISERS, part) for part in recipe.regularisers]
        self._reduction = _bind(REDUCTIONS, recipe.reduction)
        parts = [self._surrogate, self._corrector, *self._regularisers]
        self.needs: frozenset[str] = frozenset().union(*(needs_of(part) for part in parts))
        for reward in self.rewards:
            if missing := reward.needs - _SUPPLIED:
                raise InputError(f"reward {reward.name!r} needs {sorted(missing)}, which this learner does not supply.")

    def shape(self, groups: Sequence[Group]) -> list[Group]:
        """Add the recipe's reward terms; an invalid verdict makes its trajectory invalid rather than worth nothing."""
        shaped = list(groups)
        for reward in self.rewards:
            judged = reward.batch([[trajectory.episode for trajectory in group.trajectories] for group in shaped])
            for index, (group, verdicts) in enumerate(zip(shaped, judged, strict=True)):
                terms = [verdict.terms or {reward.name: verdict.score} for verdict in verdicts]
                group = with_shaping(group, terms, reward.complete)
                shaped[index] = group.invalidate([not verdict.valid for verdict in verdicts])
        return shaped

    def advance(self, step: int, steps: int) -> None:
        """Tell the rewards how far training is."""
        for reward in self.rewards:
            reward.advance(step, steps)

    def keep(self, groups: Sequence[Group]) -> list[Group]:
        """The groups that pass the recipe's filters."""
        kept = [group for group in groups if group.valid]
        for filter_groups in self._filters:
            kept = filter_groups(kept)
        return kept

    def weigh(self, batch: Batch) -> Weighted:
        """Advantages and the weight of every token, over the whole optimiser batch."""
        row_advantage = torch.zeros(batch.rows)
        for coefficient, returns, baseline, scale in self._credit:
            value = returns(batch)
            row_advantage = row_advantage + coefficient * scale(value - baseline(value, batch), batch)
        keep = batch.action
        for mask in self._masks:
            keep = keep & mask(batch)
        advantage = batch.per_token(row_advantage)
        weight = self._reduction(batch, keep)
        # Tokens of advantage zero have no gradient, so their rows skip the forward pass; they stay in every
        # denominator.
        trained = weight != 0
        if not self._regularisers:
            trained = trained & (advantage != 0)
        return Weighted(batch, advantage, weight, batch.row_of[trained].unique().tolist())

    def loss(self, scored: Scored, weight: Tensor, tally: Tally) -> Tensor:
        """sum of weight x (penalties - factor x surrogate) over the tokens of a micro-batch; weight [A]."""
        term = self._surrogate(scored)
        value = -self._corrector(scored) * term.value
        tally.add_all(term.stats)
        for regulariser in self._regularisers:
            penalty = regulariser(scored)
            value = value + penalty.value
            tally.add_all(penalty.stats)
        return (weight.to(value.dtype) * value).sum()


def score(model: Any, micro: MicroBatch, temperature: float) -> tuple[Tensor, Tensor]:
    """Log-probability and entropy of the micro-batch's action tokens, [A] each."""
    weight = model.lm_head.weight
    micro = micro.to(weight.device)
    hidden = hidden_states(model, micro.ids, micro.positions, micro.attend)
    return token_logps(hidden.index_select(0, micro.source), weight, micro.targets, temperature)


def accumulate_gradients(
    model: Any,
    objective: Objective,
    weighted: Weighted,
    *,
    packer: str = "shared_prefix",
    budget: int = 4096,
    temperature: float = 1.0,
    reference: Any = None,
) -> Tally:
    """Add the gradient of the recipe's loss to ``model``'s parameters.

    Args:
        packer: name in `PACKERS`; every packer gives the same gradient.
        budget: most tokens of a micro-batch (a single longer row still goes through).
        temperature: the temperature that the actions were sampled at.
        reference: the reference model, where the objective needs "logp_ref".

    Returns:
        Statistics as (sum, count): loss, entropy, and whatever the components report.
    """
    tally = Tally()
    batch = weighted.batch
    for micro in PACKERS[packer](batch, weighted.rows, budget):
        logp, entropy = score(model, micro, temperature)
        logp_ref = None
        if "logp_ref" in objective.needs:
            with torch.no_grad():
                logp_ref = score(reference, micro, temperature)[0]
        place = micro.scored
        scored = Scored(
            logp=logp,
            logp_old=batch.logp_mu[place].to(logp),
            advantage=weighted.advantage[place].to(logp),
            entropy=entropy,
            row=micro.row.to(logp.device),
            rows=len(micro.rows),
            logp_ref=logp_ref,
        )
        loss = objective.loss(scored, weighted.weight[place].to(logp), tally)
        loss.backward()
        drift = (scored.logp_old - logp.detach()).abs()
        tally.add("loss", loss.item(), 0)
        tally.add("entropy", entropy.sum().item(), entropy.numel())
        tally.add("sampler_gap", drift.sum().item(), drift.numel())
    return tally
