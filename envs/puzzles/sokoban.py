"""palaestra/Sokoban-v0: push all boxes onto goals."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .directions import DIRECTIONS, direction_steps, flood_layers, read_directions, trace_way

_BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}
_SYMBOLS = {"-": ("$", "@"), ".": ("*", "+")}
_WALL, _FLOOR, _GOAL = b"#-."
_MOST_MOVES = 100
_MOST_PULLS = 40
OFF_PLAN = 1_000


@dataclass(frozen=True, slots=True)
class Level:
    """Constant part of a game: ``room``, the drawing without boxes and player (see `directions` for places and
    ``stride``); the places of ``boxes`` and ``player`` at the start; ``plan``, pushes that solve the level, as (place
    of the box before the push, direction)."""

    room: str
    stride: int
    boxes: frozenset[int]
    player: int
    plan: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class SokobanState:
    """State of a game: the level; the places of boxes and player; ``done``, the number of pushes of the level's plan
    made so far, or `OFF_PLAN` after any other push; and whether an action has been made."""

    level: Level
    boxes: frozenset[int]
    player: int
    done: int = 0
    begun: bool = False


class Sokoban(Game):
    """Push all boxes onto goals, in a room with inner walls.

    Description:
        The start is found by playing backwards from the end, pulling boxes off the goals, so that it can always be
        solved, in at most the larger of 40 and ``boxes * pushes + 15`` pushes. The lower bound on pushes is exactly
        ``boxes * pushes``: each box goes to its own goal as if alone in the room, and the goals are assigned so that
        the total is least. A position may become unsolvable; "restart" leads back to the start.

    Parameters:
        boxes (1 to 4, on request up to 5): boxes, and as many goals.
        pushes (2 to 5, on request 1 to 6): lower bound on the pushes per box, see above.
        size (7 to 9, on request up to 12): rows and columns inside the outer walls.

    Observation:
        Text: the rules first, then the room, in rows of characters separated by spaces: # wall, - floor, . goal, $ box,
        * box on a goal, @ player, + player on a goal.

    Actions:
        Text with one or more moves, ``up up left`` or ``UUL``, or ``restart``, read in ``answer_format``. An
        action with a move that is not possible does nothing.

    Reward:
        1 when all boxes stand on goals, 0 otherwise. Random moves, with a restart now and then, win 0.34 of the easiest
        games, which have a single box, by chance. A player who always makes the push that brings a box nearest to a
        goal wins most of the easiest games, and few of the hardest.

    Termination:
        When all boxes stand on goals. Truncated after 50 turns. ``info["progress"]`` is the share of boxes on goals.

    Source:
        Hiroyuki Imabayashi's game of 1981. Generation by reverse play as in Taylor & Parberry, "Procedural generation
        of Sokoban levels", 2011.
    """

    answer_form = "moves"
    supplies = frozenset({"achieved", "positions", "potentials"})
    keeps_states = True
    param_space = ParamSpace(
        [
            IntAxis("boxes", 1, 4, limits=(1, 5)),
            IntAxis("pushes", 2, 5, limits=(1, 6)),
            IntAxis("size", 7, 9, limits=(7, 12)),
        ]
    )
    arrow_keys: ClassVar = {word: f"{word} " for word in DIRECTIONS.values()}

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> SokobanState:
        while True:
            level = _draw_level(
                rng.random(400).tolist(), params["size"], params["boxes"], params["pushes"] * params["boxes"]
            )
            if level is not None:
                return SokobanState(level, level.boxes, level.player)

    def content_of(self, episode: SokobanState) -> str:
        return _format_room(episode)

    def measure_states(self, states: Sequence[SokobanState], name: str) -> Any:
        """Return the extra ``name``.

        "positions": [column, row] of the player in each state. "achieved": for each turn, the goals onto which a box
        was pushed, such as "goal (3, 1)" by column and row. "potentials": for each state, minus the lower bound on
        pushes (see `Sokoban`), divided by the bound at the start; a box that cannot reach a goal counts as many pushes
        as the whole start.
        """
        level = states[0].level

        def cell(place: int) -> tuple[int, int]:
            row, column = divmod(place, level.stride)
            return column // 2, row

        if name == "positions":
            return [list(cell(state.player)) for state in states]
        if name == "achieved":
            goals = [{box for box in state.boxes if level.room[box] == "."} for state in states]
            pairs = itertools.pairwise(goals)
            return [[f"goal {cell(goal)}" for goal in sorted(after - before)] for before, after in pairs]
        distances = _goal_distances(level.room, level.stride)
        start = _least_distance_sum(distances, list(level.boxes))
        far = []
        for state in states:
            table = [{place: goal.get(place, start) for place in state.boxes} for goal in distances]
            far.append(_least_distance_sum(table, list(state.boxes)))
        return [-distance / far[0] for distance in far]

    def observe(self, state: SokobanState) -> str:
        if state.begun:
            return _format_room(state)
        return (
            f"Push all boxes onto goals. # is wall, - floor, . goal, $ box, * box on a goal, @ you, + you on a goal.\n"
            f"{_format_room(state)}\n"
            "You push a box by walking against it, never two at once, and cannot pull. Answer with one or more moves, "
            'such as "up up left", or with "restart" to begin again. You have 50 turns.'
        )

    def act(self, state: SokobanState, action: str) -> Transition:
        level = state.level
        if action.lower() == "restart":
            return _make_transition(SokobanState(level, level.boxes, level.player, 0, True))
        moves = read_directions(action)
        if moves is None:
            return _reject(state, 'The action must be moves, such as "up up left", or "restart".')
        if len(moves) > _MOST_MOVES:
            return _reject(state, f"These are {len(moves)} moves; at most {_MOST_MOVES} are made in one turn.")
        room, step = level.room, direction_steps(level.stride)
        boxes, player, done = state.boxes, state.player, state.done
        for count, move in enumerate(moves, start=1):
            player += step[move]
            if room[player] == "#":
                return _reject(state, f"Move {count} ({DIRECTIONS[move]}) runs into a wall.")
            if player in boxes:
                beyond = player + step[move]
                if room[beyond] == "#" or beyond in boxes:
                    return _reject(state, f"Move {count} ({DIRECTIONS[move]}) pushes a box that cannot move.")
                boxes = boxes - {player} | {beyond}
                done = done + 1 if level.plan[done : done + 1] == ((player, move),) else OFF_PLAN
                if all([room[box] == "." for box in boxes]):
                    break
        return _make_transition(SokobanState(level, boxes, player, done, True))

    def oracle(self, state: SokobanState) -> str:
        """Return the moves up to and including the next push of the plan; "restart" after a push off the plan."""
        if state.done == OFF_PLAN:
            return "restart"
        return " ".join([DIRECTIONS[move] for move in _moves_to_next_push(state)])

    def random_action(self, episode: SokobanState, rng: np.random.Generator) -> str:
        """Return a random possible move, or "restart" with probability 1/12 or if no move is possible."""
        room, player, boxes = episode.level.room, episode.player, episode.boxes
        moves = [
            DIRECTIONS[move]
            for move, step in direction_steps(episode.level.stride).items()
            if room[player + step] != "#"
            and (player + step not in boxes or not (room[player + 2 * step] == "#" or player + 2 * step in boxes))
        ]
        u = rng.random() * 12
        return "restart" if u < 1 or not moves else moves[int((u - 1) / 11 * len(moves))]

    def heuristic_action(self, episode: SokobanState) -> str:
        """Return the moves up to and including the push that brings a box nearer to its nearest goal (by Manhattan
        distance); "restart" if no possible push does."""
        level, step = episode.level, direction_steps(episode.level.stride)
        goals = [divmod(place, level.stride) for place, character in enumerate(level.room) if character == "."]

        def far(box: int) -> int:
            row, column = divmod(box, level.stride)
            return min(abs(row - y) + abs(column - x) // 2 for y, x in goals)

        free = _free_places(level.room) & ~sum([1 << place for place in episode.boxes])
        region = 0
        for layer in flood_layers(free, level.stride, episode.player):
            region |= layer
        pushes = [
            (far(box + step[move]) - far(box), box, move)
            for box in sorted(episode.boxes)
            for move in DIRECTIONS
            if region >> box - step[move] & 1 and free >> box + step[move] & 1
        ]
        gain, box, move = min(pushes, default=(0, 0, ""))
        if gain >= 0:
            return "restart"
        behind = box - step[move]
        walk = trace_way(flood_layers(free, level.stride, episode.player, behind), level.stride, behind)
        return " ".join([DIRECTIONS[letter] for letter in walk + move])

    def solver_cost(self, episode: SokobanState) -> float:
        """Return the number of moves, walking included, of the rest of the plan."""
        moves = 0
        while episode.done < len(episode.level.plan):
            moves += len(_moves_to_next_push(episode))
            episode = self.act(episode, self.oracle(episode)).state
        return float(moves)

    def draw(self, episode: SokobanState) -> np.ndarray:
        looks = {
            "#": Cell(fill="#4a4e69"),
            "-": Cell(),
            ".": Cell("x", ink="#e63946"),
            "$": Cell("B", "#d4a373"),
            "*": Cell("B", "#8ab17d"),
            "@": Cell("@", "#8ecae6"),
            "+": Cell("@", "#8ecae6", "#e63946"),
        }
        return draw_board(
            [[looks[character] for character in row.split()] for row in _format_room(episode).split("\n")]
        )


def _reject(state: SokobanState, error: str) -> Transition:
    return Transition(state, progress=_progress(state), action_error=error)


def _make_transition(state: SokobanState) -> Transition:
    progress = _progress(state)
    return Transition(state, done=progress == 1.0, success=progress == 1.0, progress=progress)


def _progress(state: SokobanState) -> float:
    room = state.level.room
    return sum([room[box] == "." for box in state.boxes]) / len(state.boxes)


def _format_room(state: SokobanState) -> str:
    characters = list(state.level.room)
    for box in state.boxes:
        characters[box] = _SYMBOLS[characters[box]][0]
    characters[state.player] = _SYMBOLS[characters[state.player]][1]
    return "".join(characters)


def _moves_to_next_push(state: SokobanState) -> str:
    """Return the moves up to and including the next push of the plan."""
    level = state.level
    box, move = level.plan[state.done]
    behind = box - direction_steps(level.stride)[move]
    free = _free_places(level.room) & ~sum([1 << place for place in state.boxes])
    return trace_way(flood_layers(free, level.stride, state.player, behind), level.stride, behind) + move


def _free_places(room: str) -> int:
    return sum([1 << place for place, character in enumerate(room) if character in "-."])


@functools.lru_cache(maxsize=8)
def _empty_room(size: int) -> tuple[bytes, list[int]]:
    """Return (drawing of a room without inner walls, places in the room)."""
    wall, row = " ".join("#" * (size + 2)), " ".join("#" + "-" * size + "#")
    room = "\n".join([wall, *[row] * size, wall]).encode()
    return room, [place for place, character in enumerate(room) if character == _FLOOR]


def _draw_level(draws: list[float], size: int, count: int, pushes: int) -> Level | None:
    """Return the level with the lower bound ``pushes`` (see `Sokoban`) that the draws in [0, 1) determine; None if they
    determine none."""
    empty, places = _empty_room(size)
    stride = 2 * (size + 2)
    directions = tuple(direction_steps(stride).items())
    room = bytearray(empty)
    draw = iter(draws)
    for _ in range(size):
        room[places[int(next(draw) * len(places))]] = _WALL
    # Place the goals close together, so that a box pulled off one does not come near to another.
    first = places[int(next(draw) * len(places))]
    if room[first] == _WALL:
        return None
    near = [
        place
        for layer in flood_layers(_free_places(room.decode()), stride, first)
        for place in places
        if layer >> place & 1
    ]
    if len(near) < len(places) // 2:
        return None
    # Fill the places that cannot be reached.
    free = sum([1 << place for place in near])
    for place in places:
        if not free >> place & 1:
            room[place] = _WALL
    goals = [first] + [near.pop(1 + int(next(draw) * (3 * count - 1 - i))) for i in range(count - 1)]
    far = [_push_distances(free, directions, goal) for goal in goals]
    if sum([max(places.values()) for places in far]) < pushes:
        return None
    # Play backwards from the end: pull each box off its goal, away from it where possible.
    boxes = list(goals)
    outside = free & ~sum([1 << box for box in boxes])
    player = next(place for place in reversed(near) if outside >> place & 1)
    plan: list[tuple[int, str]] = []
    total = 0
    for u in draw:
        region = 0
        for layer in flood_layers(outside, stride, player):
            region |= layer
        ahead, others = [], []
        for i, box in enumerate(boxes):
            for move, step in directions:
                if region >> box + step & 1 and outside >> box + 2 * step & 1:
                    gain = far[i][box + step] - far[i][box]
                    (ahead if gain > 0 else others).append((i, move, step, gain))
        choices = ahead if ahead and u < 0.85 else others or ahead
        if not choices:
            return None
        i, move, step, gain = choices[int(next(draw, 0.0) * len(choices))]
        outside ^= 1 << boxes[i] | 1 << boxes[i] + step
        boxes[i] += step
        player = boxes[i] + step
        plan.append((boxes[i], _BACK[move]))
        total += gain
        if total >= pushes and _least_distance_sum(far, boxes) == pushes:
            for goal in goals:
                room[goal] = _GOAL
            return Level(room.decode(), stride, frozenset(boxes), player, tuple(reversed(plan)))
        if len(plan) >= max(_MOST_PULLS, pushes + 15):
            return None
    return None


def _push_distances(free: int, directions: tuple[tuple[str, int], ...], goal: int) -> dict[int, int]:
    """Return place of a box -> number of pushes to ``goal`` if this is the only box in the room."""
    far, queue = {goal: 0}, [goal]
    for box in queue:
        for _, step in directions:
            there = box + step
            if there not in far and free >> there & 1 and free >> there + step & 1:
                far[there] = far[box] + 1
                queue.append(there)
    return far


@functools.lru_cache(maxsize=64)
def _goal_distances(room: str, stride: int) -> list[dict[int, int]]:
    """Return the `_push_distances` of each goal in the room."""
    directions = tuple(direction_steps(stride).items())
    goals = [place for place, character in enumerate(room) if character == "."]
    return [_push_distances(_free_places(room), directions, goal) for goal in goals]


def _least_distance_sum(far: Sequence[Mapping[int, float]], boxes: list[int]) -> float:
    """Return the least sum of distances over all assignments of boxes to goals."""
    table = [[goal.get(box, float("inf")) for goal in far] for box in boxes]
    return min(
        sum([row[goal] for row, goal in zip(table, order)]) for order in itertools.permutations(range(len(boxes)))
    )


register("palaestra/Sokoban-v0", f"{__name__}:Sokoban")
