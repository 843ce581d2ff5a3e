"""The four directions in text, for puzzles whose answers are ways: ``up up left``, ``UUL`` and ``u, u, l`` alike."""

from __future__ import annotations

DIRECTIONS = {"U": "up", "D": "down", "L": "left", "R": "right"}
_LETTERS = {word: letter for letter, word in DIRECTIONS.items()}


def read_directions(text: str) -> str | None:
    """The directions in ``text`` as a string over "UDLR"; None where there is none, or anything else beside them.

    Words and runs of letters may be mixed, in either case, separated by spaces or commas.
    """
    found = []
    for token in text.replace(",", " ").split():
        if token.lower() in _LETTERS:
            found.append(_LETTERS[token.lower()])
        elif token.upper().strip("UDLR"):
            return None
        else:
            found.append(token.upper())
    return "".join(found) or None
