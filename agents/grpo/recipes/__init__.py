"""Recipes: published algorithms as rows of components, in one file per family, and the stages that they name.

A new recipe goes into the file of its family; `RECIPES` imports all files of this package. None imports torch.
"""

from __future__ import annotations

from .recipe import (
    OVERRIDES,
    RECIPES,
    SCHEDULE,
    Component,
    Credit,
    Recipe,
    Stages,
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
    "Stages",
    "Stream",
    "c",
    "is_kl",
    "register_recipe",
    "schedule",
]
