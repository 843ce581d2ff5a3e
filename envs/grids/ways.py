"""Ways past things and locked doors, as options of planners: things in the way are carried aside, and doors are opened
with their keys, which may lie behind others or in boxes."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterable, Sequence, Set

from .cells import EMPTY, PORTABLE, THINGS, UNLOCKED
from .grid_rules import DOORS, FREE_STEPS, Option, drop_options, entry_table
from .grid_world import DROP, PICK_UP, TOGGLE, World, beside

IN_THE_WAY, LOCKED = 12, 60
"""Costs of passing a thing in the way, and a locked door, in steps, when ways are compared."""
_THINGS = bytes(thing.kind in PORTABLE for thing in THINGS).ljust(256, b"\0")


@functools.lru_cache(maxsize=256)
def find_regions(entry: bytes, width: int) -> list[int]:
    """Return for each cell the lowest cell that can be reached from it; -1 for blocked ones.

    Args:
        entry: cost of entry of each cell, see `GridRules.entry`.
        width: cells in a row.
    """
    found = [-1] * len(entry)
    for start, cost in enumerate(entry):
        if cost and found[start] < 0:
            found[start] = start
            edge = [start]
            for here in edge:
                for there in beside(width, here):
                    if 0 <= there < len(entry) and entry[there] and found[there] < 0:
                        found[there] = start
                        edge.append(there)
    return found


def enter_unlocked(world: World) -> bytes:
    """Return the cost of entry of each cell (see `GridRules.entry`), with locked doors blocked even if the agent
    carries their key: so the planner does not put a key down before its door is open."""
    return world.cells.translate(entry_table(EMPTY))


def find_region(world: World, entry: bytes) -> set[int]:
    """Return the cells that the agent can reach through free cells and doors that it can open."""
    labels = find_regions(entry, world.width)
    return {index for index, label in enumerate(labels) if label >= 0 and label == labels[world.agent]}


class Ways:
    """Options towards places in one configuration.

    Args:
        world: a state. The agent's cell matters only by its region.
        entry: cost of entry of each cell, as from `enter_unlocked`.
        lifts: True if things in the way may be picked up.
        clears: False for levels in which nothing is in the way: all targets count as accessible.
    """

    def __init__(self, world: World, entry: bytes, lifts: bool = True, clears: bool = True):
        self.world, self.entry, self.lifts, self.clears = world, entry, lifts, clears
        self.region = find_region(world, entry) if clears else set()

    def front(self, targets: Iterable[int]) -> set[int]:
        """Return the cells beside the targets that are no walls."""
        cells, width = self.world.cells, self.world.width
        found = {place for index in targets for place in beside(width, index) if 0 <= place < len(cells)}
        return {place for place in found if FREE_STEPS[cells[place]] or DOORS[cells[place]] or _THINGS[cells[place]]}

    def near(self, targets: Iterable[int]) -> list[int]:
        """Return the targets that can be faced now, or else all of them."""
        targets = [*targets]
        if not self.clears:
            return targets
        return [index for index in targets if not self.region.isdisjoint(beside(self.world.width, index))] or targets

    def clear_way(self, targets: Iterable[int], passed: Set[int] = frozenset()) -> Sequence[Option]:
        """List the options towards facing a target, if none can be faced now; the things in ``passed`` will be gone."""
        fronts = self.front(targets)
        if not self.clears or not fronts or not self.region.isdisjoint(fronts):
            return []
        return self.clear(fronts, passed)

    def clear(
        self, fronts: Set[int], passed: Set[int] = frozenset(), doors: Set[int] = frozenset()
    ) -> Sequence[Option]:
        """List the options towards one of these cells, without unlocking ``doors``."""
        block = self._find_block(fronts, passed, doors)
        if block is None or self.region.isdisjoint(beside(self.world.width, block)):
            return []
        if not _THINGS[self.world.cells[block]]:
            return self.unlock(block, doors)
        if THINGS[self.world.cells[block]].inside:
            return [Option(TOGGLE, block)]
        if self.world.carried:
            return self.set_aside(block, self.front([block]))
        return [Option(PICK_UP, block)] if self.lifts else []

    def unlock(self, door: int, doors: Set[int] = frozenset()) -> Sequence[Option]:
        """List the options towards opening a locked door: its key, out of a box if needed."""
        cells = self.world.cells
        if cells[door] not in UNLOCKED:
            return []
        if self.region.isdisjoint(self.front([door])):
            return self.clear(self.front([door]), doors=doors | {door})
        key = UNLOCKED[cells[door]][0]
        if self.world.carried == key:
            return [Option(TOGGLE, door)]
        keys = [index for index, code in enumerate(cells) if code == key]
        boxes = [index for index, code in enumerate(cells) if THINGS[code].inside == key]
        fronts = self.front(keys or boxes)
        if self.region.isdisjoint(fronts):
            return self.clear(fronts, doors=doors | {door})
        near = self.near(keys or boxes)
        if not keys:
            return [Option(TOGGLE, index) for index in near]
        if self.world.carried:
            return self.set_aside(near[0], fronts)
        return [Option(PICK_UP, index) for index in near]

    def _find_block(self, fronts: Set[int], passed: Set[int], doors: Set[int]) -> int | None:
        """Return the first thing or locked door on the cheapest way to one of these cells; None if there is no way."""
        cells, width = self.world.cells, self.world.width
        held = {THINGS[code].inside or code for code in {*cells, self.world.carried}}
        costs, heap = dict.fromkeys(self.region, 0), [(0, index) for index in sorted(self.region)]
        first: dict[int, int | None] = dict.fromkeys(self.region)
        while heap:
            cost, here = heapq.heappop(heap)
            if cost > costs[here]:
                continue
            if here in fronts:
                return first[here]
            for there in beside(width, here):
                if not 0 <= there < len(cells):
                    continue
                code = cells[there]
                if self.entry[there] or there in passed:
                    step = 1
                elif _THINGS[code]:
                    step = IN_THE_WAY
                elif code in UNLOCKED and UNLOCKED[code][0] in held and there not in doors:
                    step = LOCKED
                else:
                    continue
                if cost + step < costs.get(there, 1 << 30):
                    costs[there] = cost + step
                    first[there] = there if first[here] is None and step > 1 else first[here]
                    heapq.heappush(heap, (cost + step, there))
        return None

    def put_down(self, targets: Sequence[int]) -> Sequence[Option]:
        """List cells for the carried thing before one of these targets is picked up."""
        near = self.near(targets) or [self.world.agent]
        found = drop_options(self.world, near[0])
        if not self.clears:
            return found
        reached = [option for option in found if not self.region.isdisjoint(beside(self.world.width, option.cell))]
        return reached or self.set_aside(near[0], self.front(targets) or self.region)

    def set_aside(self, near: int, fronts: Set[int]) -> Sequence[Option]:
        """List cells near a cell at which the carried thing leaves the way to one of ``fronts`` free."""
        world, spare, tight = self.world, [], []
        edge = sorted(self.region & fronts) or [near]
        seen = set(edge)
        for here in edge:
            if here in self.region and world.cells[here] == EMPTY and (left := self._flood_without(here)):
                fits = [area for area in left if not area.isdisjoint(fronts)]
                around = beside(world.width, here)
                clear = len(left) == 1 and near not in around and not any(DOORS[world.cells[i]] for i in around)
                (spare if clear else tight).extend([Option(DROP, here)] if fits else [])
                if len(spare) == 2:
                    break
            around = [there for there in beside(world.width, here) if there in self.region and there not in seen]
            seen.update(around)
            edge += around
        return spare or tight[:4]

    def _flood_without(self, cell: int) -> list[set[int]]:
        """Return the parts into which the region falls without a cell."""
        parts: list[set[int]] = []
        for start in beside(self.world.width, cell):
            if start not in self.region or any(start in part for part in parts):
                continue
            edge, seen = [start], {start, cell}
            for here in edge:
                around = [i for i in beside(self.world.width, here) if i in self.region and i not in seen]
                seen.update(around)
                edge += around
            parts.append(seen - {cell})
        return parts
