"""The attributes and methods of MiniGrid's environments that its wrappers and users read, for our worlds.

With them MiniGrid's wrappers (full observation, pictures, other view sizes, bonuses, symbols, ...) work on our ids.
`read_level` goes the other way: the state of a MiniGrid environment as a `World`. MiniGrid is imported only when one of
its objects is requested.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import check_count
from ...errors import InputError
from .cells import EMPTY, GOAL, STATES, WALL, code_of
from .grid_rules import GridRules
from .grid_world import STEPS, World
from .partial_view import VIEW, Viewer
from .tiles import draw_grid, draw_tile, draw_view, import_minigrid, make_object

BORROWED = frozenset(
    {
        "_rand_bool",
        "_rand_color",
        "_rand_elem",
        "_rand_float",
        "_rand_int",
        "_rand_pos",
        "_rand_subset",
        "agent_sees",
        "gen_obs_grid",
        "get_full_render",
        "get_pov_render",
        "get_view_coords",
        "get_view_exts",
        "hash",
        "in_view",
        "pprint_grid",
        "relative_coords",
    }
)
"""Methods of MiniGrid's own class that are called on our attributes."""


class MiniGridSurface:
    """Mixin of `GridEnv`. All values are computed from the current world. Before a reset, the grid is empty, and the
    agent has no position, as in MiniGrid. If the size of levels is drawn, ``width`` and ``height`` are the size of the
    largest level, and smaller levels are padded with walls to the east and south in grid and pictures, so that wrappers
    that show all cells have observations of one shape."""

    agent_view_size = VIEW
    tile_size = 32
    highlight = True
    agent_pov = False
    reward_range = (0, 1)
    viewer: Viewer
    rules: GridRules

    if TYPE_CHECKING:
        _world: World | None
        _levels: Any
        _params: dict[str, Any]
        _passed: list[World]
        param_space: Any
        difficulty: float | None
        step_count: int
        max_steps: int

        def here(self) -> World: ...
        def _keep(self, worlds: list[World]) -> None: ...

    def set_view(self, agent_view_size: int, tile_size: int, highlight: bool, agent_pov: bool) -> None:
        """Set MiniGrid's arguments for the agent's view and for pictures. Raise InputError if one is out of range."""
        if check_count("agent_view_size", agent_view_size, 3, "cells") % 2 == 0:
            raise InputError(f"agent_view_size must be odd, as the agent stands in the middle, not {agent_view_size}.")
        self.agent_view_size = int(agent_view_size)
        self.tile_size = check_count("tile_size", tile_size, 1, "pixels")
        self.highlight, self.agent_pov = bool(highlight), bool(agent_pov)
        if self.agent_view_size != VIEW:
            import_minigrid("agent_view_size")

    def __getattr__(self, name: str) -> Any:
        if name in BORROWED:
            return functools.partial(getattr(import_minigrid().minigrid_env.MiniGridEnv, name), self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def width(self) -> int:
        return max(self._extent[0], self._world.width if self._world else 0)

    @property
    def height(self) -> int:
        return max(self._extent[1], self._world.height if self._world else 0)

    @functools.cached_property
    def _extent(self) -> tuple[int, int]:
        """Width and height of the largest level of the range, or of the constructor's difficulty."""
        if self._levels is not None:
            return self._levels.env.width, self._levels.env.height
        rng = np.random.default_rng(0)
        hardest = 1.0 if self.difficulty is None else self.difficulty
        sample = self.rules.lay_out(rng, self.param_space.complete({}, rng, hardest))
        return sample.width, sample.height

    @property
    def steps_remaining(self) -> int:
        return self.max_steps - self.step_count

    @property
    def agent_pos(self) -> tuple[int, int] | None:
        return None if self._world is None else self._world.place

    @property
    def agent_dir(self) -> int | None:
        return None if self._world is None else self._world.facing

    @property
    def goal_pos(self) -> tuple[int, int] | None:
        """Column and row of the goal; None before a reset, and where a level has none."""
        if self._world is None or (index := self._world.cells.find(GOAL)) < 0:
            return None
        return index % self._world.width, index // self._world.width

    goal_position = goal_pos

    @property
    def dir_vec(self) -> np.ndarray:
        return np.array(STEPS[self.here().facing])

    @property
    def right_vec(self) -> np.ndarray:
        dx, dy = self.dir_vec
        return np.array((-dy, dx))

    @property
    def front_pos(self) -> np.ndarray:
        return np.array(self.here().place) + self.dir_vec

    @property
    def see_through_walls(self) -> bool:
        return self.viewer.see_through

    @property
    def actions(self) -> Any:
        """MiniGrid's enumeration of actions."""
        return import_minigrid().core.actions.Actions

    @property
    def carrying(self) -> Any:
        """The carried thing as a MiniGrid object; None if the agent carries nothing."""
        return None if self._world is None else make_object(self._world.carried)

    @property
    def grid(self) -> Any:
        """A copy of the cells as a MiniGrid grid. Assigning a grid of the same size changes the cells."""
        grid = import_minigrid().core.grid.Grid(self.width, self.height)
        if self._world is None:
            return grid
        for index, code in enumerate(self._world.cells):
            if code != EMPTY:
                x, y = index % self._world.width, index // self._world.width
                grid.set(x, y, make_object(code, (x, y)))
        for x in range(grid.width):
            for y in range(0 if x >= self._world.width else self._world.height, grid.height):
                grid.set(x, y, make_object(WALL, (x, y)))
        return grid

    @grid.setter
    def grid(self, grid: Any) -> None:
        world = self.here()
        if grid.width < world.width or grid.height < world.height:
            raise InputError(
                f"a grid must keep its size of {world.width} x {world.height}, not {grid.width} x {grid.height}."
            )
        places = ((x, y) for y in range(world.height) for x in range(world.width))
        self._edit(cells=bytes(_code_of_object(grid.get(*place)) for place in places))

    def put_obj(self, obj: Any, i: int, j: int) -> None:
        """Put a MiniGrid object into the cell (i, j) of the current state, as MiniGrid's method does."""
        grid = self.grid
        grid.set(i, j, obj)
        self.grid = grid
        if obj is not None:
            obj.init_pos = obj.cur_pos = (i, j)

    def place_obj(
        self,
        obj: Any,
        top: tuple[int, int] | None = None,
        size: tuple[int, int] | None = None,
        reject_fn: Any = None,
        max_tries: float = math.inf,
    ) -> tuple[int, int]:
        """Put a MiniGrid object (None for nothing) into a random free cell of a rectangle, and return the cell, drawn
        as in MiniGrid's method but from this environment's generator."""
        draw = import_minigrid().minigrid_env.MiniGridEnv.place_obj
        place = draw(self, obj, top, size, reject_fn, max_tries)
        self.put_obj(obj, *place)
        return place

    def place_agent(
        self,
        top: tuple[int, int] | None = None,
        size: tuple[int, int] | None = None,
        rand_dir: bool = True,
        max_tries: float = math.inf,
    ) -> tuple[int, int]:
        """Move the agent to another random free cell of a rectangle, and turn it at random if asked; return the
        cell."""
        x, y = place = self.place_obj(None, top, size, max_tries=max_tries)
        world = self.here()
        self._edit(agent=int(y) * world.width + int(x), facing=self._rand_int(0, 4) if rand_dir else world.facing)
        return place

    def _edit(self, **changes: Any) -> None:
        """Continue from the current state with changes; the mission stays the same."""
        self._world = self.here()._replace(**changes)
        self._keep([*self._passed[:-1], self._world])

    def room_from_pos(self, x: int, y: int) -> Any:
        """Return the room of a cell as MiniGrid's `Room`, with its doors: east, south, west, north.

        Raises:
            InputError: the family is not made of equal rooms, or the cell lies outside the grid.
        """
        world, side = self.here(), self.rules.room_side
        if self._levels is not None:
            side = getattr(self._levels.env, "room_size", None)
        elif isinstance(side, str):
            side = self._params[side]
        if side is None or not (0 <= x < world.width - 1 and 0 <= y < world.height - 1):
            where = f"a cell of the grid of {world.width} x {world.height}, not ({x}, {y})" if side else "equal rooms"
            raise InputError(f"room_from_pos of {type(self).__name__} needs {where}.")
        left, top = (place // (side - 1) * (side - 1) for place in (x, y))
        room = import_minigrid().core.roomgrid.Room((left, top), (side, side))
        inner, grid = range(1, side - 1), self.grid
        walls = (
            [(left + side - 1, top + k) for k in inner],
            [(left + k, top + side - 1) for k in inner],
            [(left, top + k) for k in inner],
            [(left + k, top) for k in inner],
        )
        for number, wall in enumerate(walls):
            for place in wall:
                if (thing := grid.get(*place)) is not None and thing.type == "door":
                    room.doors[number], room.door_pos[number] = thing, place
        return room

    def compute_obs(self) -> dict[str, Any]:
        """Make an observation with MiniGrid's code, for view sizes other than 7."""
        return import_minigrid().minigrid_env.MiniGridEnv.gen_obs(self)

    def get_frame(self, highlight: bool = True, tile_size: int = 32, agent_pov: bool = False) -> np.ndarray:
        """Draw the grid, or the agent's view of it: uint8[height, width, 3]."""
        if self.agent_view_size != VIEW:
            return import_minigrid().minigrid_env.MiniGridEnv.get_frame(self, highlight, tile_size, agent_pov)
        if agent_pov:
            return draw_view(self.here(), self.viewer, tile_size)
        world = self.here()
        picture = draw_grid(world, self.viewer, tile_size, lights=highlight)
        if (self.width, self.height) == (world.width, world.height):
            return picture
        whole = np.tile(draw_tile(WALL, None, False, tile_size).astype(np.uint8), (self.height, self.width, 1))
        whole[: picture.shape[0], : picture.shape[1]] = picture
        return whole


def read_level(env: Any, task: Any = None, memo: Any = None) -> World:
    """Return the current state of a MiniGrid environment as a world.

    Args:
        env: any environment of MiniGrid after its reset.
        task, memo: stored in the world's fields of these names.
    """
    env = env.unwrapped
    cells = bytes(_code_of_object(thing) for thing in env.grid.grid)
    x, y = (int(i) for i in env.agent_pos)
    carried = _code_of_object(env.carrying)
    return World(env.grid.width, cells, y * env.grid.width + x, int(env.agent_dir), carried, task, memo)


def _code_of_object(thing: Any) -> int:
    if thing is None:
        return EMPTY
    state = STATES[thing.encode()[2]] if thing.type == "door" else "open"
    try:
        if not type(thing).__module__.startswith("minigrid."):
            raise KeyError(thing.type)
        return code_of(thing.type, thing.color, state, _code_of_object(thing.contains))
    except KeyError:
        inside = f" with a {thing.contains.type} inside" if thing.contains is not None else ""
        raise InputError(
            f"our grids hold MiniGrid's own objects in its usual colours, boxes with a key or a ball at most, not a "
            f"{thing.color} {type(thing).__name__} of type {thing.type!r}{inside}."
        ) from None
