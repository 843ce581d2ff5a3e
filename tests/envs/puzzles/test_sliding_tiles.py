"""Sliding tiles, against a breadth-first search over boards."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from palaestra.envs.puzzles.sliding_tiles import SlidingTiles, Tiles

FAMILY = SlidingTiles()
Board = tuple[int, ...]
# Slide 6, then 8: the gap goes up from the corner and left.
SOLVED = (1, 2, 3, 4, 5, 6, 7, 8, 0)
NEAR = Tiles((1, 2, 3, 4, 0, 5, 7, 8, 6), SOLVED, (5, 6), left=4)


def successors(board: Board) -> dict[int, Board]:
    side = 3 if len(board) == 9 else 4
    y, x = divmod(board.index(0), side)
    found = {}
    for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
        if 0 <= v < side and 0 <= u < side:
            tile = board[v * side + u]
            found[tile] = tuple({0: tile, tile: 0}.get(cell, cell) for cell in board)
    return found


def distance(start: Board, goal: Board) -> int:
    """From both ends at once, layer by layer."""
    seen, fronts = [{start}, {goal}], [{start}, {goal}]
    moves = 0
    while not fronts[0] & fronts[1]:
        side = moves % 2
        fronts[side] = {after for board in fronts[side] for after in successors(board).values()} - seen[side]
        seen[side] |= fronts[side]
        moves += 1
    return moves


def played(state: Tiles, *actions: str) -> list[Any]:
    """The transitions of a game from ``state``."""
    record = []
    for action in actions:
        record.append(FAMILY.act(state, action))
        state = record[-1].state
    return record


@pytest.mark.parametrize(("size", "distances"), [(3, (4, 9, 16, 22)), (4, (4, 11, 14))])
def test_starts_are_at_the_exact_distance(size: int, distances: tuple[int, ...]):
    rng = np.random.default_rng(size)
    for wanted in distances:
        for slack in (0, 7):
            state = FAMILY.start(rng, {"distance": wanted, "size": size, "slack": slack})
            assert sorted(state.tiles) == sorted(state.goal) == list(range(size * size))
            assert distance(state.tiles, state.goal) == wanted
            assert state.left == wanted + slack


def test_the_plan_leads_to_the_goal_also_after_detours():
    rng = np.random.default_rng(7)
    for _ in range(40):
        state = FAMILY.start(rng, {"distance": 8, "size": 3 + _ % 2, "slack": 10})
        for _ in range(3):
            options = sorted(successors(state.tiles))
            state = FAMILY.act(state, str(options[int(rng.integers(len(options)))])).state
        board = state.tiles
        for tile in state.plan:
            board = successors(board)[tile]
        assert board == state.goal


def test_every_tile_slides_exactly_where_the_search_says():
    rng = np.random.default_rng(2)
    for size in (3, 4):
        state = FAMILY.start(rng, {"distance": 12, "size": size, "slack": 10})
        for _ in range(12):
            options = successors(state.tiles)
            for tile in range(size * size + 2):
                result = FAMILY.act(state, str(tile))
                if tile in options:
                    assert result.state.tiles == options[tile]
                    assert result.state.left == state.left - 1
                else:
                    assert result.state is state
                    assert f"Tile {tile} does not lie beside the gap" in (result.action_error or "")
            state = FAMILY.act(state, str(sorted(options)[int(rng.integers(len(options)))])).state


def test_worked_example():
    first, last = played(NEAR, "5", "6")
    assert (first.done, first.success, first.state.left) == (False, False, 3)
    assert FAMILY.observe(first.state) == "Now:\n1 2 3\n4 5 _\n7 8 6\n3 moves left."
    assert (last.done, last.success, last.progress) == (True, True, 1.0)
    assert played(NEAR, "5, 6")[0].success
    assert played(NEAR, "[5, 6]")[0].success
    assert played(NEAR, "8 8 5 6")[0].success


def test_progress_counts_the_places_that_are_as_in_the_goal():
    assert played(NEAR, "5")[0].progress == pytest.approx(7 / 9)


def test_a_wrong_tile_in_an_action_undoes_all_of_it():
    (result,) = played(NEAR, "5 1")
    assert result.state is NEAR
    assert result.action_error
    assert not result.done


def test_the_game_is_lost_without_moves():
    result = played(NEAR, "8", "7", "4", "1")[-1]
    assert (result.done, result.success, result.state.left) == (True, False, 0)
    assert "4 are left" in (played(NEAR, "5 5 5 5 5")[0].action_error or "")


@pytest.mark.parametrize("action", ["five", "5.6", "5;6", "-5", "5 6 up", "\u0665", "5" * 4000, "5 " * 2000 + "x"])
def test_what_is_no_list_of_tiles_is_refused(action: str):
    result = FAMILY.act(NEAR, action)
    assert result.state is NEAR
    assert "must be tiles in order" in (result.action_error or "")


def test_the_first_observation_shows_both_boards():
    rng = np.random.default_rng(4)
    for size in (3, 4):
        state = FAMILY.start(rng, {"distance": 6, "size": size, "slack": 3})
        text = FAMILY.observe(state)
        assert "at most 9 moves" in text
        cells = re.findall(r"_|[0-9]+", text.split("Now:\n")[1].split("\nAnswer")[0])
        assert [0 if cell == "_" else int(cell) for cell in cells] == [*state.tiles, *state.goal]


def test_pictures_have_a_square_per_place():
    pytest.importorskip("PIL")
    assert FAMILY.draw(NEAR).shape == (121, 121, 3)


def test_tiles_brought_home_and_potentials_of_a_game_played_by_the_oracle():
    env = SlidingTiles(difficulty=0.3)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        home = {tile for tile, goal in zip(env.here().tiles, env.here().goal) if tile == goal}
        while not (step := env.step(env.oracle()))[2]:
            pass
        extras = step[4]["extras"]
        turns = len(extras["completion"])
        assert (info["extras"]["potentials"], extras["potentials"][0], extras["potentials"][-1]) == ([-1.0], -1.0, 0.0)
        assert (len(extras["potentials"]), len(extras["achieved"])) == (turns + 1, turns)
        named = {name for names in extras["achieved"] for name in names}
        assert named >= {f"tile {tile}" for tile in env.here().goal if tile and tile not in home}
