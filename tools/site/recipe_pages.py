"""Pages of recipes with formula and stages, and pages of stages with their components."""

from __future__ import annotations

import functools
from typing import Any

from ...agents.grpo.recipes import RECIPES
from ...scripts import list as listing
from ...scripts.docstrings import find_citation
from ...scripts.list_stages import BASE, parameters, recipe_rows, stages
from .formulas import FORMULAS, mathml, recipe_formulas
from .markdown_text import code, docstring, fence, inline, join, table
from .method_pages import own_names
from .site_page import SiteContent, SitePage

LEAD = (
    "A recipe names one component for each stage of the learner; what it leaves out is GRPO's. `palaestra train "
    "--recipe NAME` trains by one, and `--surrogate cispo` and the like replace a stage. "
    "See [what a recipe is](../../explain/recipes.md) and [all components](../components/index.md)."
)


def recipe_pages() -> list[SitePage]:
    """Return the pages of recipes and of stages, each kind with its index."""
    names, parts = own_names(RECIPES), stages()
    pages = [SitePage("recipes/index.md", tuple(("recipes", name) for name in names), _index)]
    pages += [SitePage(f"recipes/{name}.md", (("recipes", name),), functools.partial(_recipe, name)) for name in names]
    pages.append(SitePage("components/index.md", tuple(("stages", name) for name in parts), _stage_index))
    for stage, registry in parts.items():
        covers = tuple(("components", f"{stage}/{name}") for name in own_names(registry))
        pages.append(SitePage(f"components/{stage}.md", covers, functools.partial(_stage, stage)))
    return pages


def _index() -> SiteContent:
    rows = [row for row in listing.recipes() if row["name"] in set(own_names(RECIPES))]
    cells = [[f"[`{row['name']}`]({row['name']}.md)", inline(row["paper"]), inline(row["summary"])] for row in rows]
    return SiteContent(join("# Recipes", LEAD, table(("name", "paper", "in words"), cells)))


def _recipe(name: str) -> SiteContent:
    recipe: Any = RECIPES[name]
    (row,) = recipe_rows([name])
    formulas = [join(f"{inline(title)}:", mathml(latex)) for title, latex in recipe_formulas(recipe)]
    known, base = stages(), RECIPES[BASE].stages()
    rows = []
    for stage, text in row["stages"].items():
        other = row["differences"].get(stage) is not None
        shown = f"[{stage}](../components/{stage}.md)" if stage in known else stage
        rows.append([shown, f"**{code(text)}**" if other else code(text), code(base[stage]) if other else ""])
    command = f"palaestra train palaestra/Arithmetic-v0 --recipe {name} --out runs/{name}"
    return SiteContent(
        join(
            f"# {name}",
            f"{inline(row['summary'][:1].upper() + row['summary'][1:])}.",
            f"Paper: {inline(row['paper'])}.",
            fence(command, "console"),
            "## Formula",
            "Symbols are those of [what a recipe is](../../explain/recipes.md#symbols).",
            *formulas,
            "## Stages",
            f"What differs from `{BASE}` is bold, with {BASE}'s component beside it.",
            table(("stage", "component", f"{BASE}'s"), rows),
        )
    )


def _stage_index() -> SiteContent:
    lead = "The stages of the learner in their order. `palaestra list components STAGE NAME` shows one in full."
    rows = [[f"[{name}]({name}.md)", inline(kind.kind), str(len(own_names(kind)))] for name, kind in stages().items()]
    return SiteContent(join("# Components", lead, table(("stage", "a component is a", "components"), rows)))


def _stage(stage: str) -> SiteContent:
    registry = stages()[stage]
    lead = (
        f"Name one by `--{stage.replace('_', '-')} NAME` or in a recipe. Symbols are those of "
        "[what a recipe is](../../explain/recipes.md#symbols)."
    )
    parts = []
    for name in own_names(registry):
        value = registry[name]
        formula = FORMULAS.get(stage, {}).get(name)
        options, cited = parameters(value), find_citation(value.__doc__)
        path = value.__module__.removeprefix("palaestra.").replace(".", "/") + ".py"
        parts += [f"## {name}", mathml(formula) if formula else "", docstring(value.__doc__)]
        parts.append(f"Options: {code(options)}" if options else "")
        parts.append(f"{f'Paper: {inline(cited)}. ' if cited else ''}In the sources: `{path}`.")
    return SiteContent(join(f"# {stage}", lead, *parts))
