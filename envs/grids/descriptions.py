"""Worlds in text: the map, the agent's view (rotated so that it faces up), and the view in words.

All are exact: a text leaves out only what cannot be seen. Parts that depend on cells only are cached.
"""

from __future__ import annotations

import functools

import numpy as np

from .cells import EMPTY, THINGS, WALL
from .grid_world import DIRECTIONS, World
from .partial_view import VIEW, Viewer
from .vocabulary import COLOURED, SIGN_TABLE, Vocabulary

AGENT_SIGNS = ">v<^"
_SIGN_BYTES = np.frombuffer(SIGN_TABLE, np.uint8)
_SIDE = VIEW // 2


def draw_map(world: World) -> str:
    """Draw the map as lines of text, one sign a cell: # wall, K key, A ball, B box, L D O door (locked, closed, open),
    G goal, ~ lava, > v < ^ agent, . nothing."""
    rows, width = _draw_cells(world.width, world.cells), world.width
    at = world.agent + world.agent // width
    return rows[:at] + AGENT_SIGNS[world.facing] + rows[at + 1 :]


@functools.lru_cache(maxsize=64)
def _draw_cells(width: int, cells: bytes) -> str:
    signs = cells.translate(SIGN_TABLE).decode("ascii")
    return "\n".join([signs[start : start + width] for start in range(0, len(signs), width)])


@functools.lru_cache(maxsize=64)
def list_things(width: int, cells: bytes, vocabulary: Vocabulary) -> str:
    """List the things whose details a map does not show, with positions (column, row) from the upper left corner; "" if
    there are none."""
    named = vocabulary.names
    found = [
        f"{named[code]} at ({index % width}, {index // width})" for index, code in enumerate(cells) if COLOURED[code]
    ]
    return f"Things: {', '.join(found)}." if found else ""


def describe_state(world: World, vocabulary: Vocabulary) -> str:
    """Return the sentence on direction, the cell ahead and the carried thing."""
    ahead = vocabulary.ahead[world.cells[world.ahead]]
    carried = "nothing"
    if world.carried:
        carried = f"{'a' if vocabulary.coloured else 'the'} {vocabulary.names[world.carried]}"
    return f"You face {DIRECTIONS[world.facing]}. Ahead: {ahead}. You carry {carried}."


def describe_map(world: World, viewer: Viewer, vocabulary: Vocabulary) -> str:
    """Return the whole map, the things on it, and the sentence on the agent."""
    text = draw_map(world)
    if vocabulary.coloured and (things := list_things(world.width, world.cells, vocabulary)):
        text = f"{text}\n{things}"
    return f"{text}\n{describe_state(world, vocabulary)}"


def describe_view(world: World, viewer: Viewer, vocabulary: Vocabulary) -> str:
    """Return the agent's view as seven rows, with the agent ^ in the last row facing up and ? for unseen cells; then
    the things in it, with positions relative to the agent."""
    codes, mask = viewer.scene(world).look(world)
    signs = _SIGN_BYTES[codes]
    if mask is not None:
        signs = np.where(mask[..., 0], signs, ord("?"))
    signs[_SIDE, VIEW - 1] = ord("^")
    block = signs.T.tobytes().decode("ascii")
    rows = "\n".join([block[start : start + VIEW] for start in range(0, VIEW * VIEW, VIEW)])
    things = _list_seen(codes, mask, vocabulary)
    return f"{rows}\n{things}{describe_state(world, vocabulary)}"


def describe_words(world: World, viewer: Viewer, vocabulary: Vocabulary) -> str:
    """Return the agent's view in sentences: the visible things with their positions, and the distances to the walls."""
    codes, mask = viewer.scene(world).look(world)
    things = _list_seen(codes, mask, vocabulary, everything=True) or "You see nothing but walls.\n"
    wall, column, row = vocabulary.words["wall"], codes[_SIDE, ::-1].tolist(), codes[:, VIEW - 1].tolist()
    ways = {"ahead": column[1:], "to the left": row[_SIDE - 1 :: -1], "to the right": row[_SIDE + 1 :]}
    far = [f"{cells.index(WALL) + 1} {way}" for way, cells in ways.items() if WALL in cells]
    walls = f"Nearest {wall}: {', '.join(far)}.\n" if far else ""
    return f"{things}{walls}{describe_state(world, vocabulary)}"


def _list_seen(codes: np.ndarray, mask: np.ndarray | None, vocabulary: Vocabulary, everything: bool = False) -> str:
    """List the things in view, the nearest first: all except walls, or only those whose colour a map does not show."""
    found = []
    flat = codes.tobytes()
    seen = None if mask is None else mask.tobytes()
    for index, code in enumerate(flat):
        wanted = COLOURED[code] or (everything and code not in (EMPTY, WALL))
        if not wanted or (seen is not None and not seen[index]):
            continue
        column, row = divmod(index, VIEW)
        ahead, aside = VIEW - 1 - row, column - _SIDE
        if not ahead and not aside:
            continue
        where = [f"{ahead} ahead"] if ahead else []
        if aside:
            where.append(f"{abs(aside)} {'left' if aside < 0 else 'right'}")
        found.append((ahead + abs(aside), f"{vocabulary.names[code]} {' and '.join(where)}"))
    if not found:
        return ""
    return f"You see: {'; '.join(text for _, text in sorted(found))}.\n"


@functools.lru_cache(maxsize=256)
def legend_of(cells: bytes, vocabulary: Vocabulary) -> str:
    """Return the legend of the signs on a map of these cells."""
    kinds = {THINGS[code].kind for code in set(cells)} | {THINGS[THINGS[code].inside].kind for code in set(cells)}
    word = vocabulary.words
    parts = [f"# is {word['wall']}", ". is free"]
    if "door" in kinds:
        parts.append(f"L a {word['locked']}, D a {word['closed']} and O an {word['open']} {word['door']}")
    signs = (("key", "K"), ("ball", "A"), ("box", "B"), ("goal", "G"), ("lava", "~"), ("floor", "_"))
    parts += [f"{sign} {word[kind]}" for kind, sign in signs if kind in kinds]
    return ", ".join(parts)
