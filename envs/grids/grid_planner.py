"""Shortest paths to the end of a mission: distances from every cell and direction, and the next action on a path.

A *configuration* is a world without the agent's cell and direction. Each configuration has a table of the minimum
number of actions to the end from every cell and direction. It is filled by a backward search from the rules' options,
each of which leads to another configuration with its own table. Shut doors that can be opened count as cells that take
two actions, so that a door passed twice counts as opened twice until it is open.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .cells import ENTERABLE
from .grid_rules import GridRules, Option
from .grid_world import DONE, FORWARD, LEFT, RIGHT, TOGGLE, World

FAR = 1 << 30
"""Distance of cells from which the mission cannot be accomplished."""


def draw_level(rules: GridRules, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
    """Draw a solvable level."""
    while True:
        world = rules.lay_out(rng, params)
        if not rules.redraws or find_distance(rules, world) < FAR:
            return world


def find_distance(rules: GridRules, world: World) -> int:
    """Return the minimum number of actions from ``world`` to the end of the mission; `FAR` if there is no path."""
    still = rules.still(world)
    return tabulate(rules, _configuration(still))[still.agent * 4 + still.facing]


def find_action(rules: GridRules, world: World) -> int:
    """Return the next action on a shortest path; "done" if there is no path."""
    world = rules.still(world)
    table, (_, cells, agent, facing, *_) = tabulate(rules, _configuration(world)), world
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


def _configuration(world: World) -> World:
    width, cells, _, _, carried, task, memo = world
    return World(width, cells, 0, 0, carried, task, memo)


def _value(rules: GridRules, world: World, option: Option) -> int:
    """Return the fewest actions to the end if the option is taken now."""
    cost = 0 if option.action in (FORWARD, DONE) else 1
    if option.ends:
        return cost
    after = rules.advance(world, option.action if cost else DONE)
    if rules.flags(after)[-1]:
        return cost
    if after.cells == world.cells and after.carried == world.carried and after.memo == world.memo:
        return FAR
    table = tabulate(rules, _configuration(rules.still(after)))
    return min(cost + table[world.agent * 4 + world.facing], FAR)


@functools.lru_cache(maxsize=512)
def tabulate(rules: GridRules, world: World) -> list[int]:
    """Return the minimum number of actions to the end for each ``4 * cell + direction``; `FAR` if there is no path.

    Args:
        rules: the family.
        world: a configuration, with the agent placed at cell 0.
    """
    width, cells, _, _, carried, task, memo = world
    entry, steps = rules.entry(world), (1, width, -1, -width)
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
            at = World(width, cells, pose // 4, pose % 4, carried, task, memo)
            value = _value(rules, at, option)
            if value < FAR:
                starts.setdefault(value, []).append(pose)
    return fill_distances(entry, steps, starts)


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
