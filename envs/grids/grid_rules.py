"""`GridRules`: the definition of a family of gridworlds, the source of its native environment and its text twin.

A family defines the layout of levels, the mission, its subgoals, and the interactions that a planner may consider
(`Option`). Dynamics, observations, texts, pictures, extras and the oracle are shared. ``rules`` in other modules is an
instance; it holds no episode state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..param_space import ParamSpace
from .cells import ENTERABLE, GOAL, LAVA, PORTABLE, THINGS, TOGGLED, UNLOCKED, code_of
from .descriptions import draw_map
from .grid_world import DONE, DROP, FORWARD, PICK_UP, TOGGLE, World, apply_action, beside

LevelFunctions = tuple[
    Callable[[np.random.Generator], dict[str, Any]], Callable[[Mapping[str, Any], np.random.Generator], dict[str, Any]]
]
"""Functions for teachers of levels: generate(rng) and mutate(params, rng), which both return the params of a reset."""

DOORS = bytes(thing.kind == "door" for thing in THINGS)
FREE_STEPS = bytes(1 if flag and code != LAVA else 0 for code, flag in enumerate(ENTERABLE))


SHUT_BOXES = bytes(code_of("box", t.colour) if t.kind == "box" else code for code, t in enumerate(THINGS)).ljust(256)
"""256 bytes that map each code to itself, with boxes emptied."""


class Option(NamedTuple):
    """An interaction that a planner may aim at.

    Args:
        action: pick up, drop or toggle, applied to the cell ahead; forward means being on the cell, done means facing
            it.
        cell: index of the cell.
        ends: True if this accomplishes the mission.
        more: number of further actions that accomplishing the mission takes, if ``ends``.
    """

    action: int
    cell: int
    ends: bool = False
    more: int = 0


class GridRules:
    """Base of all families. A subclass has a docstring with "Description:", "Parameters:" and "Source:", sets
    ``param_space`` and ``subgoals``, and implements `lay_out`, `mission`, `limit`, `flags` and `options`.

    Attributes:
        subgoals: names of the subgoals in the order of a solution; the last one is the mission.
        see_through: True if walls hide nothing from the agent.
        actions: number of allowed actions, the first ones of MiniGrid's seven.
        penalty: reward of a failure.
        hidden: True if the mission is to find or remember something; the text twin then shows the agent's view instead
            of the whole map.
        arguments: names of the constructor's further arguments.
        redraws: True if `lay_out` may draw unsolvable levels, which are then redrawn.
        advice: sentences for the text twin about the ends of an episode that the mission does not name, with words of
            the vocabulary in braces.
        room_side: for levels of equal rooms, cells along the side of a room, or the name of the parameter with this
            number.
    """

    param_space: ClassVar[ParamSpace]
    subgoals: ClassVar[tuple[str, ...]] = ("goal",)
    see_through: ClassVar[bool] = False
    actions: ClassVar[int] = DONE + 1
    penalty: ClassVar[float] = 0.0
    hidden: ClassVar[bool] = False
    arguments: ClassVar[tuple[str, ...]] = ()
    redraws: ClassVar[bool] = False
    advice: ClassVar[str] = ""
    room_side: ClassVar[int | str | None] = None

    @property
    def return_range(self) -> tuple[float, float]:
        """Minimum and maximum return of an episode."""
        return min(self.penalty, 0.0), 1.0

    # Implemented by families.

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        """Draw a level. All randomness of the episode is drawn here."""
        raise NotImplementedError(f"{type(self).__name__} must implement lay_out(rng, params).")

    def mission(self, world: World) -> str:
        """Return the mission as one phrase without a full stop: "reach the goal"."""
        raise NotImplementedError(f"{type(self).__name__} must implement mission(world).")

    def limit(self, world: World) -> int:
        """Return the number of steps after which an episode is truncated, given its first state."""
        raise NotImplementedError(f"{type(self).__name__} must implement limit(world).")

    def flags(self, world: World) -> tuple[bool, ...]:
        """Return for each of ``subgoals`` True if it is achieved in this state."""
        return (world.cells[world.agent] == GOAL,)

    def options(self, world: World) -> Sequence[Option]:
        """List the interactions with which a shortest solution may continue. The result must not depend on the agent's
        direction, nor on its cell, except by its `region`."""
        return [Option(FORWARD, world.cells.index(GOAL), ends=True)]

    # Overridden where a family differs.

    def read_level(self, params: Mapping[str, Any]) -> tuple[World | None, dict[str, Any]]:
        """Return the level given by reset's "params" or the constructor, with its parameters; or None, with the
        parameters unchanged."""
        return None, dict(params)

    def adopt(self, world: World, env: Any) -> World:
        """Return a level read from MiniGrid, completed with the family's data on its mission.

        Args:
            world: as `minigrid_surface.read_level` returns it.
            env: MiniGrid's environment, just after its reset.
        """
        return world

    def shown_first(self, world: World) -> World:
        """Return the state that the first observation shows; another one than ``world`` only where MiniGrid puts a
        thing into the agent's hand after that observation."""
        return world

    def end_episode(self, world: World, env: Any) -> None:
        """Advance MiniGrid's random generator to its state at the end of the episode, for families whose steps draw
        from that generator in MiniGrid.

        Args:
            world: the last state of the episode, of a level that `adopt` has returned.
            env: MiniGrid's environment.
        """

    def level_functions(self, space: ParamSpace) -> LevelFunctions | None:
        """Return (generate, mutate) for teachers of levels, or None if the family's `read_level` takes no levels:
        generate(rng) -> params of a reset within the axes of ``space``; mutate(params, rng) -> params after an edit."""
        return None

    def turns(self, world: World) -> int:
        """Return the number of turns after which the text twin truncates an episode."""
        return self.limit(world)

    def advance(self, world: World, action: int) -> World:
        """Return the next state."""
        return apply_action(world, action)

    def fails(self, before: World, action: int, after: World) -> bool:
        """Return True if a step that did not accomplish the mission ends the episode as a failure."""
        return before.agent != after.agent and after.cells[after.agent] == LAVA

    def progress(self, flags: Sequence[bool]) -> float:
        """Return the share of the subgoals up to the last one achieved."""
        return max((place + 1 for place, flag in enumerate(flags) if flag), default=0) / len(flags)

    def without_motion(self, world: World) -> World:
        """Return the world without self-moving things, for planners."""
        return world

    def entry(self, world: World) -> bytes:
        """Return a planner's cost of entry for each cell: 0 blocked, 1 a step, 2 with a door to open first."""
        return world.cells.translate(entry_table(world.carried))

    def region(self, world: World) -> Set[int] | None:
        """Return the cells that the agent can reach without an `Option`; None if the family's options do not depend on
        them. In a planner's configuration, the lowest cell of the region stands for the agent's cell."""
        return None

    def steer(self, world: World, action: int) -> int:
        """Return the oracle's action, given the planner's ``action``, which ignores moving things."""
        return action

    def draw_map(self, world: World) -> str:
        """Draw the map as text, one sign a cell."""
        return draw_map(world)

    def content(self, world: World) -> str:
        """Return text that identifies a level, without the contents of boxes."""
        shown = world.cells.translate(SHUT_BOXES).hex(), world.width, world.agent, world.facing, world.carried
        return repr((*shown, world.task) if world.task is not None else shown)

    def split_key(self, world: World) -> str:
        """Return the key shared by levels that must be in the same split; "" if the content decides."""
        return ""


_tables: dict[int, bytes] = {}


def entry_table(carried: int) -> bytes:
    """Return 256 bytes that map a code to the planner's cost of entry, as in `GridRules.entry`, given the carried
    key."""
    if carried not in _tables:
        table = bytearray(256)
        for code, thing in enumerate(THINGS):
            shut = thing.kind == "door" and not ENTERABLE[code]
            if FREE_STEPS[code]:
                table[code] = 1
            elif shut and (code in TOGGLED or UNLOCKED[code][0] == carried):
                table[code] = 2
        _tables[carried] = bytes(table)
    return _tables[carried]


def drop_options(world: World, *near: int) -> list[Option]:
    """List free cells at which the carried thing can be dropped without blocking the way: for each of the cells
    ``near``, the closest one.

    A cell is in the way if its free neighbours are not connected around it, or if it lies beside a door or ``near[0]``.
    If every cell is in the way, several are listed, and the planner finds one that leaves a path.
    """
    width, cells = world.width, world.cells
    ring = (1, width + 1, width, width - 1, -1, -width - 1, -width, 1 - width)

    def is_spare(index: int) -> bool:
        around = beside(width, index)
        if near[0] in (index, *around) or any(DOORS[cells[place]] for place in around):
            return False
        free = [FREE_STEPS[cells[index + step]] for step in ring]
        runs = sum(here and not before for here, before in zip(free, free[-1:] + free))
        return runs == 1 and any(free[::2])

    found: dict[int, Option] = {}
    tight: list[int] = []
    for place in near:
        # Search outwards from the cell, through open and shut doors.
        queue, seen = [place], {place}
        for here in queue:
            if not cells[here] and is_spare(here):
                found[here] = Option(DROP, here)
                break
            tight += [] if cells[here] or here == place else [here]
            around = [there for there in beside(width, here) if 0 <= there < len(cells)]
            queue += [i for i in around if i not in seen and (FREE_STEPS[cells[i]] or DOORS[cells[i]])]
            seen.update(around)
    return list(found.values()) or [Option(DROP, index) for index in tight[:8]]


def fetch_options(world: World, cell: int, *near: int, ends: bool = False) -> list[Option]:
    """List the options towards picking up the thing in ``cell``: pick it up, or first drop the carried thing near it or
    near one of the other cells."""
    return drop_options(world, cell, *near) if world.carried else [Option(PICK_UP, cell, ends)]


def open_options(world: World, door: int, front: int) -> list[Option]:
    """List the options towards opening a locked door: clear the cell before it, take its key (out of a box if needed),
    and open it, dropping any other carried thing.

    Args:
        world: a state in which the door is locked.
        door: index of the door's cell.
        front: index of the cell from which the door is opened.
    """
    cells, carried = world.cells, world.carried
    key = UNLOCKED[cells[door]][0]
    blocked = THINGS[cells[front]].kind in PORTABLE
    if carried and (carried != key or blocked):
        return drop_options(world, front)
    if blocked:
        return [Option(PICK_UP, front)]
    if carried:
        return [Option(TOGGLE, door)]
    found = [Option(PICK_UP, index) for index, code in enumerate(cells) if code == key]
    return found or [Option(TOGGLE, index) for index, code in enumerate(cells) if THINGS[code].inside == key]
