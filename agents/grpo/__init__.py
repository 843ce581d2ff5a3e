"""The GRPO learner: small pure stages, one registry each, and recipes that name one component per stage.

Rows of the registries of whole recipes are light; anything that computes loads torch on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .config import Stages, TrainConfig, WarmUp
from .recipes import RECIPES, Component, Credit, Recipe, Stream, c, register_recipe, schedule

if TYPE_CHECKING:
    from .learner import Learner
    from .objective.objective import Objective

_LAZY = {"Learner": "learner", "Objective": "objective.objective"}

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
    "register_recipe",
    "schedule",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
