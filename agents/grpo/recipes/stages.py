"""The learner's registries: one for each stage, and what a component of each stage takes and gives.

A component is a function, or a class whose instances are called the same way where it keeps a state between updates
(``state_dict`` and ``load_state_dict``, JSON-able). Its parameters beyond the stage's arguments are keyword arguments
with defaults from the paper; in a recipe a number may be a schedule. `discover` imports the modules of a stage's
package, so that adding a component is adding it to one file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from ....registry import Registry

ROLLOUTS: Registry[Callable[..., Any]] = Registry("rollout strategy", group="palaestra.rollouts")
"""``strategy(**params)``; ``.play(tasks, player) -> list[Group]``, one group a task (see `rollouts.player`)."""

FILTERS: Registry[Callable[..., Any]] = Registry("filter")
"""``(groups, **params) -> groups``: which groups, and which of their trajectories, are trained."""

REPLAYS: Registry[Callable[..., Any]] = Registry("replay")
"""``replay(**params)``; ``.mix(groups, step, rng) -> groups`` stores what is new and mixes in what is old."""

RETURNS: Registry[Callable[..., Any]] = Registry("return")
"""``(batch, **params) -> Units``: what is to be credited, and in which units (see `credit.units`)."""

BASELINES: Registry[Callable[..., Any]] = Registry("baseline")
"""``(units, batch, **params) -> [M]``: what is subtracted from the value of each unit."""

SCALES: Registry[Callable[..., Any]] = Registry("scale")
"""``(units, batch, **params) -> [M]``: units whose values are centred already -> advantages."""

ADJUSTMENTS: Registry[Callable[..., Any]] = Registry("adjustment")
"""``(advantage [N], batch, **params) -> advantage [N]``: what happens to advantages once they lie at the tokens."""

MASKS: Registry[Callable[..., Any]] = Registry("mask")
"""``(batch, advantage [N], **params) -> bool [N]``: which tokens are trained. Masked ones leave the denominators."""

WEIGHTS: Registry[Callable[..., Any]] = Registry("weight")
"""``(batch, advantage [N], **params) -> float [N]``: multiplies a token's weight. Denominators stay."""

CORRECTORS: Registry[Callable[..., Any]] = Registry("corrector")
"""``(scored, **params) -> factor [A]`` without gradient: for the gap between sampler and anchor, or between either and
the policy; 0 drops a token."""

SURROGATES: Registry[Callable[..., Any]] = Registry("surrogate")
"""``(scored, **params) -> LossTerm``: what is maximised at each token."""

REGULARISERS: Registry[Callable[..., Any]] = Registry("regulariser")
"""``(scored, **params) -> LossTerm``: penalties added to the loss at each token, coefficient included."""

REDUCTIONS: Registry[Callable[..., Any]] = Registry("reduction")
"""``(batch, keep [N] bool, **params) -> weight [N]``, once for the whole optimiser batch."""

SOURCES: Registry[Callable[..., Any]] = Registry("stream source")
"""``source(**params)``; ``.draw(supply) -> list[Group]``: what a stream beside the rollouts is trained on."""

AUXILIARIES: Registry[Callable[..., Any]] = Registry("auxiliary model")
"""A model trained beside the policy: ``aux(**params)``; ``.measure(batch) -> {name: [N]}``, ``.update(batch)``."""

REFERENCES: Registry[Callable[..., Any]] = Registry("reference policy")
"""``rule(**params)``; ``.after_step(step, metrics) -> float | None``: the share by which the reference moves to the
policy after an optimiser batch (1: is replaced by it), or None."""

GUARDS: Registry[Callable[..., Any]] = Registry("guard")
"""``(statistics, **params) -> bool``: whether an update is applied, from the means of what its loss reported."""

STAGES: dict[str, Registry[Callable[..., Any]]] = {
    "rollout": ROLLOUTS,
    "filters": FILTERS,
    "replay": REPLAYS,
    "returns": RETURNS,
    "baseline": BASELINES,
    "scale": SCALES,
    "adjustments": ADJUSTMENTS,
    "masks": MASKS,
    "weights": WEIGHTS,
    "corrector": CORRECTORS,
    "surrogate": SURROGATES,
    "regularisers": REGULARISERS,
    "reduction": REDUCTIONS,
    "source": SOURCES,
    "auxiliaries": AUXILIARIES,
    "reference": REFERENCES,
    "guards": GUARDS,
}
"""Stage name, as in a recipe -> its registry."""

_TAKEN = {
    FILTERS: 1,
    RETURNS: 1,
    BASELINES: 2,
    SCALES: 2,
    ADJUSTMENTS: 2,
    MASKS: 2,
    WEIGHTS: 2,
    CORRECTORS: 1,
    SURROGATES: 1,
    REGULARISERS: 1,
    REDUCTIONS: 2,
    GUARDS: 1,
}
"""How many arguments a stage calls its components with; those of a function come first."""


def parameters_of(registry: Registry[Callable[..., Any]], name: str) -> dict[str, inspect.Parameter]:
    """What a recipe may say about a component: its parameters without those that the stage itself fills."""
    target = registry[name]
    parameters = list(inspect.signature(target).parameters.values())
    taken = 0 if inspect.isclass(target) else _TAKEN.get(registry, 0)
    return {parameter.name: parameter for parameter in parameters[taken:]}


_HOMES = ("rollouts", "components")


def discover() -> None:
    """Import every module that registers components, once."""
    for home in _HOMES:
        package = importlib.import_module(f"..{home}", __package__)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
