"""Options of the planner (`Option`) towards a BabyAI instruction.

To keep the search small, a clause that another one follows lists few of its targets, and of two clauses joined by
"and", only the first incomplete one is planned for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .baby_instructions import CARRIED, JOINED, Clause, Memo, is_done, parse
from .cells import PORTABLE, THINGS
from .grid_rules import Option
from .grid_world import DONE, DROP, PICK_UP, TOGGLE, World, beside
from .ways import Ways


def list_options(instruction: tuple[Any, ...], world: World, entry: bytes) -> Sequence[Option]:
    """List the interactions that advance an instruction.

    Args:
        instruction: see `baby_instructions`.
        world: a state whose memo is a `Memo`. The agent's cell matters only by its region (`GridRules.region`).
        entry: cost of entry of each cell; see `GridRules.entry`.
    """
    clause, progress, last = parse(instruction)[0], world.memo.progress, True
    while clause.name in JOINED:
        order = (1, 0) if clause.name == "after" else (0, 1)
        left = [place for place in order if not is_done(clause.parts[place], progress[place])]
        if not left:
            return []
        clause, progress, last = clause.parts[left[0]], progress[left[0]], last and len(left) == 1
    return _Planner(clause, world, entry, last).list_options()


class _Planner(Ways):
    """Options towards one clause in one configuration (see `grid_planner`)."""

    def __init__(self, clause: Clause, world: World, entry: bytes, last: bool):
        lifts = not clause.strict or clause.name in ("goto", "open")
        super().__init__(world, entry, lifts, clears=world.task.clears)
        self.clause, self.last = clause, last
        memo: Memo = world.memo
        self.marks, self.known = [memo.marks[i] for i in clause.parts], [memo.known[i] for i in clause.parts]

    def list_options(self) -> Sequence[Option]:
        match self.clause.name:
            case "goto":
                return self._go_to()
            case "open":
                return self._open()
            case "pickup":
                return self._pick_up(self.marks[0], ends=self.last)
        return self._put_next()

    def _go_to(self) -> Sequence[Option]:
        if not self.known[0] and CARRIED in self.marks[0]:
            return [option._replace(ends=self.last) for option in self.put_down([])]
        return self._aim(DONE, self.known[0], ends=self.last)

    def _open(self) -> Sequence[Option]:
        doors = [door for door in sorted(self.marks[0]) if self.entry[door]]
        if not doors:
            return next(filter(None, (self.unlock(door) for door in sorted(self.marks[0]))), [])
        # An open door is shut first.
        states = ((door, THINGS[self.world.cells[door]].state) for door in self.near(doors))
        return self.clear_way(doors) or [Option(TOGGLE, door, self.last and state != "open") for door, state in states]

    def _pick_up(self, meant: Iterable[int], ends: bool) -> Sequence[Option]:
        # "A grey object" of MiniGrid's may be a wall.
        found = sorted(i for i in meant if i != CARRIED and THINGS[self.world.cells[i]].kind in PORTABLE)
        if self.world.carried:
            return self.clear_way(found) or self.put_down(found)
        return self._aim(PICK_UP, found, ends)

    def _put_next(self) -> Sequence[Option]:
        cells, width, fixed = self.world.cells, self.world.width, self.known[1]
        around = dict.fromkeys(place for index in sorted(fixed) for place in beside(width, index))
        free = [place for place in around if not cells[place]]
        if CARRIED in self.marks[0]:
            if free:
                chosen = self.near(free)
                way = self.clear_way(free)
                return way or [Option(DROP, index, self.last) for index in (chosen if self.last else chosen[:2])]
            return self._make_room(around)
        move = self.marks[0] - {CARRIED}
        # The way to the second thing has to be free before the first one is picked up.
        if not free and not any(place in move for place in around):
            return self._make_room(around)
        if free and (way := self.clear_way(free, move)):
            return way
        return self._pick_up(move, ends=False)

    def _make_room(self, around: Iterable[int]) -> Sequence[Option]:
        """List the options to take away one of the things in these cells."""
        things = [place for place in around if THINGS[self.world.cells[place]].kind in PORTABLE]
        if self.world.carried:
            near = self.near(things)
            return self.clear_way(things) or self.set_aside(near[0], self.front(near)) if near else []
        return self._aim(PICK_UP, things, ends=False)

    def _aim(self, action: int, targets: Iterable[int], ends: bool) -> Sequence[Option]:
        """List the options to act on a target; if none can be faced, those that clear the way to one."""
        targets = sorted(targets)
        if way := self.clear_way(targets):
            return way
        chosen = self.near(targets)
        return [Option(action, index, ends) for index in (chosen if self.last else chosen[:1])]
