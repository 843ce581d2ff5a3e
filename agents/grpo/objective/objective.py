"""Objective of a recipe: resolves and checks its components, adds rewards to groups and filters groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .... import rewards
from ....errors import InputError, unknown_name
from ... import agent_judge  # noqa: F401  (registers the judge "agent")
from ...language import language_encoder  # noqa: F401  (makes rewards read reward models of language models)
from ..batch.judging import TokensUntil, judge_groups
from ..batch.trajectory import Group
from ..recipes import Component, Recipe
from ..recipes.stages import STAGES
from .advantages import RolloutTerms, StreamTerms
from .binding import Bound, Clock, bind, bind_stages

_MEASURED = frozenset(
    {"logp_old", "entropy", "logp_ref", "hidden", "head", "top_tokens", "prompt_logp", "prompt_divergence"}
)
"""Needs that every run can satisfy by measuring."""
_LOSS_ONLY = frozenset({"batch", "every_row", "entropy_grad", "kl_ref", "anchor", "after_update", "zero_at_reference"})
"""Needs that concern only the loss and the update; nothing is measured for them beforehand."""
_PLAYED = frozenset({"seconds"})
"""Needs that the player of episodes satisfies where a component has them."""
_RECORDED = frozenset({"logps"})
"""Needs of rewards that every trajectory satisfies: behaviour log-probabilities of the actions."""
TOKEN_MEASURES = frozenset({"token_contrast", "span_weights"})
"""Needs of adjustments that producers satisfy before the rewards: a number for each action token."""
_ANCHORS = ("sampler", "policy", "rescored")


class Objective:
    """The components of one recipe, resolved from the registries of the stages.

    Args:
        teacher_model: True if the run has a model to distil from.
        extras: names of the extras (`info["extras"]`) that the environment supplies to rewards.
        teacher_needs: names of the measures that the curriculum's teacher requires.
        teacher_uses: names of the measures that the teacher reads if the environment or a producer supplies them.

    Raises:
        InputError: the recipe names an unknown component or parameter, needs an input that nothing supplies, or
            contradicts itself.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        teacher_model: bool = False,
        extras: Collection[str] = (),
        teacher_needs: Collection[str] = (),
        teacher_uses: Collection[str] = (),
    ):
        self.recipe = recipe
        self.clock = clock = Clock()
        self.rewards = [rewards.build(part.data()) for part in recipe.shaping]
        _check_learning(self.rewards)
        self.stages = bind_stages("objective", recipe, clock)
        (self.rollout,) = self.stages["rollout"]
        (self.logits,), (self.thinking,) = self.stages["logits"], self.stages["thinking"]
        (self.replay,) = self.stages["replay"]
        (self.reference,), (self.balance,) = self.stages["reference"], self.stages["balance"]
        self.filters, self.auxiliaries = self.stages["filters"], self.stages["auxiliaries"]
        self.guards = self.stages["guards"]
        self.rollout_terms = RolloutTerms(recipe, self.stages["adjustments"], clock, self.balance)
        self.streams = [StreamTerms(stream, clock, self.balance) for stream in recipe.streams]
        supplied = frozenset(extras)
        used = {name for name in teacher_uses if self._is_producible(name, supplied)}
        self.teacher_producers = self.find_producers("the teacher", {*teacher_needs, *used} - supplied, supplied)
        self.producers = list(self.stages["measures"])
        played = _RECORDED.union(extras, getattr(self.rollout.target, "provides", ()))
        options = _collect_options(self.rewards)
        for reward in self.rewards:
            known = played.union(*(part.target.provides for part in self.producers))
            self.producers += self.find_producers(f"reward {reward.name!r}", reward.needs - known, known, options)
        for part in self.stages["adjustments"]:
            known = played.union(*(producer.target.provides for producer in self.producers))
            self.producers += self.find_producers(repr(part.component.name), part.needs & TOKEN_MEASURES - known, known)
        self._check(teacher_model, supplied)

    @property
    def asked_measures(self) -> frozenset[str]:
        """Names of the measures whose producers the recipe itself names; these are logged."""
        return frozenset().union(*(part.target.provides for part in self.stages["measures"]))

    @property
    def engine_needs(self) -> dict[str, frozenset[str]]:
        """Abilities that components require of the engine, by component, for `agents.engines.engine.check_engine`."""
        parts = {f"the rollout strategy {self.rollout.component.name!r}": self.rollout.target}
        parts[f"the logit rule {self.logits.component.name!r}"] = self.logits.target
        parts[f"the way of thinking {self.thinking.component.name!r}"] = self.thinking.target
        parts |= {f"the measure {p.component.name!r}": p.target for p in (*self.producers, *self.teacher_producers)}
        return {what: frozenset(getattr(target, "abilities", ())) for what, target in parts.items()}

    def find_producers(
        self,
        who: str,
        names: Collection[str],
        known: frozenset[str] = frozenset(),
        options: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> list[Bound]:
        """Find producers of the named measures; producers of their inputs precede them.

        Args:
            who: component that needs the measures, for the error message.
            known: measures that are supplied already.
            options: name of a measure -> options for its producer.

        Raises:
            InputError: no producer provides one of the measures.
        """
        found: list[Bound] = []
        for name in sorted(names):
            if name in known.union(*(part.target.provides for part in found)):
                continue
            able = [key for key, producer in STAGES["measures"].items() if name in getattr(producer, "provides", ())]
            able.sort(key=lambda key: key != name)  # others make the measure only where they are named
            if not able:
                raise InputError(
                    f"{who} needs {name!r} of every episode, which neither this environment nor the learner supplies; "
                    "palaestra list measures shows what supplies it."
                )
            provides = STAGES["measures"][able[0]].provides  # type: ignore[attr-defined]
            own = {key: value for measure in sorted(provides) for key, value in options.get(measure, {}).items()}
            part = bind(STAGES["measures"], Component(able[0], MappingProxyType(own)), self.clock)
            found += [*self.find_producers(f"{able[0]!r}", part.needs - _MEASURED, known, options), part]
        return found

    def _is_producible(self, name: str, known: frozenset[str]) -> bool:
        """Return True if a measure is in ``known``, or a producer can make it from known or producible measures."""
        return name in known or any(
            name in getattr(producer, "provides", ())
            and all(self._is_producible(need, known) for need in producer.needs - _MEASURED)
            for _, producer in STAGES["measures"].items()
        )

    @property
    def parts(self) -> dict[str, Bound]:
        """Every component, by a name that is the same in every process."""
        listed = {
            **self.stages,
            "measures": [*self.producers, *self.teacher_producers],
            "credit": [part for term in self.rollout_terms.credit for part in term.parts],
            "selection": self.rollout_terms.selection.parts,
            "loss": self.rollout_terms.loss.parts,
            "streams": [part for stream in self.streams for part in stream.parts],
        }
        return {f"{stage}/{i}": part for stage, parts in listed.items() for i, part in enumerate(parts)}

    @property
    def needs(self) -> frozenset[str]:
        """Union of the needs of all components."""
        return frozenset().union(*(part.needs for part in self.parts.values()))

    @property
    def gradient_rewards(self) -> list[rewards.Reward]:
        """Rewards that weight their objectives by inner products of the objectives' gradients."""
        return [reward for reward in self.rewards if "gradient_influence" in reward.update_measures]

    @property
    def copies(self) -> list[Bound]:
        """Producers and logit rules that own weights which are updated after the policy."""
        parts = (*self.producers, *self.teacher_producers, self.logits)
        return [part for part in parts if hasattr(part.target, "follow")]

    @property
    def logit_rule(self) -> Any:
        """The rule that joins the policy's logits with those of further models; None if the recipe has none."""
        return None if self.recipe.logits.name == "none" else self.logits.refresh()

    @property
    def auxiliary_needs(self) -> frozenset[str]:
        """Measurements that auxiliary models read in training, including those that they provide."""
        return frozenset().union(*(part.needs | frozenset(part.target.provides) for part in self.auxiliaries))

    def _check(self, teacher_model: bool, extras: frozenset[str]) -> None:
        recipe = self.recipe
        supplied = extras | _MEASURED | _LOSS_ONLY | _PLAYED
        supplied |= {"logp_teacher", "teacher_model"} if teacher_model else set()
        for part in (self.rollout, *self.auxiliaries, *self.producers, *self.teacher_producers):
            supplied |= frozenset(getattr(part.target, "provides", ()))
        for part in self.parts.values():
            if missing := sorted(part.needs - supplied):
                raise InputError(
                    f"{part.component.name!r} of recipe {recipe.name!r} needs {' and '.join(map(repr, missing))}, "
                    f"which nothing supplies: {_suggest_supplier(missing[0])}."
                )
        if recipe.thinking.name != "none" and not getattr(self.rollout.target, "begins", False):
            raise InputError(
                f"the rollout strategy {recipe.rollout.name!r} continues answers from given tokens, which soft ones "
                f"are not; take --rollout independent, or leave --thinking {recipe.thinking.name} out."
            )
        if "none" not in (recipe.thinking.name, recipe.logits.name):
            raise InputError(
                f"soft tokens are mixed by the policy's own logits; leave --logits {recipe.logits.name} or --thinking "
                f"{recipe.thinking.name} out."
            )
        if recipe.anchor not in _ANCHORS:
            raise unknown_name("anchor", recipe.anchor, _ANCHORS)
        if "anchor" in self.rollout_terms.loss.corrector.needs and recipe.anchor != "policy":
            raise InputError(
                f"the corrector {recipe.corrector.name!r} corrects the gap between the sampler and the policy at the "
                "beginning of the update, which the anchor 'sampler' leaves in the ratio; set the anchor to 'policy'."
            )
        if recipe.rollout_share == 0 and not recipe.streams:
            raise InputError(f"recipe {recipe.name!r} gives its rollouts no weight and has no stream to learn from.")
        if self.balance.target.share is not None and not recipe.streams:
            raise InputError(
                f"the balance {recipe.balance.name!r} shares the loss out between rollouts and streams, but recipe "
                f"{recipe.name!r} has no stream; take one such as 'amft' or 'chord_mu'."
            )
        if any("anchor" in part.needs for stream in self.streams for part in stream.parts):
            raise InputError(f"recipe {recipe.name!r} has a stream that needs the anchor 'policy'; streams have none.")

    # Groups ----------------------------------------------------------------------------------------------------------

    def add_rewards(self, groups: Sequence[Group], tokens_until: TokensUntil | None = None) -> list[Group]:
        """Add the recipe's rewards to the episodes that are not judged yet (`Trajectory.judged`).

        Rewards see each episode once: judged episodes stay unchanged and do not influence the verdicts on others. An
        invalid verdict makes its trajectory invalid; it is not a reward of 0.

        Args:
            tokens_until: places rewards of parts of an action; by default at the end of the action.
        """
        return judge_groups(self.rewards, groups, tokens_until)

    def advance(self, step: int, steps: int) -> None:
        """Set the clock of schedules and advance rewards to ``step``, counted from 1."""
        self.clock.step, self.clock.steps = step - 1, steps
        for reward in self.rewards:
            reward.advance(step, steps)

    def filter_groups(self, groups: Sequence[Group]) -> list[Group]:
        """Drop groups without a valid trajectory and apply the recipe's filters to the others."""
        kept = [group for group in groups if group.valid]
        for apply_filter in self.filters:
            kept = apply_filter(kept)
        return kept

    # State -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the memory of rewards and components, JSON-able; auxiliary models are saved separately."""
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


def _check_learning(parts: Sequence[rewards.Reward]) -> None:
    """Raise InputError if a reward that learns from the training batch is nested in another reward."""
    for reward in parts:
        for inner in reward.walk():
            if inner is not reward and inner.update_measures:
                raise InputError(
                    f"{inner.name!r} learns from the gradients of its objectives and cannot be a part of "
                    f"{reward.name!r}; take it as a reward of its own, with the others as its objectives."
                )


def _collect_options(parts: Sequence[rewards.Reward]) -> dict[str, Mapping[str, Any]]:
    """Collect the options that rewards set for the producers of their needs, by name of the measure.

    Raises:
        InputError: two rewards need one measure with different options.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for part in (inner for reward in parts for inner in reward.walk()):
        for measure, options in part.measure_options.items():
            if measure not in part.needs:
                continue
            if found.setdefault(measure, options) != options:
                raise InputError(
                    f"{part.name!r} needs {measure!r} with {dict(options)}, but another reward of the recipe with "
                    f"{dict(found[measure])}; give both the same options."
                )
    return found


def _suggest_supplier(need: str) -> str:
    """Return advice on an option that would supply a need, for the error message."""
    if need in ("logp_teacher", "teacher_model"):
        return "name a model to distil from with --teacher-model"
    for stage in ("auxiliaries", "rollout"):
        registry = STAGES[stage]
        able = [name for name, target in registry.items() if need in getattr(target, "provides", ())]
        if able:
            return f"take --{stage} {' or '.join(able)}"
    return "take an environment that supplies it (palaestra list measures)"
