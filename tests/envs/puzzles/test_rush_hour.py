"""Rush Hour, against a breadth-first search over boards as they are printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palaestra.envs.puzzles import rush_hour
from palaestra.envs.puzzles.rush_hour import RushHour, RushHourState, _boards, _cars, _layers, find_position_layers
from palaestra.tools import make_rush_hour_boards

FAMILY = RushHour()
Board = tuple[str, ...]
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def read(text: str) -> Board:
    rows = ["".join(line.split(" ")) for line in text.split("\n") if len(line) == 11 and line[1] == " "]
    assert len(rows) == 6
    return tuple(rows)


def squares(board: Board, car: str) -> list[tuple[int, int]]:
    return [(y, x) for y, row in enumerate(board) for x, name in enumerate(row) if name == car]


def moved(board: Board, car: str, towards: str, count: int) -> Board | None:
    """The board after a move; None where it cannot be made."""
    for _ in range(count):
        here = squares(board, car)
        if not here or (len({y for y, _ in here}) == 1) != (towards in ("left", "right")):
            return None
        there = [(y + STEPS[towards][0], x + STEPS[towards][1]) for y, x in here]
        if not all(0 <= y < 6 and 0 <= x < 6 and board[y][x] in ("-", car) for y, x in there):
            return None
        cells = [["-" if name == car else name for name in row] for row in board]
        for y, x in there:
            cells[y][x] = car
        board = tuple("".join(row) for row in cells)
    return board


def successors(board: Board) -> dict[tuple[str, str, int], Board]:
    found = {}
    for car in sorted(set("".join(board)) - {"-"}):
        for towards in STEPS:
            for count in range(1, 5):
                after = moved(board, car, towards, count)
                if after is None:
                    break
                found[car, towards, count] = after
    return found


def ended(board: Board) -> bool:
    return (2, 5) in squares(board, "A")


def fewest(board: Board) -> int:
    seen, layer, moves = {board}, [board], 0
    while not any(map(ended, layer)):
        layer = [after for board in layer for after in successors(board).values()]
        layer = [after for after in dict.fromkeys(layer) if after not in seen]
        seen.update(layer)
        moves += 1
    return moves


def play(state: RushHourState, *actions: str) -> list[Any]:
    record = []
    for action in actions:
        record.append(FAMILY.act(state, action))
        state = record[-1].state
    return record


def starts(count: int, **params: int) -> list[RushHourState]:
    rng = np.random.default_rng(count)
    return [FAMILY.start(rng, params) for _ in range(count)]


@pytest.mark.parametrize(("moves", "count"), [(2, 6), (3, 4), (6, 2), (18, 2)])
def test_starts_need_exactly_as_many_moves(moves: int, count: int):
    for slack in (0, 3):
        for state in starts(count // 2, moves=moves, slack=slack):
            text = FAMILY.observe(state)
            assert fewest(read(text)) == moves == FAMILY.solver_cost(state)
            assert f"at most {moves + slack} moves" in text
            assert state.left == FAMILY.turn_limit(state) == moves + slack


def test_the_oracle_follows_a_shortest_plan_also_from_elsewhere():
    rng = np.random.default_rng(3)
    for state in starts(12, moves=6, slack=8):
        for _ in range(3):
            ways = sorted(successors(read(FAMILY.observe(state))))
            state = FAMILY.act(state, "{} {} {}".format(*ways[int(rng.integers(len(ways)))])).state
        left = FAMILY.solver_cost(state)
        while left:
            state = FAMILY.act(state, FAMILY.oracle(state)).state
            assert FAMILY.solver_cost(state) == left - 1
            left -= 1
        assert ended(read(FAMILY.observe(state)))


def test_every_move_does_what_it_does_on_the_printed_board():
    for state in starts(3, moves=9, slack=0):
        board = read(FAMILY.observe(state))
        possible = successors(board)
        for car in "ABCDEFGHIJKLM":
            for towards in STEPS:
                for count in (1, 2, 3, 4):
                    result = FAMILY.act(state, f"{car} {towards} {count}")
                    if (car, towards, count) in possible:
                        assert result.action_error is None
                        assert read(FAMILY.observe(result.state)) == possible[car, towards, count]
                        assert result.state.left == state.left - 1
                    else:
                        assert result.state is state
                        assert result.action_error


def test_boards_are_sound():
    for board in _boards():
        cars = _cars(board)
        assert cars[0].across
        assert [index // 12 for index in cars[0].squares[0]] == [2, 2]
        assert all(len(car.masks) in (4, 5) for car in cars)
        assert not any(car.across and car.squares[0][0] // 12 == 2 for car in cars[1:])
    for board in _boards()[::30]:
        found = _layers(board)
        assert len(found) > 18
        assert sum(map(len, found)) <= 700


def test_the_search_for_boards_goes_on_to_the_distance_wanted():
    rng = np.random.default_rng(1)
    for wanted in (4, 6):
        board = make_rush_hour_boards.hard_board(rng, wanted)
        assert wanted <= len(find_position_layers(board)) - 1
        assert [board[12 + x] for x in range(6)].count("A") == 2
        rows = tuple(board[6 * y : 6 * y + 6] for y in range(6))
        for car in set(board) - {"-"}:
            ys, xs = zip(*squares(rows, car))
            assert sorted((len(set(ys)), len(set(xs)))) in ([1, 2], [1, 3])
        farthest = find_position_layers(board)[-1][0]
        assert fewest(read(FAMILY.observe(RushHourState(board, farthest, 9)))) == len(find_position_layers(board)) - 1


def test_a_board_with_too_many_positions_is_given_up(monkeypatch: pytest.MonkeyPatch):
    size = sum(map(len, find_position_layers(_boards()[0])))
    monkeypatch.setattr(rush_hour, "MOST_POSITIONS", size)
    assert find_position_layers(_boards()[0])
    monkeypatch.setattr(rush_hour, "MOST_POSITIONS", size - 1)
    assert find_position_layers(_boards()[0]) == []


def test_boards_are_not_shared_by_the_splits():
    boards = {split: {start.board for start in drawn(split)} for split in ("train", "test")}
    assert len(boards["train"]) > len(boards["test"]) > 3
    assert not boards["train"] & boards["test"]


def drawn(split: str) -> list[RushHourState]:
    env = RushHour(split=split, axes={"moves": [2, 5]})
    starts = []
    for seed in range(100):
        env.reset(seed=seed)
        starts.append(env.here())
    return starts


def near() -> RushHourState:
    """A position two moves from the end."""
    board = _boards()[0]
    return RushHourState(board, _layers(board)[2][0], left=3)


def test_a_game_is_won_in_one_action_or_several_and_lost_without_moves():
    state = near()
    first = FAMILY.oracle(state)
    (step,) = play(state, first)
    second = FAMILY.oracle(step.state)
    assert (step.done, step.state.left) == (False, 2)
    last = FAMILY.act(step.state, second)
    assert (last.done, last.success, last.progress) == (True, True, 1.0)
    whole = FAMILY.act(state, f"{first}, {second}")
    assert (whole.success, whole.state.left) == (True, 1)
    assert FAMILY.act(state, f"{first.lower()},{second.upper()}").success
    back = {"up": "down", "down": "up", "left": "right", "right": "left"}
    car, towards, count = first.split()
    lost = play(state, first, f"{car} {back[towards]} {count}", first)[-1]
    assert (lost.done, lost.success, lost.state.left) == (True, False, 0)
    assert "3 are left" in (FAMILY.act(state, ", ".join([first] * 4)).action_error or "")


def test_progress_is_the_share_of_the_way_from_the_farthest_position():
    state, farthest = near(), len(_layers(_boards()[0])) - 1
    result = FAMILY.act(state, FAMILY.oracle(state))
    assert result.progress == pytest.approx(1 - 1 / farthest)


def test_one_square_is_meant_where_no_number_is_given():
    for state in starts(5, moves=4, slack=2):
        board = read(FAMILY.observe(state))
        car, towards, _ = next(move for move in sorted(successors(board)) if move[2] == 1)
        assert FAMILY.act(state, f"{car} {towards}") == FAMILY.act(state, f"{car} {towards} 1")


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("A", "must be moves"),
        ("A right 9", "must be moves"),
        ("A right -1", "must be moves"),
        ("A+1", "must be moves"),
        ("A right 1 square", "must be moves"),
        ("Z up 1", "there is no car 'Z'"),
        ("AA up 1", "there is no car 'AA'"),
        ("\u0130 up 1", "no car"),
        ("A up 1", "car A cannot slide up 1"),
        (",,,,,", "3 are left"),
        ("", "must be moves"),
    ],
)
def test_what_is_no_move_is_refused(action: str, why: str):
    state = near()
    result = FAMILY.act(state, action)
    assert result.state is state
    assert why in (result.action_error or "")


def test_an_impossible_move_undoes_the_whole_action():
    state = near()
    result = FAMILY.act(state, f"{FAMILY.oracle(state)}, A up 1")
    assert result.state is state
    assert "Move 2" in (result.action_error or "")


def test_pictures_have_a_square_per_square():
    pytest.importorskip("PIL")
    assert FAMILY.draw(near()).shape == (241, 241, 3)


def test_distances_and_potentials_of_a_game_played_by_the_oracle():
    env = RushHour(moves=5, slack=0)
    for seed in range(5):
        env.reset(seed=seed)
        while not (step := env.step(env.oracle()))[2]:
            pass
        assert step[4]["extras"]["goal_distance"] == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
        assert step[4]["extras"]["potentials"] == [-1.0, -0.8, -0.6, -0.4, -0.2, 0.0]
