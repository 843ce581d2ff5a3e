"""palaestra/SlidingTiles-v0: the 8 puzzle and the 15 puzzle, an exact number of moves from the goal."""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register

_MOVES = re.compile(r"[0-9]{1,2}(?:[ ,]+[0-9]{1,2})*")
_EIGHT = "\n".join(["{} {} {}"] * 3)
_FIFTEEN = "\n".join(["{:2} {:2} {:2} {:2}"] * 4)


@dataclass(frozen=True, slots=True)
class Tiles:
    """State of a game: the tiles now and in the goal, row by row with 0 for the gap; a plan, as tiles to slide from
    here to the goal; the number of moves left; and whether a move has been made."""

    tiles: tuple[int, ...]
    goal: tuple[int, ...]
    plan: tuple[int, ...]
    left: int
    begun: bool = False


class SlidingTiles(Game):
    """Slide tiles into the gap until they lie as in the goal.

    Description:
        The goal is a random arrangement. The start is a random arrangement exactly ``distance`` moves from the goal.

    Parameters:
        distance (4 to 22, on request 1 to 26): the fewest moves that lead from the start to the goal.
        size (3 to 4): rows and columns; the 8 puzzle and the 15 puzzle.
        slack (10 to 0, harder downwards, on request 0 to 30): moves allowed beyond the fewest.

    Observation:
        Text: the rules and both boards first, then the board and the moves left.

    Actions:
        Text with one or more tiles to slide, ``7 3 5``, read in ``answer_format``. An action with a tile that
        cannot be slid does nothing.

    Reward:
        1 when the tiles lie as in the goal, 0 otherwise. Random legal moves win 0.08 of the easiest games by chance. A
        player who always makes the move after which the tiles are nearest to their places in the goal wins all of the
        easiest games, and next to none of the hardest.

    Termination:
        When an action ends at the goal, or when no move is left. Truncated after as many turns as there are moves.
        ``info["progress"]`` is the share of the places that are as in the goal.

    Source:
        The 15 puzzle of Noyes Chapman (1880); distances are checked by a search as in Korf, "Depth-first
        iterative-deepening", Artificial Intelligence 27, 1985.
    """

    answer_form = "moves"
    supplies = frozenset({"achieved", "potentials"})
    keeps_states = True
    param_space = ParamSpace(
        [
            IntAxis("distance", 4, 22, limits=(1, 26)),
            IntAxis("size", 3, 4),
            IntAxis("slack", 0, 10, harder="down", limits=(0, 30)),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Tiles:
        size, distance = params["size"], params["distance"]
        count = size * size
        neighbours, apart = _geometry(size)
        while True:
            # Name each tile by its place in the goal. A walk of the gap that never turns back is usually a shortest
            # one.
            first, *draws = rng.random(distance + 1).tolist()
            homes = list(range(count))
            gap, last, slid = int(first * count), -1, []
            homes[gap] = -1
            for u in draws:
                ways = [place for place in neighbours[gap] if place != last]
                last, gap = gap, ways[int(u * len(ways))]
                slid.append(homes[gap])
                homes[last], homes[gap] = homes[gap], -1
            # All ways to the goal have the same parity, so that a shorter way is shorter by at least 2.
            if not _is_solvable_within(homes, gap, distance - 2, neighbours, apart):
                break
        order = np.argsort(rng.random(count - 1)).tolist()
        hole = int(first * count)
        goal = [1 + tile for tile in order]
        goal.insert(hole, 0)
        tiles = tuple([goal[home] if home >= 0 else 0 for home in homes])
        plan = tuple([goal[home] for home in reversed(slid)])
        return Tiles(tiles, tuple(goal), plan, distance + params["slack"])

    def content_of(self, episode: Tiles) -> str:
        return f"{episode.tiles} {episode.goal}"

    def split_key(self, episode: Tiles) -> str:
        """Return the place in the goal of the tile at each place, which does not depend on the numbers on the tiles."""
        return str([episode.goal.index(tile) for tile in episode.tiles])

    def measure_states(self, states: Sequence[Tiles], name: str) -> Any:
        """Return for each turn the tiles that reached their places in the goal, such as "tile 5" ("achieved"); or for
        each state minus the sum of the Manhattan distances of all tiles from their places in the goal, divided by the
        sum at the start ("potentials")."""
        if name == "achieved":
            home = [{f"tile {a}" for a, b in zip(state.tiles, state.goal) if a == b and a} for state in states]
            return [sorted(after - before) for before, after in itertools.pairwise(home)]
        apart = _geometry(3 if len(states[0].tiles) == 9 else 4)[1]
        far = [sum(apart[i][one.goal.index(tile)] for i, tile in enumerate(one.tiles) if tile) for one in states]
        return [-distance / far[0] for distance in far]

    def turn_limit(self, state: Tiles) -> int:
        return state.left

    def observe(self, state: Tiles) -> str:
        if state.begun:
            return f"Now:\n{_format_board(state.tiles)}\n{state.left} moves left."
        return (
            f"Slide tiles into the gap (_) to turn the first board into the second in at most {state.left} moves.\n"
            f"Now:\n{_format_board(state.tiles)}\nGoal:\n{_format_board(state.goal)}\n"
            'Answer with one or more tiles to slide, in order, such as "3 1". '
            "A tile can be slid when it lies directly above, below, left or right of the gap."
        )

    def act(self, state: Tiles, action: str) -> Transition:
        action = action.strip("[](){} ")
        if not _MOVES.fullmatch(action):
            return _reject(state, 'The action must be tiles in order, such as "3 1".')
        moves = [int(move) for move in action.replace(",", " ").split()]
        if len(moves) > state.left:
            return _reject(state, f"These are {len(moves)} moves, and {state.left} are left.")
        tiles, goal, plan = list(state.tiles), state.goal, state.plan
        neighbours = _geometry(3 if len(tiles) == 9 else 4)[0]
        gap = tiles.index(0)
        for tile in moves:
            place = tiles.index(tile) if tile in tiles else -1
            if place not in neighbours[gap]:
                return _reject(state, f"Tile {tile} does not lie beside the gap when it is to be slid.")
            tiles[gap], tiles[place] = tile, 0
            gap = place
            # After a detour, the plan first undoes it.
            plan = plan[1:] if plan and plan[0] == tile else (tile, *plan)
        left = state.left - len(moves)
        after = Tiles(tuple(tiles), goal, plan, left, True)
        won = after.tiles == goal
        return Transition(after, done=won or not left, success=won, progress=_progress(after))

    def oracle(self, state: Tiles) -> str:
        return str(state.plan[0])

    def random_action(self, episode: Tiles, rng: np.random.Generator) -> str:
        """Return a random tile next to the gap."""
        around = _geometry(3 if len(episode.tiles) == 9 else 4)[0][episode.tiles.index(0)]
        return str(episode.tiles[around[int(rng.integers(len(around)))]])

    def heuristic_action(self, episode: Tiles) -> str:
        """Return the tile whose slide reduces its Manhattan distance to its place in the goal most, or increases it
        least."""
        tiles, goal = episode.tiles, episode.goal
        neighbours, apart = _geometry(3 if len(tiles) == 9 else 4)
        gap = tiles.index(0)

        def distance_reduction(place: int) -> int:
            home = goal.index(tiles[place])
            return apart[home][place] - apart[home][gap]

        return str(tiles[max(neighbours[gap], key=distance_reduction)])

    def solver_cost(self, episode: Tiles) -> float:
        """Return the number of moves of the plan, the shortest one at the start."""
        return float(len(episode.plan))

    def draw(self, episode: Tiles) -> np.ndarray:
        size = 3 if len(episode.tiles) == 9 else 4
        cells = [
            Cell(str(tile), "#8ab17d" if tile == home else "#e9c46a") if tile else Cell()
            for tile, home in zip(episode.tiles, episode.goal)
        ]
        return draw_board([cells[row * size : (row + 1) * size] for row in range(size)])


def _reject(state: Tiles, error: str) -> Transition:
    return Transition(state, progress=_progress(state), action_error=error)


def _progress(state: Tiles) -> float:
    return sum(map(operator.eq, state.tiles, state.goal)) / len(state.goal)


def _format_board(tiles: tuple[int, ...]) -> str:
    if len(tiles) == 9:
        return _EIGHT.format(*tiles).replace("0", "_")
    return _FIFTEEN.format(*tiles).replace(" 0", " _")


@functools.cache
def _geometry(size: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return (neighbours of each place, Manhattan distance between any two places)."""
    places = [divmod(place, size) for place in range(size * size)]
    apart = [[abs(y - v) + abs(x - u) for v, u in places] for y, x in places]
    return [[other for other, far in enumerate(row) if far == 1] for row in apart], apart


def _is_solvable_within(
    homes: list[int], gap: int, moves: int, neighbours: list[list[int]], apart: list[list[int]]
) -> bool:
    """Return True if at most ``moves`` moves bring every tile to its home, its place in the goal.

    ``homes`` has the home of the tile at each place, -1 for the gap. The search cuts a branch when the sum of the
    Manhattan distances exceeds the moves left.
    """

    def search(gap: int, last: int, far: int, left: int) -> bool:
        for place in neighbours[gap]:
            if place != last:
                tile = homes[place]
                rest = far - apart[tile][place] + apart[tile][gap]
                if rest < left:
                    if not rest:
                        return True
                    homes[gap], homes[place] = tile, -1
                    found = search(place, gap, rest, left - 1)
                    homes[gap], homes[place] = -1, tile
                    if found:
                        return True
        return False

    far = sum(apart[tile][place] for place, tile in enumerate(homes) if tile >= 0)
    return not far or (far <= moves and search(gap, -1, far, moves))


register("palaestra/SlidingTiles-v0", f"{__name__}:SlidingTiles")
