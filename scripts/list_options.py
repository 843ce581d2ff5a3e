"""Options of registered classes and functions, for ``palaestra list`` and the site.

Options declared by `checks.option` have range and meaning; for other parameters only type and default are known.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from typing import Any

from ..checks import DeclaredOption, declared_options, describe_range
from .list_stages import Row


def option_rows(value: Any) -> list[Row]:
    """List the options of a class or function: name, type, default, range or choices, and meaning."""
    declared = _find_options(value)
    rows = []
    for item in inspect.signature(value).parameters.values():
        if item.kind in (item.VAR_KEYWORD, item.VAR_POSITIONAL):
            continue
        kind = "" if item.annotation is item.empty else getattr(item.annotation, "__name__", str(item.annotation))
        shown = re.sub(r"Callable\[.*\]", "callable", re.sub(r"\bLiteral\[.*?\]", "str", kind))
        option = declared.get(item.name)
        rows.append(
            {
                "name": item.name,
                "type": "" if shown == "Any" else shown,
                "default": "required" if item.default is item.empty else show_default(item.default),
                "range": _describe_choices(option, kind) if option else "",
                "summary": option.says if option else "",
            }
        )
    return rows


def _find_options(value: Any) -> Mapping[str, DeclaredOption]:
    """Return the declared options of a class; for a registered configuration of a teacher, those of its ``teacher``."""
    made = getattr(value, "teacher", value)
    return declared_options(made) if isinstance(made, type) else {}


def _describe_choices(option: DeclaredOption, kind: str) -> str:
    choices = option.choices() if callable(option.choices) else option.choices
    if choices or "Literal[" in kind:
        return ", ".join(map(str, choices)) or re.sub(r".*\[|\].*|['\"]", "", kind)
    if not re.fullmatch(r"(int|float)( \| None)?", kind):
        return ""
    low = 0 if option.low is None and kind.startswith("int") else option.low
    return describe_range(-math.inf if low is None else low, option.high, option.above).removeprefix("of ")


def show_default(value: Any) -> str:
    """Format a default value, without memory addresses, so that the text is the same in every process."""
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = repr(value)
    return f"{type(value).__name__}(…)" if " at 0x" in text else text


def describe_class(value: Any) -> str:
    """Return a docstring, without the section "Args" if that repeats declared options."""
    text = inspect.cleandoc(value.__doc__ or "")
    if not _find_options(value):
        return text
    return re.sub(r"^Args:\n(?: .*\n?|\n(?= ))*\n?", "", text, flags=re.MULTILINE).strip()
