"""Methods of text; and how a method of Python is given its cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .formatting import format_method
from .meter import MAPPINGS, Meter, size, walk

Method = Callable[..., Any]


def costing(cost: Callable[..., int], method: Method) -> Method:
    """A method of Python that costs so much."""

    def run(meter: Meter, owner: Any, /, *given: Any, **options: Any) -> Any:
        meter.charge(cost(owner, *given, *options.values()))
        return method(owner, *given, **options)

    return run


def length(owner: Any, *given: Any) -> int:
    return len(owner) + sum(map(size, given))


def nothing(*_: Any) -> int:
    return 0


def _looked_through(text: str, *given: Any) -> int:
    start = given[1] if len(given) > 1 and isinstance(given[1], int) else 0
    return max(len(text) - start, 0) if start >= 0 else min(-start, len(text))


def _affix(_: str, *given: Any) -> int:
    affixes = given[0] if given and isinstance(given[0], tuple) else given[:1]
    return sum(map(size, affixes))


def _width(text: str, *given: Any) -> int:
    return max(len(text), given[0] if given and isinstance(given[0], int) else 0)


def _tabs(text: str, *given: Any) -> int:
    each = given[0] if given and isinstance(given[0], int) else 8
    return len(text) + text.count("\t") * max(each, 0)


def _replaced(text: str, *given: Any) -> int:
    if len(given) < 2 or not all(isinstance(part, str) for part in given[:2]):
        return len(text)
    places = text.count(given[0])
    if len(given) > 2 and isinstance(given[2], int) and given[2] >= 0:
        places = min(places, given[2])
    return len(text) + places * len(given[1])


def _translated(text: str, *given: Any) -> int:
    table = given[0] if given and type(given[0]) in MAPPINGS else {}
    return len(text) * max([1, *map(size, table.values())])


def _join(meter: Meter, text: str, parts: Any, /) -> str:
    found = list(walk(meter, parts))
    meter.charge(sum(map(size, found)) + len(text) * max(len(found) - 1, 0))
    return text.join(found)


TEXT = {
    **{
        name: costing(length, getattr(str, name))
        for name in (
            *("capitalize", "casefold", "lower", "upper", "swapcase", "title", "strip", "lstrip", "rstrip"),
            *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric"),
            *("isspace", "istitle", "isupper", "split", "rsplit", "splitlines", "partition", "rpartition"),
            *("removeprefix", "removesuffix"),
        )
    },
    **{name: costing(_looked_through, getattr(str, name)) for name in ("count", "find", "rfind", "index", "rindex")},
    **{name: costing(_affix, getattr(str, name)) for name in ("startswith", "endswith")},
    **{name: costing(_width, getattr(str, name)) for name in ("center", "ljust", "rjust", "zfill")},
    "expandtabs": costing(_tabs, str.expandtabs),
    "replace": costing(_replaced, str.replace),
    "translate": costing(_translated, str.translate),
    "join": _join,
    "format": format_method,
}
