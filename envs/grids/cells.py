"""Contents of a cell as one number: a kind, a colour, a door's state, and a box's contents.

A grid is then a `bytes` object, which is immutable, hashes fast and is cut and translated without loops. Kinds, colours
and states are numbered as in MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), so that `ENCODING` maps each code
to the three numbers of MiniGrid's observations. Other tables hold the properties of each code that steps and views use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

KINDS = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
STATES = ("open", "closed", "locked")
PORTABLE = ("key", "ball", "box")


class CellThing(NamedTuple):
    """The contents of a cell.

    Args:
        kind: one of `KINDS`.
        colour: one of `COLOURS`; "red" for kinds without one, as MiniGrid encodes them.
        state: one of `STATES` for a door; "open" for all else.
        inside: code of a box's contents, 0 for nothing.
    """

    kind: str
    colour: str = "red"
    state: str = "open"
    inside: int = 0


def _list_things() -> list[CellThing]:
    things = [CellThing("empty"), CellThing("wall", "grey"), CellThing("goal", "green"), CellThing("lava")]
    things += [CellThing("door", colour, state) for colour in COLOURS for state in STATES]
    things += [CellThing(kind, colour) for kind in PORTABLE for colour in COLOURS]
    things += [CellThing("floor", colour) for colour in COLOURS]
    held = [code for code, thing in enumerate(things) if thing.kind in ("key", "ball")]
    return things + [CellThing("box", colour, "open", inside) for colour in COLOURS for inside in held]


THINGS: tuple[CellThing, ...] = tuple(_list_things())
"""Contents of a cell, indexed by code."""
CODES: dict[CellThing, int] = {thing: code for code, thing in enumerate(THINGS)}
EMPTY, WALL, GOAL, LAVA = range(4)


def code_of(kind: str, colour: str = "red", state: str = "open", inside: int = 0) -> int:
    """Return the code of a thing. Raises KeyError for a thing that no grid contains."""
    return CODES[CellThing(kind, colour, state, inside)]


def name_thing(code: int) -> str:
    """Name a thing in words: "wall", "red key", "locked blue door"."""
    thing = THINGS[code]
    if thing.kind == "door":
        return f"{thing.state} {thing.colour} door"
    return f"{thing.colour} {thing.kind}" if thing.kind in (*PORTABLE, "floor") else thing.kind


def _flags(*kinds: str, doors: tuple[str, ...] = ()) -> bytes:
    return bytes([t.state in doors if t.kind == "door" else t.kind in kinds for t in THINGS])


ENTERABLE = _flags("empty", "floor", "goal", "lava", doors=("open",))
"""1 for each code that the agent can step onto."""
CAN_CARRY = _flags(*PORTABLE)
OPAQUE = np.frombuffer(_flags("wall", doors=("closed", "locked")), np.uint8)
ENCODING = np.array(
    [(KINDS.index(t.kind), COLOURS.index(t.colour), STATES.index(t.state)) for t in THINGS], dtype=np.uint8
)
"""uint8[codes, 3]: MiniGrid's numbers of kind, colour and state. An empty cell is (1, 0, 0)."""
TOGGLED: dict[int, int] = {}
"""The code after an unlocked door is opened or closed, or a box is opened."""
UNLOCKED: dict[int, tuple[int, int]] = {}
"""For each locked door: the key that opens it, and the open door."""
SHUT: dict[int, int] = {}
"""For each open door: the closed one."""
for _code, _thing in enumerate(THINGS):
    if _thing.kind == "box":
        TOGGLED[_code] = _thing.inside
    elif _thing.kind == "door" and _thing.state == "locked":
        UNLOCKED[_code] = code_of("key", _thing.colour), code_of("door", _thing.colour)
    elif _thing.kind == "door":
        TOGGLED[_code] = code_of("door", _thing.colour, "open" if _thing.state == "closed" else "closed")
        if _thing.state == "open":
            SHUT[_code] = TOGGLED[_code]
