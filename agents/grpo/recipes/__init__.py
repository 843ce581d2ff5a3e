"""Recipes: published algorithms as rows of components, one ``.toml`` file per family, and the stages that they name.

A new recipe goes into the file of its family, which ``tables`` reads. None of these modules imports torch.
"""

from __future__ import annotations

from .recipe import (
    OVERRIDES,
    RECIPES,
    SCHEDULE,
    Component,
    Credit,
    Recipe,
    StageOverrides,
    Stream,
    c,
    is_kl,
    register_recipe,
    schedule,
)

__all__ = [
    "OVERRIDES",
    "RECIPES",
    "SCHEDULE",
    "Component",
    "Credit",
    "Recipe",
    "StageOverrides",
    "Stream",
    "c",
    "is_kl",
    "register_recipe",
    "schedule",
]
