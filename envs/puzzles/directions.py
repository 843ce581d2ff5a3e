"""Reader of directions (``up up left``, ``UUL``), and shortest ways over boards that are drawn in text.

A board is rows of characters separated by spaces, and a place is an index into that text: the places left and right of
a place are at a distance of 2 characters, those above and below at a distance of one ``stride``. A set of places is an
integer with a bit for each place.
"""

from __future__ import annotations

import functools

DIRECTIONS = {"U": "up", "D": "down", "L": "left", "R": "right"}
# Separators of directions, as in "[up, up]" and "U -> U".
_BETWEEN = str.maketrans(dict.fromkeys(",;[]()->\u2192", " "))
_LETTERS = {word: letter for letter, word in DIRECTIONS.items()}


def read_directions(text: str) -> str | None:
    """Return the directions in ``text`` as a string over "UDLR"; None if there are none, or if there are other words.

    Words and runs of letters may be mixed, in upper or lower case, separated by spaces, commas or arrows, and may stand
    in brackets.
    """
    found = []
    for token in text.translate(_BETWEEN).split():
        if token.lower() in _LETTERS:
            found.append(_LETTERS[token.lower()])
        elif token.upper().strip("UDLR"):
            return None
        else:
            found.append(token.upper())
    return "".join(found) or None


@functools.lru_cache(maxsize=64)
def direction_steps(stride: int) -> dict[str, int]:
    """Return for each direction, "U", "D", "L" and "R", the difference between the new place and the old one."""
    return {"U": -stride, "D": stride, "L": -2, "R": 2}


def flood_layers(free: int, stride: int, start: int, goal: int | None = None) -> list[int]:
    """Return the sets of places of ``free`` at distance 0, 1, 2, ... from ``start``, up to the set with ``goal`` or
    until no place is left.

    The border of the board must not be in ``free``.
    """
    front, end = 1 << start, 0 if goal is None else 1 << goal
    layers = [front]
    while not front & end:
        free &= ~front
        front = (front << 2 | front >> 2 | front << stride | front >> stride) & free
        if not front:
            break
        layers.append(front)
    return layers


def trace_way(layers: list[int], stride: int, goal: int) -> str:
    """Return a shortest way to ``goal`` as a string over "UDLR". ``goal`` must be in the last of the ``layers`` of
    `flood_layers`."""
    moves, place, directions = [], goal, tuple(direction_steps(stride).items())
    for layer in layers[-2::-1]:
        for move, step in directions:
            if layer >> place - step & 1:
                moves.append(move)
                place -= step
                break
    return "".join(reversed(moves))
