"""The GRPO learner: small pure stages with one registry each, and recipes that name their components.

Subpackages, in import order (each imports only earlier ones): ``recipes`` (algorithms as data, registries of the
stages), ``batch`` (trajectories, tensors, passes through a model), ``components`` (all stages except rollouts),
``objective`` (a recipe's components resolved; advantages, weights, loss), ``rollouts`` (strategies and the player),
``measures`` (measurements of an episode for rewards and teachers), ``proposals`` (a teacher's requests beyond the
task) and ``run`` (folder, logs, models). `components`, `objective` and `rollouts` do not import each other: they meet
in the registries. Above them, `collection`, `update` and `warmup` are the parts of a step and `learner` is the run.
Below them are `config` and `optimizers`. Recipes and configuration import no torch.
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
