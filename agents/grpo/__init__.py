"""The GRPO learner: small pure stages with one registry each, and recipes that name their components.

Rooms, each of which imports only those before it: ``recipes`` (algorithms as data, and the registries of the stages),
``batch`` (trajectories, tensors, passes through a model), ``components`` (the stages' components but rollouts),
``objective`` (a recipe's components resolved; advantages, weights, loss), ``rollouts`` (strategies and the player),
``measures`` (what is found out about an episode for rewards and teachers), ``proposals`` (what a teacher asks for
beside a task, carried out) and ``run`` (folder, logs, models). `components`, `objective` and `rollouts` do not import
each other: they meet in the registries. Above them `collection`, `update` and `warmup` make the parts of a step, and
`learner` the run; below, next to the rooms, are `config` and `optimizers`. Recipes and configuration import no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .config import Stages, TrainConfig, WarmUp
from .recipes import RECIPES, Component, Credit, Recipe, Stream, c, register_recipe, schedule

if TYPE_CHECKING:
    from .learner import Learner
    from .objective.objective import Objective
    from .run.defaults import configure

_LAZY = {"Learner": "learner", "Objective": "objective.objective", "configure": "run.defaults"}

__all__ = [
    "RECIPES",
    "Component",
    "Credit",
    "Learner",
    "Objective",
    "Recipe",
    "Stages",
    "Stream",
    "TrainConfig",
    "WarmUp",
    "c",
    "configure",
    "register_recipe",
    "schedule",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
