"""Absolute paths for the files and folders in a configuration, so that a run can be resumed from any directory."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..recipes.recipe import Component

C = TypeVar("C")
_MODELS = ("model", "teacher_model")
_OPTIONS = ("pairs", "player", "env_options", "teacher_options", "engine_options")


def with_absolute_paths(config: C) -> C:
    """Return the configuration of a run with existing relative paths made absolute: models, and files and folders in
    the options of environment, teacher, engine, components and bonuses, and files of pairs."""
    given: Any = config
    changes: dict[str, Any] = {}
    for name in _MODELS:
        value = getattr(given, name, None)
        if value not in (None, "tiny", "ngrams") and Path(value).expanduser().exists():
            changes[name] = str(Path(value).expanduser().absolute())
    for name in _OPTIONS:
        if hasattr(given, name):
            changes[name] = _absolute(getattr(given, name))
    if hasattr(given, "stages"):
        texts = {name: _absolute_text(text) for name, text in given.stages.replacements().items() if name != "anchor"}
        changes["stages"] = dataclasses.replace(given.stages, **texts)
    if hasattr(given, "bonus"):
        changes["bonus"] = tuple(map(_absolute_text, given.bonus))
    return dataclasses.replace(given, **changes)


def _absolute(value: Any) -> Any:
    """Replace existing relative paths in plain data; a word without a slash or a dot is not taken as a path."""
    if isinstance(value, Mapping):
        return {key: _absolute(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_absolute, value))
    if isinstance(value, Component):
        file, colon, inside = value.name.rpartition(".py:")
        name = f"{Path(f'{file}.py').expanduser().absolute()}:{inside}" if colon else value.name
        return Component(name, _absolute(value.params))
    if not isinstance(value, str) or not (os.sep in value or "." in value) or len(value) > 1000 or "\0" in value:
        return value
    path = Path(value).expanduser()
    try:
        return str(path.absolute()) if path.exists() else value
    except OSError:  # too long for a name
        return value


def _absolute_text(text: str) -> str:
    """Replace relative paths in the text of components; without any, return the text unchanged."""
    parts = Component.parse_all(text)
    found = tuple(map(_absolute, parts))
    return text if found == parts else " + ".join(map(str, found))
