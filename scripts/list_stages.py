"""Tables of recipes by stage, and of the components of each stage, for ``palaestra list``.

Recipes can be listed without torch; listing components imports torch.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from typing import Any

from ..errors import needs_extra, unknown_name
from ..registry import Registry
from .docstrings import find_citation, summary

Row = dict[str, Any]

BASE = "grpo"
"""Recipe with which others are compared."""
SHOWN = 40
"""Longest text of a component in a table of many recipes, in characters."""


def recipes() -> list[Row]:
    """List every recipe of the learner: name, paper, summary, and the differences from GRPO in short."""
    return [
        {"name": name, "paper": str(recipe.paper), "summary": recipe.summary, "differs": differs(recipe)}
        for name, recipe in _recipes().items()
    ]


def recipe_rows(names: Sequence[str]) -> list[Row]:
    """List the named recipes in full: every stage, and the stages that differ from GRPO's.

    Raises:
        InputError: a name is no recipe.
    """
    registry = _recipes()
    found = [registry[name] for name in names]
    return [
        {
            "name": recipe.name,
            "paper": str(recipe.paper),
            "summary": recipe.summary,
            "stages": recipe.stages(),
            "differences": recipe.differences(registry[BASE]),
        }
        for recipe in found
    ]


def stage_rows(recipe: Row) -> list[Row]:
    """Convert a row of `recipe_rows` to a table: each stage with its component and, if it differs, GRPO's component."""
    theirs = _recipes()[BASE].stages()
    rows = []
    for stage, component in recipe["stages"].items():
        other = theirs[stage] if stage in recipe["differences"] else ""
        rows.append({"stage": stage, recipe["name"]: component, f"instead of {BASE}'s": other})
    return rows


def differs(recipe: Any) -> str:
    """Return the stages that differ from GRPO's as text, "surrogate gspo; reduction token_mean". Parameters are only
    shown if the names of the components are the same."""
    base = _recipes()[BASE]
    theirs = base.stages()
    parts = []
    for stage, text in recipe.differences(base).items():
        bare = _bare(text)
        shown = text if bare == _bare(theirs[stage]) else bare
        parts.append(f"{stage} {shown if len(shown) <= SHOWN else shown[: SHOWN - 1].rstrip() + '…'}")
    return "; ".join(parts)


def _bare(text: str) -> str:
    """Remove the parameters from a text of components."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def _recipes() -> Registry[Any]:
    return importlib.import_module("..agents.grpo.recipes", __package__).RECIPES


def components() -> list[Row]:
    """List every component of every stage, in the order of the pipeline: summary, parameters with defaults, paper.

    Raises:
        MissingExtra: torch is not installed.
    """
    return [
        {
            "stage": stage,
            "name": name,
            # Papers have a separate column.
            "summary": re.sub(r"\s*\([^()]*arXiv[^()]*\)", "", summary(value)),
            "parameters": parameters(value),
            "paper": find_citation(value.__doc__),
        }
        for stage, registry in stages().items()
        for name, value in registry.items()
    ]


def component_rows(names: Sequence[str]) -> list[Row]:
    """List the components of the named stages, and the named components with their whole docstrings.

    Raises:
        InputError: a name is neither a stage nor a component.
        MissingExtra: torch is not installed.
    """
    rows = components()
    registries = stages()
    for name in names:
        if name not in registries and not any(row["name"] == name for row in rows):
            raise unknown_name("stage or component", name, {*registries, *(row["name"] for row in rows)}, "components")
    found = []
    for row in rows:
        if row["name"] in names:
            value = registries[row["stage"]][row["name"]]
            found.append({**row, "docstring": inspect.cleandoc(value.__doc__ or "")})
        elif row["stage"] in names:
            found.append(row)
    return found


def parameters(component: Any) -> str:
    """Format the options of a component: optional ones with defaults, ``low=0.2, high=0.28``, required ones by name."""
    shown = []
    for item in inspect.signature(component).parameters.values():
        if item.default is not item.empty:
            # A component among the parameters is a function by default.
            shown.append(f"{item.name}={getattr(item.default, '__name__', None) or repr(item.default)}")
        elif item.kind is item.KEYWORD_ONLY:
            shown.append(item.name)
    return ", ".join(shown)


def stages() -> dict[str, Registry[Any]]:
    """Return the registries of the learner's stages by name, with all components imported.

    Raises:
        MissingExtra: torch is not installed.
    """
    with needs_extra("listing components", "train"):
        found = importlib.import_module("..agents.grpo.recipes.stages", __package__).STAGES
        for stage in found.values():
            len(stage)  # asking a stage imports its components
    return found
