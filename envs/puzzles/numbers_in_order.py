"""Reader of answers with one number for each of the items 1 to n: in order, ``0 1 1``, or each after its item, ``1: 0,
2: 1, 3: 1``, ``x1 = 0, x2 = 1, x3 = 1`` or ``Vertex 2 -> 1; vertex 1 -> 3``."""

from __future__ import annotations

import re

from ...rewards.verifiers.grid import GridError, parse_grid

_NAMED = re.compile(
    r"[ \t]*(?:[A-Za-z]+[ _]?)?([1-9][0-9]{0,3})[ \t]*(?::|=|->|\u2192)[ \t]*(-?[0-9]{1,9})[ \t]*(?:[,;\n]|$)"
)


def read_numbers_in_order(answer: str, count: int) -> list[int] | None:
    """Return the numbers for the items 1 to ``count``, in the order of the items; None if the answer does not have
    exactly one number for each item."""
    text = answer.strip().strip("[](){} ")
    if any(mark in text for mark in ":=>\u2192"):
        found: dict[str, int] = {}
        place = 0
        while place < len(text):
            pair = _NAMED.match(text, place)
            if pair is None or pair[1] in found:
                return None
            found[pair[1]] = int(pair[2])
            place = pair.end()
        values = [found.get(str(thing)) for thing in range(1, count + 1)]
        return [v for v in values if v is not None] if len(found) == count and None not in values else None
    try:
        rows = parse_grid(text)
    except GridError:
        return None
    return rows[0] if len(rows) == 1 and len(rows[0]) == count else None
