"""Shortest paths to the end of a mission: distances from every cell and direction, and the next action on a path.

A *configuration* is a world without the agent's cell and direction. Each configuration has a table of the minimum
number of actions to the end from every cell and direction. It is filled by a backward search from the rules' options,
each of which leads to another configuration with its own table. Shut doors that can be opened count as cells that take
two actions, so that a door passed twice counts as opened twice until it is open.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .cells import ENTERABLE
from .grid_rules import GridRules, Option
from .grid_world import DONE, FORWARD, LEFT, RIGHT, TOGGLE, World

FAR = 1 << 30
"""Distance of cells from which the mission cannot be accomplished."""
MOST_TABLES = 512
"""Maximum number of tables in the cache, and of tables that one search makes."""


def draw_level(rules: GridRules, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
    """Draw a solvable level."""
    while True:
        world = rules.lay_out(rng, params)
        if not rules.redraws or find_distance(rules, world) < FAR:
            return world


def find_distance(rules: GridRules, world: World) -> int:
    """Return the minimum number of actions from ``world`` to the end of the mission; `FAR` if there is no path."""
    still = rules.without_motion(world)
    return tabulate(rules, _configuration(rules, still))[still.agent * 4 + still.facing]


def find_action(rules: GridRules, world: World) -> int:
    """Return the next action on a shortest path; "done" if there is no path."""
    world = rules.without_motion(world)
    table, (_, cells, agent, facing, *_) = tabulate(rules, _configuration(rules, world)), world
    left = table[agent * 4 + facing]
    if left >= FAR:
        return DONE
    ahead = world.ahead
    if table[ahead * 4 + facing] + 1 == left and ENTERABLE[cells[ahead]]:
        return FORWARD
    for option in rules.options(world):
        if option.cell == ahead and option.action not in (FORWARD, DONE) and _value(rules, world, option) == left:
            return option.action
    if rules.entry(world)[ahead] == 2 and table[ahead * 4 + facing] + 2 == left:
        return TOGGLE
    for action, turned in ((LEFT, (facing - 1) % 4), (RIGHT, (facing + 1) % 4)):
        if table[agent * 4 + turned] + 1 == left:
            return action
    return DONE


def _configuration(rules: GridRules, world: World) -> World:
    width, cells, _, _, carried, task, memo = world
    region = rules.region(world)
    return World(width, cells, min(region, default=world.agent) if region is not None else 0, 0, carried, task, memo)


@dataclass
class _Search:
    """A search for a way to the end.

    Args:
        open: configurations whose tables are in progress, from the first one down to the present one.
        met: configurations in ``open`` that were reached again; tables that depend on them are incomplete, so they are
            not cached.
        left: number of tables that may still be made.
    """

    open: set[World] = field(default_factory=set)
    met: set[World] = field(default_factory=set)
    left: int = MOST_TABLES


def _value(rules: GridRules, world: World, option: Option, search: _Search | None = None) -> int:
    """Return the fewest actions to the end if the option is taken now."""
    cost = 0 if option.action in (FORWARD, DONE) else 1
    if option.ends:
        return cost + option.more
    after = rules.advance(world, option.action if cost else DONE)
    if rules.flags(after)[-1]:
        return cost
    if after.cells == world.cells and after.carried == world.carried and after.memo == world.memo:
        return FAR
    table = tabulate(rules, _configuration(rules, rules.without_motion(after)), search)
    return min(cost + table[world.agent * 4 + world.facing], FAR)


_tables: OrderedDict[tuple[GridRules, World], list[int]] = OrderedDict()


def tabulate(rules: GridRules, world: World, search: _Search | None = None) -> list[int]:
    """Return the minimum number of actions to the end for each ``4 * cell + direction``; `FAR` if there is no path.

    Args:
        rules: the family.
        world: a configuration; the agent's cell is 0, or the lowest cell of the agent's region (`GridRules.region`).
        search: the search in progress; None begins one.
    """
    if (kept := _tables.get((rules, world))) is not None:
        return kept
    width, cells, _, _, carried, task, memo = world
    search, first = search or _Search(), search is None
    if world in search.open or not search.left:
        # No shortest way to the end comes back to a configuration.
        search.met.add(world)
        return [FAR] * (4 * len(cells))
    met, search.met, search.left = search.met, set(), search.left - 1
    search.open.add(world)
    entry, steps, region = rules.entry(world), (1, width, -1, -width), rules.region(world)
    starts: dict[int, list[int]] = {}
    for option in rules.options(world):
        if option.action == FORWARD:
            poses = [option.cell * 4 + facing for facing in range(4)]
        else:
            poses = [
                (option.cell - step) * 4 + facing
                for facing, step in enumerate(steps)
                if 0 <= option.cell - step < len(entry) and entry[option.cell - step]
            ]
        for pose in poses:
            if region is not None and pose >> 2 not in region:
                continue
            at = World(width, cells, pose // 4, pose % 4, carried, task, memo)
            value = _value(rules, at, option, search)
            if value < FAR:
                starts.setdefault(value, []).append(pose)
    table = fill_distances(entry, steps, starts)
    search.open.discard(world)
    search.met.discard(world)
    if first or not search.met:
        _tables[rules, world] = table
        if len(_tables) > MOST_TABLES:
            _tables.popitem(last=False)
    search.met |= met
    return table


def fill_distances(entry: bytes, steps: tuple[int, int, int, int], rings: dict[int, list[int]]) -> list[int]:
    """Return the minimum number of actions to the nearest target for each ``4 * cell + direction``.

    Args:
        entry: for each cell 0 (blocked), 1 (entered by a step) or 2 (a door to open first).
        steps: the change of a cell's index by a step in each direction.
        rings: distance -> the targets at that distance, as ``4 * cell + direction``.
    """
    table = [FAR] * (4 * len(entry))
    level = min(rings, default=0)
    while rings:
        ring = rings.pop(level, ())
        if not ring:
            level += 1
            continue
        nearer, farther = rings.setdefault(level + 1, []), []
        for pose in ring:
            if table[pose] <= level:
                continue
            table[pose] = level
            cell, facing = pose >> 2, pose & 3
            base = pose - facing
            nearer.append(base + ((facing + 1) & 3))
            nearer.append(base + ((facing + 3) & 3))
            before = cell - steps[facing]
            if 0 <= before < len(entry) and entry[before]:
                if entry[cell] == 1:
                    nearer.append(before * 4 + facing)
                elif entry[cell] == 2:
                    farther.append(before * 4 + facing)
        if farther:
            rings.setdefault(level + 2, []).extend(farther)
        if not nearer:
            del rings[level + 1]
        level += 1
    return table
