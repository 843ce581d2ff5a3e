"""Recipes: a paper is a row that names one component per stage.

Rows are data. They are checked when a learner is built, where an unknown component raises InputError with close names.
Everything not named is GRPO's. `register_recipe` adds a row from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...registry import Registry


@dataclass(frozen=True)
class Component:
    """A registered name and its parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}({inside})" if inside else self.name

    def data(self) -> dict[str, Any]:
        """``{"name": ..., parameter: ...}``, with components among the parameters written likewise."""
        params = {key: value.data() if isinstance(value, Component) else value for key, value in self.params.items()}
        return {"name": self.name, **params}


def c(name: str, **params: Any) -> Component:
    """``c("clip", low=0.2, high=0.28)``."""
    return Component(name, MappingProxyType(params))


@dataclass(frozen=True)
class Credit:
    """One term of the advantage: coefficient x scale(return - baseline)."""

    returns: Component = c("outcome")
    baseline: Component = c("group_mean")
    scale: Component = c("group_std", ddof=1, eps=1e-4)
    coefficient: float = 1.0

    def __str__(self) -> str:
        text = f"{self.scale}[{self.returns} - {self.baseline}]"
        return text if self.coefficient == 1 else f"{self.coefficient} x {text}"


@dataclass(frozen=True)
class Recipe:
    """One algorithm.

    Attributes:
        shaping: registered rewards, added to the environment's own or (where complete) in its place; a parameter may be
            a component, so that trees can be written: ``c("weighted", child=c("overlong"), weight=0.5)``.
        filters: which groups are trained.
        credit: terms whose sum is the advantage of a row.
        masks: which tokens are trained (all conditions hold).
        corrector, surrogate, regularisers, reduction: see the modules of these names.
        refill: sample further tasks until a full batch of groups has passed the filters, at most this many rounds.
    """

    name: str
    paper: str
    summary: str
    shaping: tuple[Component, ...] = ()
    filters: tuple[Component, ...] = ()
    credit: tuple[Credit, ...] = (Credit(),)
    masks: tuple[Component, ...] = ()
    corrector: Component = c("none")
    surrogate: Component = c("clip", low=0.2, high=0.2)
    regularisers: tuple[Component, ...] = ()
    reduction: Component = c("sequence_mean")
    refill: int = 1

    def stages(self) -> dict[str, str]:
        """Stage name -> printable component, in the order of the pipeline."""
        many = {
            "shaping": self.shaping,
            "filters": self.filters,
            "credit": self.credit,
            "masks": self.masks,
            "corrector": (self.corrector,),
            "surrogate": (self.surrogate,),
            "regularisers": self.regularisers,
            "reduction": (self.reduction,),
        }
        return {stage: " + ".join(map(str, parts)) or "none" for stage, parts in many.items()}


RECIPES: Registry[Recipe] = Registry("recipe", group="palaestra.recipes")


def register_recipe(recipe: Recipe) -> Recipe:
    """Make a recipe available by its name, to the command line too."""
    RECIPES.add(recipe.name, recipe)
    return recipe


register_recipe(
    Recipe(
        name="grpo",
        paper="DeepSeekMath, arXiv 2402.03300",
        summary="group-normalised advantages, symmetric clip, mean over each sequence, KL to the starting policy",
        regularisers=(c("kl_k3", coefficient=0.04),),
    )
)
register_recipe(
    Recipe(
        name="dr_grpo",
        paper="Understanding R1-Zero-Like Training, arXiv 2503.20783",
        summary="no division by the standard deviation nor by length, no KL",
        credit=(Credit(scale=c("none")),),
        reduction=c("constant"),
    )
)
register_recipe(
    Recipe(
        name="dapo",
        paper="DAPO, arXiv 2503.14476",
        summary="clip-higher, mean over tokens, groups without variance replaced, soft overlong punishment, no KL",
        shaping=(c("overlong"),),
        filters=(c("mixed_outcomes"),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        refill=4,
    )
)
register_recipe(
    Recipe(
        name="rloo",
        paper="Back to Basics, arXiv 2402.14740",
        summary="leave-one-out baseline, plain REINFORCE on whole episodes, no clip, no KL in the loss",
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        surrogate=c("reinforce"),
        reduction=c("sequence_sum"),
    )
)
