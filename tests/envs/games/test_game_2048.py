from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from palaestra.envs.games.game_2048 import (
    BRISK,
    CYCLES,
    MOVES,
    Game2048,
    Game2048State,
    add_tile,
    best_move,
    count_moves_to_goal,
    slide_left,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((0, 1, 0, 1), (2, 0, 0, 0)),
        ((1, 1, 1, 0), (2, 1, 0, 0)),  # the two that meet first join
        ((1, 1, 1, 1), (2, 2, 0, 0)),  # once a move: no 8
        ((1, 1, 2, 0), (2, 2, 0, 0)),  # the new 4 does not join the old one
        ((2, 1, 1, 2), (2, 2, 2, 0)),
        ((3, 0, 0, 3), (4, 0, 0, 0)),
        ((1, 2, 1, 2), (1, 2, 1, 2)),
        ((0, 0, 0, 0), (0, 0, 0, 0)),
    ],
)
def test_rows_slide_as_worked_by_hand(row: tuple[int, ...], expected: tuple[int, ...]):
    assert slide_left(row) == expected


def slow(board: Sequence[Sequence[int]], name: str) -> tuple[tuple[int, ...], ...]:
    """A move cell by cell on numbers, by turning the board until it is a move to the left."""
    turns = {"left": 0, "up": 1, "right": 2, "down": 3}[name]
    cells = np.rot90(np.array([[2**t if t else 0 for t in row] for row in board]), turns).tolist()
    for row in cells:
        fixed = 0
        for x in range(4):
            if row[x]:
                value, row[x] = row[x], 0
                if fixed and row[fixed - 1] == value:
                    row[fixed - 1] = -2 * value  # negative: has joined, and joins no more
                else:
                    row[fixed] = value
                    fixed += 1
    cells = np.rot90(np.abs(np.array(cells)), -turns)
    return tuple(tuple(int(v).bit_length() - 1 if v else 0 for v in row) for row in cells)


def test_moves_agree_with_sliding_cell_by_cell():
    rng = np.random.default_rng(0)
    for _ in range(150):
        board = tuple(tuple(row) for row in rng.choice([0, 0, 1, 1, 2, 3], (4, 4)).tolist())
        for name, move in MOVES.items():
            assert move(board) == slow(board, name)


def at(rows: Sequence[Sequence[int]], goal: int = 4, limit: int = 9, chance: float = 0.5) -> Game2048:
    env = Game2048(render_mode="rgb_array")
    env.reset(seed=0, options={"params": {"goal": 16}})
    state = Game2048State(tuple(map(tuple, rows)), goal, limit, limit, (chance,) * 80)
    env.set_state({**env.get_state(), "state": state, "limit": limit})
    return env


def test_a_move_in_words():
    env = at([[1, 0, 0, 1], [0] * 4, [0] * 4, [0] * 4])
    observation, reward, done, _, info = env.step("Left")
    # Of fifteen empty cells the one in the middle: 7 of 0 to 14, which is the first of the third row.
    assert observation == "4 . . .\n. . . .\n2 . . .\n. . . ."
    assert (reward, done, info["progress"]) == (0.0, False, pytest.approx(1 / 3))


def test_the_new_tile_is_a_four_one_time_in_ten():
    empty = ((0,) * 4,) * 4
    assert add_tile(empty, (0.999, 0.05), 0)[3][3] == 2
    assert add_tile(empty, (0.0, 0.15), 0)[0][0] == 1
    assert add_tile(add_tile(empty, (0.0, 0.15, 0.0, 0.05), 0), (0.0, 0.15, 0.0, 0.05), 1)[0][:2] == (1, 2)


def test_reaching_the_goal_wins_at_once():
    env = at([[3, 3, 0, 0], [0] * 4, [0] * 4, [0] * 4])
    observation, reward, done, _, info = env.step("left")
    assert observation.startswith("16 . . .")
    assert (reward, done, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)


def test_half_the_goal_on_the_last_move_earns_nothing():
    env = at([[2, 2, 3, 0], [0] * 4, [0] * 4, [0] * 4], limit=1)
    _, reward, done, truncated, info = env.step("left")
    assert (reward, done, truncated, info["is_success"]) == (0.0, False, True, False)
    assert info["progress"] == pytest.approx(2 / 3)


def test_a_board_without_moves_is_lost():
    # The 16 slides to the left, and the new tile, a 4 as 0.01 < 0.1, takes the last cell: nothing can join.
    env = at([[1, 2, 1, 2], [2, 1, 2, 1], [1, 2, 1, 3], [2, 1, 0, 4]], goal=8, chance=0.01)
    _, reward, done, truncated, info = env.step("left")
    assert env.here().rows[3] == (2, 1, 4, 2)
    assert (reward, done, truncated, info["is_success"]) == (0.0, True, False, False)
    # With a 4 above it instead of the 8, the new tile can join.
    env = at([[1, 2, 1, 2], [2, 1, 2, 1], [1, 2, 1, 2], [2, 1, 0, 4]], goal=8, chance=0.01)
    assert not env.step("left")[2]
    assert best_move(env.here().rows) in ("up", "down")


@pytest.mark.parametrize("action", ["", "sideways", "l", "left right", "0", "left" * 1000])
def test_what_is_no_move_is_refused(action: str):
    env = at([[1, 0, 0, 1], [0] * 4, [0] * 4, [0] * 4])
    _, reward, _, _, info = env.step(action)
    assert info["action_error"]
    assert (reward, env.here().made) == (0.0, 0)


def test_a_move_that_changes_nothing_brings_no_tile_and_uses_up_a_turn():
    env = at([[1, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4], limit=2)
    info = env.step("left")[4]
    assert info["action_error"] == "Nothing moves left; choose another way."
    assert env.here().rows[0] == (1, 0, 0, 0)
    assert env.step("up")[3]


@pytest.mark.parametrize(("goal", "games"), [(16, 20), (32, 10), (64, 8), (256, 2)])
def test_the_oracle_reaches_the_goal_in_the_moves_planned_and_the_limit_follows(goal: int, games: int):
    for seed in range(games):
        for spare in (0.0, 0.1):
            env = Game2048(goal=goal, spare=spare)
            prompt, _ = env.reset(seed=seed)
            start = env.here()
            assert sum(tile > 0 for row in start.rows for tile in row) == 2
            assert f"until one is {goal}." in prompt
            assert f"at most {start.limit} moves" in prompt
            assert start.limit == int(start.planned * (1 + spare))
            # Each tile is at least a 2: so many moves bring twice the goal.
            assert start.planned <= BRISK[goal] <= goal
            steps, ended = 0, False
            while not ended:
                *_, done, truncated, info = env.step(env.oracle())
                steps, ended = steps + 1, done or truncated
            assert info["is_success"]
            assert steps == start.planned
            # No play is shorter than bringing the goal's worth by tiles of at most 4.
            assert 4 * (steps + 1) >= goal


def turns_of(env: Game2048, seed: int, cycle: Sequence[str]) -> int:
    """Turns to the goal of who repeats ``cycle``; 0 where the moves run out."""
    env.reset(seed=seed)
    for turn in range(1, 1000):
        *_, done, truncated, info = env.step(cycle[(turn - 1) % len(cycle)])
        if done or truncated:
            return turn if info["is_success"] else 0
    raise AssertionError


@pytest.mark.parametrize("goal", [16, 64, 256])
def test_going_round_and_round_is_never_as_quick_as_the_oracle(goal: int):
    env = Game2048(goal=goal, spare=0.0)
    assert len(set(CYCLES)) == 8
    for seed in range(6):
        for cycle in CYCLES:
            assert turns_of(env, seed, cycle) == 0


def test_a_game_played_to_find_a_start_is_the_game_of_an_episode():
    env, won = Game2048(goal=32, spare=0.5), 0
    for seed in range(12):
        env.reset(seed=seed)
        start = env.here()
        for cycle in (*CYCLES[:2], ("left", "up", "left", "down")):
            turns = turns_of(env, seed, cycle)
            won += turns > 0
            assert turns == count_moves_to_goal(start.rows, start.goal, start.chance, start.limit, cycle)
    assert won > 5


def test_tiles_to_come_last_for_every_play_within_the_limit():
    for goal in (16, 64, 256):
        env = Game2048(goal=goal, spare=0.1)
        for seed in range(4):
            env.reset(seed=seed)
            assert len(env.here().chance) >= 2 * (env.here().limit + 2)


def test_the_picture_has_sixteen_cells():
    env = at([[3, 3, 0, 0], [0] * 4, [0] * 4, [0] * 4])
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (4 * 60 + 1, 4 * 60 + 1, 3)
    assert picture[5, 5].tolist() == [0xF2, 0xB1, 0x79]


def test_a_move_may_be_put_in_words():
    for said in ("move left", "**Left**", "Move: left.", "Answer: left"):
        env, other = at([[0, 1, 0, 1]] + [[0] * 4] * 3), at([[0, 1, 0, 1]] + [[0] * 4] * 3)
        assert env.step(said) == other.step("left")
    assert at([[0, 1, 0, 1]] + [[0] * 4] * 3).step("remove left")[4]["action_error"]
