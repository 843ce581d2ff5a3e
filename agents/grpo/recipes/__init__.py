"""Recipes: published algorithms as rows, in files by family. The rows import no torch.

A new row goes into the file of its family; all files of this package are read.
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
    "register_recipe",
    "schedule",
]
