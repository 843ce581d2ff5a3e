"""The row type of the tables of slow programs: a computation in a slow and a fast version."""

from __future__ import annotations

from typing import NamedTuple

NUMBERS, TEXT, NUMBER = "numbers", "text", "number"


class SlowProgramKind(NamedTuple):
    """A kind of slow program; its constants are drawn.

    Args:
        takes: the type of the argument: `NUMBERS`, `TEXT` or `NUMBER`.
        slow, fast: statements that compute the same $y for every $x. ``?(v)`` stands for a condition on v, ``!(v)`` for
            a value computed from v; $c and $d for constants; $l and $m for two letters.
        why: the reason why it is slow.
        instead: the faster way.
        c, d: the values of the constants.
        values: the minimum and maximum number of a large list.
        base, scale: a large list or text has the length ``base + scale * size``; a large number is about as large.
        letters: the size of the alphabet of texts.
        often: True for a condition that mostly holds.
    """

    takes: str
    slow: str
    fast: str
    why: str
    instead: str
    c: range = range(1)
    d: range = range(1)
    values: tuple[int, int] = (-9, 15)
    base: int = 0
    scale: float = 1.0
    letters: int = 8
    often: bool = False
