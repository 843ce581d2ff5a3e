"""The objective of a recipe: resolves and checks its components, shapes and filters groups, and weights batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from .... import rewards
from ....errors import InputError, unknown_name
from ....rewards.reward import StepReward
from ..batch.batch import Batch
from ..batch.trajectory import Group, Trajectory
from ..recipes import Recipe
from ..recipes.stages import STAGES
from .binding import Bound, Clock, bind_number, bind_stages
from .loss import LossTerms, WeightedBatch
from .parts import CreditTerm, Selection, StreamTerms, trained_episodes

_MEASURED = frozenset({"logp_old", "entropy", "logp_ref", "hidden", "head"})
"""Measurements that every run can make for its components."""
_LOSS_ONLY = frozenset({"batch", "every_row", "entropy_grad", "kl_ref", "anchor"})
"""Needs that concern the loss alone; nothing has to be measured for them before."""
_REWARDS_GET = frozenset({"logps"})
"""Needs of rewards that trajectories supply: log-probabilities of the actions as sampled."""
_ANCHORS = ("sampler", "policy")


class Objective:
    """The stages of one recipe, resolved from their registries.

    Args:
        recipe: the recipe.
        teacher_model: True if the run has a model to distil from.
        extras: names of what the environment supplies to rewards.

    Raises:
        InputError: the recipe names an unknown component or parameter, needs what nothing supplies, or contradicts
            itself.
    """

    def __init__(self, recipe: Recipe, *, teacher_model: bool = False, extras: Collection[str] = ()):
        self.recipe = recipe
        self.clock = clock = Clock()
        self.rewards = [rewards.build(part.data()) for part in recipe.shaping]
        self.own = bind_stages("objective", recipe, clock)
        (self.rollout,), (self.replay,), (self.reference,) = (self.own[x] for x in ("rollout", "replay", "reference"))
        self.filters, self.adjustments = self.own["filters"], self.own["adjustments"]
        self.auxiliaries, self.guards = self.own["auxiliaries"], self.own["guards"]
        self.credit = [CreditTerm(term, clock) for term in recipe.credit]
        self.selection = Selection(recipe, clock)
        self.loss = LossTerms(recipe, clock)
        self.streams = [StreamTerms(stream, clock) for stream in recipe.streams]
        self.share = bind_number(recipe.rollout_share)
        self._check(teacher_model, _REWARDS_GET | set(extras))

    @property
    def parts(self) -> dict[str, Bound]:
        """Every component under a name that is the same in every process."""
        listed = {
            **self.own,
            "credit": [part for term in self.credit for part in term.parts],
            "selection": self.selection.parts,
            "loss": self.loss.parts,
            "streams": [part for stream in self.streams for part in stream.parts],
        }
        return {f"{stage}/{i}": part for stage, parts in listed.items() for i, part in enumerate(parts)}

    @property
    def needs(self) -> frozenset[str]:
        """Needs of all components together."""
        return frozenset().union(*(part.needs for part in self.parts.values()))

    @property
    def needs_before(self) -> frozenset[str]:
        """Measurements that weighting a batch needs."""
        credit = [part for name, part in self.parts.items() if name.startswith(("credit", "adjustments"))]
        return frozenset().union(*(part.needs for part in [*credit, *self.selection.parts]))

    @property
    def auxiliary_needs(self) -> frozenset[str]:
        """Measurements of the policy that auxiliary models read."""
        return frozenset().union(*(part.needs for part in self.auxiliaries))

    def _check(self, teacher_model: bool, rewards_get: frozenset[str]) -> None:
        recipe = self.recipe
        supplied = _MEASURED | _LOSS_ONLY | ({"logp_teacher"} if teacher_model else frozenset())
        for part in (self.rollout, *self.auxiliaries):
            supplied |= frozenset(getattr(part.target, "provides", ()))
        for part in self.parts.values():
            if missing := sorted(part.needs - supplied):
                raise InputError(
                    f"{part.component.name!r} of recipe {recipe.name!r} needs {' and '.join(map(repr, missing))}, "
                    f"which nothing supplies: {_suggest_supplier(missing[0])}."
                )
        for reward in self.rewards:
            if missing := reward.needs - rewards_get:
                raise InputError(
                    f"reward {reward.name!r} needs {sorted(missing)}, which neither this learner nor the environment "
                    "supplies."
                )
        if recipe.anchor not in _ANCHORS:
            raise unknown_name("anchor", recipe.anchor, _ANCHORS)
        losses = [self.loss, *(stream.loss for stream in self.streams)]
        if any(part.component.name == "kl_k1" for loss in losses for part in loss.parts):
            raise InputError(
                f"recipe {recipe.name!r} has kl_k1 in its loss, where its gradient has mean zero; take kl_k2 or kl_k3, "
                "or put k1 into the return."
            )
        if "anchor" in self.loss.corrector.needs and recipe.anchor != "policy":
            raise InputError(
                f"the corrector {recipe.corrector.name!r} corrects the gap between the sampler and the policy at the "
                "beginning of the update, which the anchor 'sampler' leaves in the ratio; set the anchor to 'policy'."
            )
        if recipe.rollout_share == 0 and not recipe.streams:
            raise InputError(f"recipe {recipe.name!r} gives its rollouts no weight and has no stream to learn from.")
        if any("anchor" in part.needs for stream in self.streams for part in stream.parts):
            raise InputError(f"recipe {recipe.name!r} has a stream that needs the anchor 'policy'; streams have none.")

    # Groups ----------------------------------------------------------------------------------------------------------

    def shape(self, groups: Sequence[Group]) -> list[Group]:
        """Add the recipe's reward terms. An invalid verdict makes its trajectory invalid; it is not a reward of 0."""
        shaped = list(groups)
        for reward in self.rewards:
            judged = reward.batch([[trajectory.episode for trajectory in group.trajectories] for group in shaped])
            for index, (group, verdicts) in enumerate(zip(shaped, judged, strict=True)):
                pairs = zip(group.trajectories, verdicts, strict=True)
                members = tuple(
                    _add_reward(t, reward, verdict.terms or {reward.name: verdict.score}) for t, verdict in pairs
                )
                shaped[index] = replace(group, trajectories=members).invalidate([not v.valid for v in verdicts])
        return shaped

    def advance(self, step: int, steps: int) -> None:
        """Set the clock of schedules and advance rewards to ``step``, which counts from 1."""
        self.clock.step, self.clock.steps = step - 1, steps
        for reward in self.rewards:
            reward.advance(step, steps)

    def keep(self, groups: Sequence[Group]) -> list[Group]:
        """Apply the recipe's filters to the groups that have a valid trajectory."""
        kept = [group for group in groups if group.valid]
        for filter_groups in self.filters:
            kept = filter_groups(kept)
        return kept

    # Batches ---------------------------------------------------------------------------------------------------------

    def weigh(self, batch: Batch, *, live_anchor: bool | None = None) -> WeightedBatch:
        """Compute the advantage and weight of every token of an optimiser batch.

        Args:
            batch: the batch, with the measurements of `needs_before`.
            live_anchor: True if the batch is trained before any other update, so that the policy at the beginning of
                the update need not be measured; by default, if ``logp_old`` was not measured.
        """
        advantage = torch.zeros(len(batch.ids))
        for term in self.credit:
            advantage = advantage + term.advantage(batch)
        for adjust in self.adjustments:
            advantage = adjust(advantage, batch)
        weight = self.share(self.clock) * self.selection.weight(batch, advantage)
        if live_anchor is None:
            live_anchor = batch.logp_old is None
        anchored = replace(batch, logp_old=batch.logp_mu) if self.recipe.anchor == "sampler" else batch
        live_anchor = live_anchor and self.recipe.anchor == "policy"
        return WeightedBatch(
            anchored, advantage, weight, trained_episodes(advantage, weight, self.loss, batch), self.loss, live_anchor
        )

    # State -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Memory of rewards and components, JSON-able. Auxiliary models have weights and are saved separately."""
        parts = {name: part.state_dict() for name, part in self.parts.items() if not name.startswith("auxiliaries")}
        return {
            "rewards": [reward.state_dict() for reward in self.rewards],
            "parts": {name: state for name, state in parts.items() if state},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for reward, saved in zip(self.rewards, state["rewards"], strict=True):
            reward.load_state_dict(saved)
        parts = self.parts
        for name, saved in state["parts"].items():
            parts[name].load_state_dict(saved)


def _add_reward(trajectory: Trajectory, reward: rewards.Reward, terms: Mapping[str, float]) -> Trajectory:
    """Add a reward's terms to a trajectory, and to each of its turns if the reward has values for them."""
    # Two rewards may have a term of the same name.
    total = {name: trajectory.shaping.get(name, 0.0) + value for name, value in terms.items()}
    turns = trajectory.turns
    if isinstance(reward, StepReward) and (values := reward.values(trajectory.episode)) is not None:
        pairs = zip(turns, values, strict=True)
        turns = tuple(replace(turn, shaping=turn.shaping + float(value)) for turn, value in pairs)
    return replace(
        trajectory,
        turns=turns,
        shaping={**trajectory.shaping, **total},
        replaced=trajectory.replaced or reward.complete,
    )


def _suggest_supplier(need: str) -> str:
    """Suggest an option that would supply a need, for the error message."""
    if need == "logp_teacher":
        return "name a model to distil from with --teacher-model"
    for stage in ("auxiliaries", "rollout"):
        registry = STAGES[stage]
        able = [name for name, target in registry.items() if need in getattr(target, "provides", ())]
        if able:
            return f"take --{stage} {' or '.join(able)}"
    return "this learner does not measure it"
