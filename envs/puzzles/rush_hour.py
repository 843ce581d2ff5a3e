"""palaestra/RushHour-v0: slide cars out of the way of car A; the start is an exact number of moves from the end.

The boards are listed in rush_hour.txt, one per line, row by row; tools/make_rush_hour_boards.py found them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register

SIDE = 6
NAMES = "ABCDEFGHIJKLM"
# Boards from which more positions can be reached are not used.
MOST_POSITIONS = 700
_EMPTY = "\n".join([" ".join("-" * SIDE)] * SIDE)
_TOWARDS = {"up": (False, -1), "down": (False, 1), "left": (True, -1), "right": (True, 1)}
_SQUARES = ("1", "2", "3", "4")


class Car(NamedTuple):
    """A car: ``across`` is True if it slides left and right, False if up and down; ``masks`` has, for each place along
    its line, a bit set of the squares that it covers; ``squares`` has the same squares as indices into the text of the
    board."""

    across: bool
    masks: tuple[int, ...]
    squares: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class RushHourState:
    """State of a game: a board of the table, the place of each car along its line, the number of moves left, and
    whether a move has been made."""

    board: str
    places: bytes
    left: int
    begun: bool = False


class RushHour(Game):
    """Slide cars out of the way until car A stands at the right edge.

    Description:
        On 6 x 6 squares, each car slides along its own length. A move slides one car any number of free squares. The
        start is drawn from the positions of one of 96 hard boards that are exactly ``moves`` moves from the end;
        distances are found by a search back from all end positions of the board. All positions of a board lie in the
        same split.

    Parameters:
        moves (2 to 18, on request 1 to 18): the fewest moves that lead from the start to the end.
        slack (8 to 0, harder downwards, on request 0 to 40): moves allowed beyond the fewest.

    Observation:
        Text: the rules first, then the board in rows of letters (``-`` is a free square) and the moves left.

    Actions:
        Text with one or more moves, ``C up 2, A right 3``, read in ``answer_format``. An action with a move that
        is not possible does nothing.

    Reward:
        1 when an action ends with car A at the right edge, 0 otherwise. Random moves win 0.25 of the easiest games; a
        player whose every move leaves the fewest cars in the way of car A wins all of them, and none of the hard ones.

    Termination:
        When an action ends with car A at the right edge, or when no move is left. Truncated after as many turns as
        there are moves. ``info["progress"]`` is 1 - d / D for the distances d of the current position and D of the
        board's farthest position from the end.

    Source:
        Nob Yoshigahara's puzzle Rush Hour. The boards were found here.
    """

    answer_form = "moves"
    supplies = frozenset({"goal_distance", "potentials"})
    keeps_states = True
    param_space = ParamSpace(
        [IntAxis("moves", 2, 18, limits=(1, 18)), IntAxis("slack", 0, 8, harder="down", limits=(0, 40))]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> RushHourState:
        u, v = rng.random(2).tolist()
        boards = _boards()
        board = boards[int(u * len(boards))]
        layer = _layers(board)[params["moves"]]
        return RushHourState(board, layer[int(v * len(layer))], params["moves"] + params["slack"])

    def content_of(self, episode: RushHourState) -> str:
        return _format_board(episode)

    def split_key(self, episode: RushHourState) -> str:
        return episode.board

    def measure_states(self, states: Sequence[RushHourState], name: str) -> list[float]:
        """Return for each state the fewest moves to the end ("goal_distance"), or minus this distance divided by that
        of the start ("potentials")."""
        far = [float(_distances(state.board)[state.places]) for state in states]
        return far if name == "goal_distance" else [-distance / far[0] for distance in far]

    def turn_limit(self, state: RushHourState) -> int:
        return state.left

    def observe(self, state: RushHourState) -> str:
        if state.begun:
            return f"{_format_board(state)}\n{state.left} moves left."
        return (
            f"Slide cars (letters) until car A stands at the right edge, in at most {state.left} moves.\n"
            f"{_format_board(state)}\n"
            "A car slides along its own length only, over free squares (-). One move slides one car any number of "
            'squares. Answer with one or more moves, such as "C up 2, A right 1".'
        )

    def act(self, state: RushHourState, action: str) -> Transition:
        moves = action.split(",")
        if len(moves) > state.left:
            return _reject(state, f"These are {len(moves)} moves, and {state.left} are left.")
        cars, places = _cars(state.board), state.places
        for count, move in enumerate(moves, start=1):
            words = move.lower().split()
            if len(words) == 2:
                words.append("1")
            if len(words) != 3 or words[1] not in _TOWARDS or words[2] not in _SQUARES:
                return _reject(state, 'The action must be moves such as "C up 2, A right 1", separated by commas.')
            name = words[0].upper()
            if len(name) != 1 or name not in NAMES[: len(cars)]:
                return _reject(state, f"Move {count}: there is no car {name[:20]!a}.")
            car, (across, sign) = NAMES.index(name), _TOWARDS[words[1]]
            target = places[car] + sign * int(words[2])
            if across != cars[car].across or target not in _possible_slides(
                cars[car], places[car], _find_occupied_squares(cars, places)
            ):
                return _reject(state, f"Move {count}: car {name} cannot slide {words[1]} {words[2]}.")
            places = _move_car(places, car, target)
        after = RushHourState(state.board, places, state.left - len(moves), True)
        distance = _distances(state.board)[places]
        return Transition(after, done=not distance or not after.left, success=not distance, progress=_progress(after))

    def oracle(self, state: RushHourState) -> str:
        """Return the first move of a shortest plan from the current position."""
        distances, cars = _distances(state.board), _cars(state.board)
        for car, target in _possible_moves(cars, state.places):
            if distances[_move_car(state.places, car, target)] < distances[state.places]:
                return _format_move(cars[car], NAMES[car], target - state.places[car])
        raise AssertionError("every position but those at the end has a neighbour that is nearer to it")

    def random_action(self, episode: RushHourState, rng: np.random.Generator) -> str:
        """Return a random possible move."""
        cars = _cars(episode.board)
        ways = _possible_moves(cars, episode.places)
        car, target = ways[int(rng.integers(len(ways)))]
        return _format_move(cars[car], NAMES[car], target - episode.places[car])

    def heuristic_action(self, episode: RushHourState) -> str:
        """Return the move after which the fewest cars stand between car A and the right edge; in a tie, the one after
        which car A is nearest to the edge."""
        cars, places = _cars(episode.board), episode.places

        def ahead(way: tuple[int, int]) -> tuple[int, int]:
            after = _move_car(places, *way)
            path = sum(1 << square for square in range(after[0] + 2, SIDE)) << cars[0].squares[0][0] // 2
            inside = sum(1 for car, place in zip(cars[1:], after[1:]) if car.masks[place] & path)
            return inside, -after[0]

        car, target = min(_possible_moves(cars, places), key=ahead)
        return _format_move(cars[car], NAMES[car], target - places[car])

    def solver_cost(self, episode: RushHourState) -> float:
        """Return the number of moves of the shortest plan."""
        return float(_distances(episode.board)[episode.places])

    def draw(self, episode: RushHourState) -> np.ndarray:
        colours = ("#e63946", "#e9c46a", "#8ab17d", "#8ecae6", "#b5838d", "#f4a261", "#a8dadc")
        looks = {name: Cell(name, colours[min(i, 1 + i % 6)]) for i, name in enumerate(NAMES)}
        return draw_board(
            [[looks.get(name, Cell()) for name in row.split()] for row in _format_board(episode).split("\n")]
        )


def _format_move(car: Car, name: str, slid: int) -> str:
    """Return a move as text; ``slid`` is the number of squares, positive down or to the right."""
    towards = ("up", "down", "left", "right")[2 * car.across + (slid > 0)]
    return f"{name} {towards} {abs(slid)}"


def _reject(state: RushHourState, error: str) -> Transition:
    return Transition(state, progress=_progress(state), action_error=error)


def _progress(state: RushHourState) -> float:
    return 1.0 - _distances(state.board)[state.places] / (len(_layers(state.board)) - 1)


def _format_board(state: RushHourState) -> str:
    characters = list(_EMPTY)
    for name, car, place in zip(NAMES, _cars(state.board), state.places):
        for square in car.squares[place]:
            characters[square] = name
    return "".join(characters)


@functools.cache
def _boards() -> list[str]:
    return (files(str(__package__)) / "rush_hour.txt").read_text(encoding="ascii").split()


@functools.lru_cache(1_000)
def _cars(board: str) -> list[Car]:
    """Return the cars of a board in the order of their names."""
    cars: list[Car] = []
    for name in NAMES[: len(set(board) - {"-"})]:
        first, length = board.index(name), board.count(name)
        across = board[first + 1 : first + 2] == name
        step, corner = (1, first // SIDE * SIDE) if across else (SIDE, first % SIDE)
        spans = [[corner + step * (place + k) for k in range(length)] for place in range(SIDE + 1 - length)]
        cars.append(
            Car(
                across,
                tuple(sum(1 << square for square in span) for span in spans),
                tuple(tuple(2 * square for square in span) for span in spans),
            )
        )
    return cars


def _find_occupied_squares(cars: list[Car], places: bytes) -> int:
    occupied = 0
    for car, place in zip(cars, places):
        occupied |= car.masks[place]
    return occupied


def _possible_slides(car: Car, place: int, occupied: int) -> list[int]:
    """Return the places to which a car can slide in one move."""
    masks, found = car.masks, []
    others = occupied ^ masks[place]
    for target in range(place - 1, -1, -1):
        if masks[target] & others:
            break
        found.append(target)
    for target in range(place + 1, len(masks)):
        if masks[target] & others:
            break
        found.append(target)
    return found


def _possible_moves(cars: list[Car], places: bytes) -> list[tuple[int, int]]:
    """Return all possible moves, as (car, place to which it slides)."""
    occupied = _find_occupied_squares(cars, places)
    slides = enumerate(map(_possible_slides, cars, places, itertools.repeat(occupied)))
    return [(car, target) for car, targets in slides for target in targets]


def _move_car(places: bytes, car: int, target: int) -> bytes:
    return b"%b%c%b" % (places[:car], target, places[car + 1 :])


@functools.cache
def _distances(board: str) -> dict[bytes, int]:
    """Return the fewest moves to the end from each position that can be reached on a board."""
    return {places: distance for distance, layer in enumerate(_layers(board)) for places in layer}


@functools.cache
def _layers(board: str) -> list[list[bytes]]:
    return find_position_layers(board)


def find_position_layers(board: str) -> list[list[bytes]]:
    """Return the positions that can be reached on a board, grouped by their distance from the end; an empty list if
    there are more than `MOST_POSITIONS`."""
    cars = _cars(board)
    start = bytes(
        next(place for place, (square, *_) in enumerate(car.squares) if square == 2 * board.index(name))
        for name, car in zip(NAMES, cars)
    )
    queue, ahead = [start], {start: []}
    for places in queue:
        ahead[places] = [_move_car(places, car, target) for car, target in _possible_moves(cars, places)]
        for other in ahead[places]:
            if other not in ahead:
                ahead[other] = []
                queue.append(other)
        if len(queue) > MOST_POSITIONS:
            return []
    found = [[places for places in queue if places[0] == SIDE - 2]]
    met = set(found[0])
    while found[-1]:
        found.append([])
        for places in found[-2]:
            for other in ahead[places]:
                if other not in met:
                    met.add(other)
                    found[-1].append(other)
    return found[:-1]


register("palaestra/RushHour-v0", f"{__name__}:RushHour")
