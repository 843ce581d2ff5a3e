"""Methods of text with their costs, and `charge_by`, which adds a cost to a method of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .formatting import format_method
from .meter import MAPPINGS, Meter, size, walk

Method = Callable[..., Any]


def charge_by(cost: Callable[..., int], method: Method) -> Method:
    """Make a method that charges ``cost(owner, *arguments)`` and then calls a method of Python."""

    def run(meter: Meter, owner: Any, /, *given: Any, **options: Any) -> Any:
        meter.charge(cost(owner, *given, *options.values()))
        return method(owner, *given, **options)

    return run


def total_length(owner: Any, *given: Any) -> int:
    return len(owner) + sum(map(size, given))


def no_cost(*_: Any) -> int:
    return 0


def _search_cost(text: str, *given: Any) -> int:
    start = given[1] if len(given) > 1 and isinstance(given[1], int) else 0
    return max(len(text) - start, 0) if start >= 0 else min(-start, len(text))


def _affix_cost(_: str, *given: Any) -> int:
    affixes = given[0] if given and isinstance(given[0], tuple) else given[:1]
    return sum(map(size, affixes))


def _width_cost(text: str, *given: Any) -> int:
    return max(len(text), given[0] if given and isinstance(given[0], int) else 0)


def _tabs_cost(text: str, *given: Any) -> int:
    each = given[0] if given and isinstance(given[0], int) else 8
    return len(text) + text.count("\t") * max(each, 0)


def _replace_cost(text: str, *given: Any) -> int:
    if len(given) < 2 or not all(isinstance(part, str) for part in given[:2]):
        return len(text)
    places = text.count(given[0])
    if len(given) > 2 and isinstance(given[2], int) and given[2] >= 0:
        places = min(places, given[2])
    return len(text) + places * len(given[1])


def _translate_cost(text: str, *given: Any) -> int:
    table = given[0] if given and type(given[0]) in MAPPINGS else {}
    return len(text) * max([1, *map(size, table.values())])


def _join(meter: Meter, text: str, parts: Any, /) -> str:
    found = list(walk(meter, parts))
    meter.charge(sum(map(size, found)) + len(text) * max(len(found) - 1, 0))
    return text.join(found)


TEXT = {
    **{
        name: charge_by(total_length, getattr(str, name))
        for name in (
            *("capitalize", "casefold", "lower", "upper", "swapcase", "title", "strip", "lstrip", "rstrip"),
            *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric"),
            *("isspace", "istitle", "isupper", "split", "rsplit", "splitlines", "partition", "rpartition"),
            *("removeprefix", "removesuffix"),
        )
    },
    **{name: charge_by(_search_cost, getattr(str, name)) for name in ("count", "find", "rfind", "index", "rindex")},
    **{name: charge_by(_affix_cost, getattr(str, name)) for name in ("startswith", "endswith")},
    **{name: charge_by(_width_cost, getattr(str, name)) for name in ("center", "ljust", "rjust", "zfill")},
    "expandtabs": charge_by(_tabs_cost, str.expandtabs),
    "replace": charge_by(_replace_cost, str.replace),
    "translate": charge_by(_translate_cost, str.translate),
    "join": _join,
    "format": format_method,
}
