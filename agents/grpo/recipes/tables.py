"""Registration of the recipes in this folder's ``.toml`` files, one file per family.

Each table is a recipe. Its keys are the fields of `Recipe`; components are written as on the command line; omitted keys
default to GRPO's. ``returns``, ``baseline`` and ``scale`` describe the only credit term; several terms, and streams,
are lists of tables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, get_type_hints

from ....errors import unknown_name
from .recipe import Component, Credit, Recipe, Stream, register_recipe


def read_recipe(name: str, row: Mapping[str, Any]) -> Recipe:
    """Make a recipe from its table.

    Raises:
        InputError: a key is unknown, or a text is not a component.
    """
    term = {key: row[key] for key in ("returns", "baseline", "scale") if key in row}
    others = {key: value for key, value in row.items() if key not in term}
    return _read(Recipe, {"name": name, **others, **({"credit": [term]} if term else {})})


def _read(kind: Any, row: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    for key in row:
        if key not in hints:
            raise unknown_name(f"key of a {kind.__name__.lower()}:", key, hints)
    return kind(**{key: _READERS.get(hints[key], lambda value: value)(value) for key, value in row.items()})


_READERS: dict[Any, Any] = {
    Component: Component.parse,
    tuple[Component, ...]: Component.parse_all,
    float | Component: lambda value: Component.parse(value) if isinstance(value, str) else value,
    tuple[str, ...]: tuple,
    tuple[Credit, ...]: lambda rows: tuple(_read(Credit, row) for row in rows),
    tuple[Stream, ...]: lambda rows: tuple(_read(Stream, row) for row in rows),
}


for _file in sorted(files(__package__ or "").iterdir(), key=lambda file: file.name):
    if _file.name.endswith(".toml"):
        for _name, _row in tomllib.loads(_file.read_text("utf-8")).items():
            register_recipe(read_recipe(_name, _row))
