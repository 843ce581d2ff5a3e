"""Recipes: rows that name the component of each stage with its parameters.

Rows are data, checked when a learner is built; omitted fields default to GRPO's. `register_recipe` adds a row from any
package; `Recipe.with_` replaces stages, as the command line does.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ....errors import InputError, unknown_name
from ....registry import Registry
from .stages import STAGES


@dataclass(frozen=True)
class Component:
    """Name of a registered component, or ``module:name``, with parameters, whose values may be components too."""

    name: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        texts = {key: value if isinstance(value, Component) else repr(value) for key, value in self.params.items()}
        inside = ", ".join(f"{key}={text}" for key, text in texts.items())
        return f"{self.name}({inside})" if inside else self.name

    def __repr__(self) -> str:
        return repr(str(self))

    def data(self) -> dict[str, Any]:
        """Return ``{"name": ..., parameter: ...}``; components among the parameters are converted in the same way."""
        params = {key: value.data() if isinstance(value, Component) else value for key, value in self.params.items()}
        return {"name": self.name, **params}

    @classmethod
    def parse(cls, text: str) -> Component:
        """Read text in the form of ``str(component)``: ``clip(low=0.2, high=0.28)``. Values are Python literals or
        components.

        Raises:
            InputError: the text is not a single component.
        """
        parts = cls.parse_all(text) or (c("none"),)
        if len(parts) != 1:
            raise InputError(f"one component is wanted here, such as clip(low=0.2), not {text!r}.")
        return parts[0]

    @classmethod
    def parse_all(cls, text: str) -> tuple[Component, ...]:
        """Read components joined by ``+``; "none" gives ()."""
        if text.strip() == "none":
            return ()
        try:
            plain = _NAMED.sub(lambda found: found[1] or _as_identifier(found[2]), text.strip())
            return tuple(_sum_of(ast.parse(f"({plain})", mode="eval").body))
        except (SyntaxError, ValueError, RecursionError):
            raise InputError(
                f"{text!r} is not a component; write a name with named parameters, such as clip(low=0.2, high=0.28), "
                "and join several by +."
            ) from None


_NAMED = re.compile(
    r"""("[^"]*"|'[^']*')|([~./]*[A-Za-z_][\w./-]*\.py:[A-Za-z_][\w.]*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_][\w.]*(?:-[A-Za-z_]\w*)*"""
    r"""|[A-Za-z_]\w*(?:-[A-Za-z_]\w*)+)"""
)
"""Quoted text, or a name that is not a Python identifier: a name with dashes (rewards), ``module:name`` or
``folder/file.py:name``."""
_SIGNS = {"-": "__dash__", ":": "__colon__", ".": "__dot__", "/": "__slash__", "~": "__tilde__"}


def _as_identifier(name: str) -> str:
    for sign, word in _SIGNS.items():
        name = name.replace(sign, word)
    return name


def _as_name(identifier: str) -> str:
    for sign, word in _SIGNS.items():
        identifier = identifier.replace(word, sign)
    return identifier


def _sum_of(node: ast.expr) -> list[Component]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum_of(node.left) + _sum_of(node.right)
    return [_component(node)]


def _component(node: ast.expr) -> Component:
    if isinstance(node, ast.Name):
        return Component(_as_name(node.id))
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
    """Make a component: ``c("clip", low=0.2, high=0.28)``."""
    return Component(name, MappingProxyType(params))


def schedule(kind: str, **params: Any) -> Component:
    """Make a parameter that changes during training: ``schedule("linear", start=1.0, end=0.5)``.

    See `palaestra.schedules` for kinds and parameters.
    """
    return c(SCHEDULE + kind.replace("-", "_"), **params)


SCHEDULE = "schedule_"
"""Prefix of the names of components that are schedules."""


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
    """Further episodes trained in the same optimiser step as the rollouts: demonstrations, rehearsal or replay.

    Attributes:
        source: source of the stream's groups.
        surrogate: objective at the stream's tokens; the advantage is the one stored in the trajectory, or else 1.
        regularisers, masks, weights, reduction: as in a recipe, over this stream's batch alone.
        coefficient: number or schedule by which the stream's loss is multiplied.
        origins: origins of the tokens that are trained.
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
        rollout: strategy that plays the episodes of the tasks.
        logits: rule that joins the policy's logits with those of further models.
        thinking: way in which the policy samples the beginning of an answer.
        measures: producers of measures for rewards and teachers; only those with non-default parameters must be listed,
            as other needed producers are added automatically.
        shaping: registered rewards, added to the environment's; a reward that is `complete` replaces these. A parameter
            may be a component: ``c("weighted", child=c("overlong"), weight=0.5)``.
        filters: selections of the groups and episodes to train on.
        replay: memory of earlier groups that are mixed into the batch.
        credit: terms whose sum is the advantage of a token.
        adjustments: changes of the advantages, in order.
        masks: selections of the tokens to train on; a token must pass all.
        weights: factors on the weight of each token.
        anchor: policy in the denominator of importance ratios: "sampler" (log-probabilities recorded with the tokens),
            "policy" (the policy at the beginning of the update; the corrector handles the gap to the sampler) or
            "rescored" (like "policy" at tokens that were sampled in this step, like "sampler" at all others). For
            half-precision weights "rescored" replaces "sampler".
        corrector, surrogate, regularisers, reduction: see the packages and modules of these names.
        streams: further episodes trained with the rollouts.
        balance: share of the streams in the loss, moved by feedback.
        auxiliaries: models trained with the policy.
        reference: rule by which the reference policy moves to the policy.
        guards: conditions on an update; if one fails, the update is skipped.
        origins: origins of the tokens that are trained: "policy", "hint", "teacher", "copy".
        refill: most rounds of sampling further tasks until a full batch of groups has passed the filters.
        epochs: passes over each rollout batch.
        minibatches: optimiser steps per epoch.
        rollout_share: coefficient of the loss on rollouts; 0 for a recipe that learns from streams alone.
    """

    name: str
    paper: str
    summary: str
    rollout: Component = c("independent")
    logits: Component = c("none")
    thinking: Component = c("none")
    measures: tuple[Component, ...] = ()
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
    balance: Component = c("none")
    auxiliaries: tuple[Component, ...] = ()
    reference: Component = c("frozen")
    guards: tuple[Component, ...] = ()
    origins: tuple[str, ...] = ("policy",)
    refill: int = 1
    epochs: int = 1
    minibatches: int = 1
    rollout_share: float | Component = 1.0

    def stages(self) -> dict[str, str]:
        """Return stage -> its components as text, in the order of the fields; "none" for an empty stage."""
        texts = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if item.name in ("name", "paper", "summary"):
                continue
            text = " + ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            texts[item.name] = text or "none"
        return texts

    def differences(self, other: Recipe) -> dict[str, str]:
        """Return the stages in which this recipe differs from ``other``, with this recipe's components."""
        mine, theirs = self.stages(), other.stages()
        return {stage: text for stage, text in mine.items() if text != theirs[stage]}

    def with_(self, **overrides: str | Component | Sequence[Component]) -> Recipe:
        """Replace stages by components, given as objects or as text: ``with_(surrogate="cispo", masks="none")``.

        ``returns``, ``baseline`` and ``scale`` replace parts of the credit of a recipe with one credit term.

        Raises:
            InputError: a stage does not exist, a value is not a component, or the recipe has several credit terms.
        """
        changed: dict[str, Any] = {}
        alone: Component | None = None
        for stage, value in overrides.items():
            if stage not in OVERRIDES:
                raise unknown_name("stage of a recipe", stage, OVERRIDES)
            if stage in STAGES and STAGES[stage].part == "credit":
                if len(self.credit) != 1:
                    raise InputError(
                        f"{stage}={value!r} cannot replace a part of the credit of recipe {self.name!r}, which has "
                        f"{len(self.credit)} terms; register a recipe of your own."
                    )
                (term,) = changed.get("credit", self.credit)
                changed["credit"] = (dataclasses.replace(term, **{stage: _read_part(stage, value)}),)
            elif stage == "anchor":
                changed[stage] = value
            elif stage == "reward":
                parts = _read_parts(stage, value)
                whole = parts[0] if len(parts) == 1 else c("sum", **{f"part{n}": part for n, part in enumerate(parts)})
                alone = c("alone", child=whole)
            elif stage == "shaping" or STAGES[stage].many:
                changed[stage] = _read_parts(stage, value)
            else:
                changed[stage] = _read_part(stage, value)
        if alone is not None:
            changed["shaping"] = (alone, *changed.get("shaping", ()))
        return dataclasses.replace(self, **changed) if changed else self

    def with_kl(self, coefficient: float) -> Recipe:
        """Set the coefficient of each KL penalty of the recipe; other parameters stay.

        0 removes them; a recipe without any gets ``kl_k3``.
        """
        others = [part for part in self.regularisers if not is_kl(part)]
        if not coefficient:
            return dataclasses.replace(self, regularisers=tuple(others))
        if len(others) == len(self.regularisers):
            return dataclasses.replace(self, regularisers=(*others, c("kl_k3", coefficient=coefficient)))
        parts = (
            c(part.name, **{**part.params, "coefficient": coefficient}) if is_kl(part) else part
            for part in self.regularisers
        )
        return dataclasses.replace(self, regularisers=tuple(parts))


def is_kl(regulariser: Component) -> bool:
    """Return True for a KL penalty to the reference; its name begins with "kl_"."""
    return regulariser.name.startswith("kl_")


def _read_parts(stage: str, value: Any) -> tuple[Component, ...]:
    """Convert one or several components, or their text, to a tuple of components."""
    if isinstance(value, str):
        return Component.parse_all(value)
    parts = (value,) if isinstance(value, Component) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, Component) for part in parts):
        raise InputError(f"{stage} must be components or their text, such as 'clip(low=0.2)', not {value!r}.")
    return tuple(parts)


def _read_part(stage: str, value: Any) -> Component:
    """Convert a component or its text to the component of a stage that has exactly one."""
    parts = (Component.parse(value),) if isinstance(value, str) else _read_parts(stage, value)
    if len(parts) != 1:
        raise InputError(f"{stage} must be one component, such as c('clip', low=0.2), not {value!r}.")
    return parts[0]


@dataclass(frozen=True)
class StageOverrides:
    """Overrides of single stages of a recipe. A component is written name(parameter=value), several are joined by +,
    and "none" leaves a stage empty; `palaestra list components` lists all components. A component that no installed
    package registers is named with its module: mine:my_component, or mine:my-reward.

    Attributes:
        rollout: strategy that plays the episodes of the tasks.
        logits: rule that joins the policy's logits with those of further models, e.g. "nucleus(top_p=0.9)".
        thinking: way in which answers begin, e.g. "soft(top_k=5, temperature=0.1)" for thoughts of soft tokens.
        measures: producers of measures for rewards and teachers, with parameters, e.g. "prefix_values(samples=4)".
        reward: rewards in place of the environment's, e.g. "mine:score", or from a file "mine.py:score".
        shaping: rewards added to the environment's, e.g. "overlong(cache=16) + mine:Brevity".
        filters: selection of the groups and episodes to train on.
        replay: memory of earlier episodes to mix in.
        returns: return of each unit of credit.
        baseline: value subtracted from returns.
        scale: divisor of centred returns.
        adjustments: changes to the advantages afterwards.
        masks: selection of the tokens to train on.
        weights: factors on the weight of each token.
        anchor: policy in the denominator of importance ratios, "sampler", "policy" or "rescored".
        corrector: factors for the gap between sampler and anchor.
        surrogate: objective that is maximised, e.g. "cispo" or "clip(low=0.2, high=0.28)".
        regularisers: penalties, e.g. "kl_k3(coefficient=0.01) + entropy_bonus".
        reduction: average over tokens.
        balance: share of the recipe's streams (imitation, for instance) in the loss, moved by feedback, e.g. "amft".
        auxiliaries: models trained in addition to the policy.
        reference: rule by which the reference policy moves to the policy.
        guards: conditions on an update.
    """

    rollout: str | None = None
    logits: str | None = None
    thinking: str | None = None
    measures: str | None = None
    reward: str | None = None
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
    balance: str | None = None
    auxiliaries: str | None = None
    reference: str | None = None
    guards: str | None = None

    def replacements(self) -> dict[str, str]:
        """Return the stages to replace: stage -> text."""
        return {name: text for name, text in dataclasses.asdict(self).items() if text is not None}


OVERRIDES = tuple(item.name for item in dataclasses.fields(StageOverrides))
"""Stages that `Recipe.with_` can replace."""


def _take_recipe(value: Any) -> Recipe:
    if isinstance(value, Recipe):
        return value
    raise InputError("is no Recipe")


RECIPES: Registry[Recipe] = Registry(
    "recipe", group="palaestra.recipes", modules=[__package__ or ""], table="recipes", take=_take_recipe
)


def register_recipe(recipe: Recipe) -> Recipe:
    """Make a recipe available by its name, also on the command line."""
    RECIPES.add(recipe.name, recipe)
    return recipe
