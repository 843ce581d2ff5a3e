"""Pages of the API, one per public module: the signature and docstring of every name in its ``__all__``."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
import typing
from typing import Any

from .markdown_text import docstring, fence, inline, join, table
from .site_page import SiteContent, SitePage

MODULES = (
    "palaestra",
    "palaestra.envs",
    "palaestra.envs.sandbox",
    "palaestra.rewards",
    "palaestra.rewards.algebra",
    "palaestra.rewards.audit",
    "palaestra.rewards.measures",
    "palaestra.teachers",
    "palaestra.teachers.arms.arm_teacher",
    "palaestra.teachers.arms.payoff",
    "palaestra.teachers.arms.stages",
    "palaestra.teachers.boxes.box_teacher",
    "palaestra.teachers.boxes.gaussian_mixture",
    "palaestra.teachers.boxes.ladder",
    "palaestra.teachers.boxes.mixture_teacher",
    "palaestra.teachers.combinators",
    "palaestra.teachers.levels.buffer",
    "palaestra.teachers.levels.replay",
    "palaestra.teachers.prompts.generation",
    "palaestra.teachers.prompts.prompt_teacher",
    "palaestra.teachers.prompts.screening",
    "palaestra.teachers.students",
    "palaestra.agents",
    "palaestra.agents.engines.engine",
    "palaestra.agents.grpo",
    "palaestra.integrations.core",
    "palaestra.integrations.datasets",
    "palaestra.integrations.openenv",
    "palaestra.integrations.rllib",
    "palaestra.integrations.sb3",
    "palaestra.integrations.trl",
    "palaestra.errors",
    "palaestra.registry",
    "palaestra.schedules",
)
"""Modules whose public names are the API."""


def api_pages() -> list[SitePage]:
    """Return the index of the API and the page of each module."""
    names = tuple(("api", name) for name in MODULES)
    pages = [SitePage(f"api/{name}.md", (("api", name),), functools.partial(_page, name)) for name in MODULES]
    return [SitePage("api/index.md", names, _index), *pages]


def public_names(module: Any) -> list[str]:
    """Return the names of ``__all__``; without it, the public classes and functions that the module itself defines."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("_")]
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        if inspect.isclass(value) or inspect.isfunction(value)
    )


@functools.cache
def class_links() -> dict[str, str]:
    """Return the place of every public class under ``docs/reference``: name -> "api/MODULE.md#name"."""
    found: dict[str, str] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for member in public_names(module):
            if inspect.isclass(getattr(module, member)):
                found.setdefault(member, f"api/{name}.md#{member.lower()}")
    return found


def _index() -> SiteContent:
    rows = []
    for name in MODULES:
        first = inspect.cleandoc(importlib.import_module(name).__doc__ or "").split("\n\n")[0]
        rows.append([f"[`{name}`]({name}.md)", inline(first)])
    return SiteContent(join("# API", "Public names, by module.", table(("module", "holds"), rows)))


def _page(name: str) -> SiteContent:
    module = importlib.import_module(name)
    parts = [f"# {name}", docstring(module.__doc__)]
    for member in public_names(module):
        value = getattr(module, member)
        if not inspect.ismodule(value):
            parts.append(_member(member, value))
    return SiteContent(join(*parts))


def _member(name: str, value: Any) -> str:
    if isinstance(value, types.UnionType):
        return join(f"## {name}", f"One of {', '.join(inline(f'`{one.__name__}`') for one in typing.get_args(value))}.")
    if not callable(value):
        return join(f"## {name}", f"A `{type(value).__name__}`.")
    methods = []
    for method, item in vars(value).items() if inspect.isclass(value) else ():
        function = getattr(item, "__func__", item)
        if method.startswith("_") or not getattr(function, "__doc__", ""):
            continue
        if isinstance(item, property):
            methods.append(join(f"**{inline(method)}** (property)", docstring(item.__doc__)))
        elif inspect.isfunction(function):
            methods.append(join(_signature(method, function), docstring(function.__doc__)))
    return join(f"## {name}", _signature(name, value), docstring(value.__doc__), *methods)


def _signature(name: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        item.replace(default=_Shown(item.default)) if item.default is not item.empty else item
        for item in signature.parameters.values()
        if item.name not in ("self", "cls")
    ]
    plain = signature.replace(parameters=parameters)
    line = f"{name}{plain}".replace("<factory>", "…")
    if len(line) > 100:
        body = "".join(f"    {item},\n" for item in parameters)
        after = "" if plain.return_annotation is plain.empty else line[line.rfind(")") + 1 :]
        line = f"{name}(\n{body}){after}"
    return fence(line, "python")


class _Shown:
    """A default value whose text is the same in every process."""

    def __init__(self, value: Any):
        text = getattr(value, "__name__", "") if callable(value) else repr(value)
        self._text = f"{type(value).__name__}(…)" if " at 0x" in text else text

    def __repr__(self) -> str:
        return self._text
