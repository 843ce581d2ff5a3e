"""What a kind of slow program is: how it is written, how it is written to be fast, and what it takes."""

from __future__ import annotations

from typing import NamedTuple

NUMBERS, TEXT, NUMBER = "numbers", "text", "number"


class Kind(NamedTuple):
    """A kind of slow program, of which constants are drawn.

    Args:
        takes: `NUMBERS`, `TEXT` or `NUMBER`.
        slow, fast: statements that leave the same in $y for every $x. In them stand ``?(v)`` for a condition on v, and
            ``!(v)`` for a value made of it; $c and $d for constants; $l and $m for two letters.
        why: what is slow about it.
        instead: what to do.
        c, d: the constants.
        values: the least and the greatest number of a large list.
        base, scale: a large argument has the length, or is about, ``base + scale * size``.
        letters: of how many letters a text is made.
        often: whether the condition is one that mostly holds.
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
