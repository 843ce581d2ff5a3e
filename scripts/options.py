"""Parsing of free arguments of the command line: ``--env-option source=my.jsonl``, ``--teacher-option window=50``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..errors import InputError

_PYTHON = {"True": True, "False": False, "None": None}


def parse_options(texts: Iterable[str], what: str) -> dict[str, Any]:
    """Parse texts ``name=value`` into a dictionary; values are parsed as JSON if possible, else kept as text.

    Args:
        what: owner of the options, with an article, for the error message: "a teacher".

    Raises:
        InputError: a text has another form, or a name is given twice.
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{what} option is given as name=value, not {text!r}.")
        if name in options:
            raise InputError(f"{what} option {name!r} is given twice; give it once.")
        try:
            options[name] = _PYTHON[value] if value in _PYTHON else json.loads(value)
        except ValueError:
            options[name] = value
    return options
