"""What a recipe is: a row that names one component per stage, each with its parameters.

Rows are data, checked when a learner is built. Everything not named is GRPO's. `register_recipe` adds a row from
anywhere; `Recipe.with_` replaces stages, as the command line does.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ....errors import InputError, unknown_name
from ....registry import Registry
from .stages import STAGES


@dataclass(frozen=True)
class Component:
    """A registered name and its parameters; a parameter may be a component itself."""

    name: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={_shown(value)}" for key, value in self.params.items())
        return f"{self.name}({inside})" if inside else self.name

    def data(self) -> dict[str, Any]:
        """``{"name": ..., parameter: ...}``, with components among the parameters written likewise."""
        params = {key: value.data() if isinstance(value, Component) else value for key, value in self.params.items()}
        return {"name": self.name, **params}

    @classmethod
    def parse(cls, text: str) -> Component:
        """The inverse of ``str``: ``clip(low=0.2, high=0.28)``. Values are Python literals or components.

        Raises:
            InputError: the text has another form.
        """
        parts = cls.parse_all(text) or (c("none"),)
        if len(parts) != 1:
            raise InputError(f"one component is wanted here, such as clip(low=0.2), not {text!r}.")
        return parts[0]

    @classmethod
    def parse_all(cls, text: str) -> tuple[Component, ...]:
        """Components joined by ``+``; "none" alone is no component."""
        if text.strip() == "none":
            return ()
        try:
            return tuple(_sum_of(ast.parse(_DASHED.sub(_undashed, text.strip()), mode="eval").body))
        except (SyntaxError, ValueError, RecursionError):
            raise InputError(
                f"{text!r} is not a component; write a name with parameters, such as clip(low=0.2, high=0.28), and "
                "join several by +."
            ) from None


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Component) else repr(value)


_DASHED = re.compile(r"""("[^"]*"|'[^']*')|([A-Za-z_]\w*(?:-[A-Za-z_]\w*)+)""")
"""Quoted text, or a name with dashes: rewards have such names, and Python does not."""


def _undashed(found: re.Match[str]) -> str:
    return found[1] or found[2].replace("-", "__dash__")


def _sum_of(node: ast.expr) -> list[Component]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum_of(node.left) + _sum_of(node.right)
    return [_component(node)]


def _component(node: ast.expr) -> Component:
    if isinstance(node, ast.Name):
        return Component(node.id.replace("__dash__", "-"))
    if isinstance(node, ast.Call) and not node.args and all(keyword.arg for keyword in node.keywords):
        params = {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}
        return Component(_component(node.func).name, MappingProxyType(params))
    raise ValueError


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _component(node)


def c(name: str, **params: Any) -> Component:
    """``c("clip", low=0.2, high=0.28)``."""
    return Component(name, MappingProxyType(params))


def schedule(kind: str, **params: Any) -> Component:
    """A number that follows training, in place of a parameter: ``schedule("linear", start=1.0, end=0.5)``.

    Kinds and parameters are those of `palaestra.schedules`.
    """
    return c(SCHEDULE + kind.replace("-", "_"), **params)


SCHEDULE = "schedule_"
"""Prefix of components that stand for schedules."""


@dataclass(frozen=True)
class Credit:
    """One term of the advantage: coefficient x scale(return - baseline)."""

    returns: Component = c("outcome")
    baseline: Component = c("group_mean")
    scale: Component = c("group_std", ddof=1, eps=1e-4)
    coefficient: float | Component = 1.0

    def __str__(self) -> str:
        text = f"{self.scale}[{self.returns} - {self.baseline}]"
        return text if self.coefficient == 1 else f"{self.coefficient} x {text}"


@dataclass(frozen=True)
class Stream:
    """Episodes trained beside the rollouts, in the same optimiser step: demonstrations, a rehearsal, a replay.

    Attributes:
        source: where its groups come from.
        surrogate: what is maximised at its tokens; the advantage is the trajectory's own where it has one, else 1.
        regularisers, masks, weights, reduction: as in a recipe, over this stream's batch alone.
        coefficient: a number or schedule by which its loss is multiplied.
        origins: whose tokens are trained.
    """

    source: Component
    surrogate: Component = c("likelihood")
    regularisers: tuple[Component, ...] = ()
    masks: tuple[Component, ...] = ()
    weights: tuple[Component, ...] = ()
    reduction: Component = c("token_mean")
    coefficient: float | Component = 1.0
    origins: tuple[str, ...] = ("policy", "teacher")

    def __str__(self) -> str:
        parts = [str(self.source), *map(str, self.masks), *map(str, self.weights), str(self.surrogate)]
        parts += [*map(str, self.regularisers), str(self.reduction)]
        return f"{self.coefficient} x [{' > '.join(parts)}]"


@dataclass(frozen=True)
class Recipe:
    """One algorithm.

    Attributes:
        rollout: how the samples of a task are played.
        shaping: registered rewards, added to the environment's own or (where complete) in its place; a parameter may be
            a component, so that trees can be written: ``c("weighted", child=c("overlong"), weight=0.5)``.
        filters: which groups, and which of their episodes, are trained.
        replay: what is remembered of earlier batches and mixed into this one.
        credit: terms whose sum is the advantage of a token.
        adjustments: what happens to advantages afterwards, in order.
        masks: which tokens are trained (all conditions hold).
        weights: factors on the weight of each token.
        anchor: what ratios are taken against: "sampler" (the log-probabilities that came with the tokens) or "policy"
            (the policy at the beginning of the update, so that the sampler's gap is left to the corrector).
        corrector, surrogate, regularisers, reduction: see the packages and modules of these names.
        streams: what is trained beside the rollouts.
        auxiliaries: models trained beside the policy.
        reference: how the reference policy follows the policy.
        guards: conditions on an update; where one fails, the update is skipped.
        origins: whose tokens are trained: "policy", "hint", "teacher", "copy".
        refill: sample further tasks until a full batch of groups has passed the filters, at most this many rounds.
        epochs: passes over each rollout batch.
        minibatches: optimiser steps an epoch.
        rollout_share: weight of the loss on rollouts, 0 for a recipe that learns from streams alone.
    """

    name: str
    paper: str
    summary: str
    rollout: Component = c("independent")
    shaping: tuple[Component, ...] = ()
    filters: tuple[Component, ...] = ()
    replay: Component = c("none")
    credit: tuple[Credit, ...] = (Credit(),)
    adjustments: tuple[Component, ...] = ()
    masks: tuple[Component, ...] = ()
    weights: tuple[Component, ...] = ()
    anchor: str = "sampler"
    corrector: Component = c("none")
    surrogate: Component = c("clip", low=0.2, high=0.2)
    regularisers: tuple[Component, ...] = ()
    reduction: Component = c("sequence_mean")
    streams: tuple[Stream, ...] = ()
    auxiliaries: tuple[Component, ...] = ()
    reference: Component = c("frozen")
    guards: tuple[Component, ...] = ()
    origins: tuple[str, ...] = ("policy",)
    refill: int = 1
    epochs: int = 1
    minibatches: int = 1
    rollout_share: float | Component = 1.0

    def stages(self) -> dict[str, str]:
        """Stage name -> printable component, in the order of the pipeline; what is "none" everywhere is left out."""
        shown = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if item.name in ("name", "paper", "summary"):
                continue
            text = " + ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            shown[item.name] = text or "none"
        return shown

    def differences(self, other: Recipe) -> dict[str, str]:
        """The stages in which this recipe differs from another, with this one's components."""
        mine, theirs = self.stages(), other.stages()
        return {stage: text for stage, text in mine.items() if text != theirs[stage]}

    def with_(self, **overrides: str) -> Recipe:
        """The recipe with stages replaced by what a text says, ``with_(surrogate="cispo", masks="none")``.

        Credit's parts are named themselves: ``returns``, ``baseline`` and ``scale`` act on a recipe with one term.

        Raises:
            InputError: there is no such stage, the text is no component, or the recipe has several credit terms.
        """
        changed: dict[str, Any] = {}
        for stage, text in overrides.items():
            if stage not in OVERRIDES:
                raise unknown_name("stage of a recipe", stage, OVERRIDES)
            if stage in STAGES and STAGES[stage].part == "credit":
                if len(self.credit) != 1:
                    raise InputError(
                        f"{stage}={text!r} cannot replace a part of the credit of recipe {self.name!r}, which has "
                        f"{len(self.credit)} terms; register a recipe of your own."
                    )
                (term,) = changed.get("credit", self.credit)
                changed["credit"] = (dataclasses.replace(term, **{stage: Component.parse(text)}),)
            elif stage == "anchor":
                changed[stage] = text
            elif stage == "shaping" or STAGES[stage].many:
                changed[stage] = Component.parse_all(text)
            else:
                changed[stage] = Component.parse(text)
        return dataclasses.replace(self, **changed) if changed else self

    def with_kl(self, coefficient: float) -> Recipe:
        """The recipe with this coefficient in each of its KL penalties, which keep their other parameters.

        0 removes them; a recipe without any gets ``kl_k3``.
        """
        others = [part for part in self.regularisers if not part.name.startswith(_KL)]
        if not coefficient:
            return dataclasses.replace(self, regularisers=tuple(others))
        if len(others) == len(self.regularisers):
            return dataclasses.replace(self, regularisers=(*others, c("kl_k3", coefficient=coefficient)))
        parts = (
            c(part.name, **{**part.params, "coefficient": coefficient}) if part.name.startswith(_KL) else part
            for part in self.regularisers
        )
        return dataclasses.replace(self, regularisers=tuple(parts))


_KL = "kl_"
"""Prefix of the penalties that are KL divergences from the reference."""


@dataclass(frozen=True)
class Stages:
    """Stages that replace the recipe's. A component is written name(parameter=value), several are joined by +, and
    "none" leaves a stage empty; `palaestra list components` names them all.

    Attributes:
        rollout: how the samples of a task are played.
        shaping: rewards beside the environment's.
        filters: which groups and episodes are trained.
        replay: what is remembered and mixed in.
        returns: what is credited.
        baseline: what is subtracted from returns.
        scale: what centred returns are divided by.
        adjustments: what happens to advantages afterwards.
        masks: which tokens are trained.
        weights: factors on the weight of each token.
        anchor: what ratios are taken against, "sampler" or "policy".
        corrector: factors for the gap between sampler and anchor.
        surrogate: what is maximised, e.g. "cispo" or "clip(low=0.2, high=0.28)".
        regularisers: penalties, e.g. "kl_k3(coefficient=0.01) + entropy_bonus".
        reduction: how tokens are averaged.
        auxiliaries: models trained beside the policy.
        reference: how the reference policy follows the policy.
        guards: conditions on an update.
    """

    rollout: str | None = None
    shaping: str | None = None
    filters: str | None = None
    replay: str | None = None
    returns: str | None = None
    baseline: str | None = None
    scale: str | None = None
    adjustments: str | None = None
    masks: str | None = None
    weights: str | None = None
    anchor: str | None = None
    corrector: str | None = None
    surrogate: str | None = None
    regularisers: str | None = None
    reduction: str | None = None
    auxiliaries: str | None = None
    reference: str | None = None
    guards: str | None = None

    def given(self) -> dict[str, str]:
        """Stage -> text, for those that are replaced."""
        return {name: text for name, text in dataclasses.asdict(self).items() if text is not None}


OVERRIDES = tuple(item.name for item in dataclasses.fields(Stages))
"""Stages that `Recipe.with_` replaces."""

RECIPES: Registry[Recipe] = Registry("recipe", group="palaestra.recipes", modules=[__package__ or ""])


def register_recipe(recipe: Recipe) -> Recipe:
    """Make a recipe available by its name, to the command line too."""
    RECIPES.add(recipe.name, recipe)
    return recipe
