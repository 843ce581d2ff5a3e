from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from palaestra.envs.games import connect_four as c4
from palaestra.envs.games.connect_four import (
    ConnectFour,
    Position,
    completing_cells,
    find_winning_move,
    has_four_in_line,
    mirror_board,
)

Board = list[list[str]]  # columns, each from the bottom


def read(text: str) -> tuple[int, int]:
    """(X, O) as bit sets of a board written in rows, top row first."""
    rows = [row.split() for row in reversed(text.strip().splitlines())]
    return tuple(
        sum(1 << 7 * x + y for y, row in enumerate(rows) for x, sign in enumerate(row) if sign == who) for who in "XO"
    )  # type: ignore[return-value]


def columns_of(mine: int, theirs: int) -> Board:
    signs = [
        ["X" if mine >> b & 1 else "O" if theirs >> b & 1 else "" for b in range(7 * x, 7 * x + 6)] for x in range(7)
    ]
    return [[sign for sign in column if sign] for column in signs]


def four(board: Board, who: str) -> bool:
    """Four in a line, looked for from every cell in every direction."""

    def at(x: int, y: int) -> str:
        return board[x][y] if 0 <= x < 7 and 0 <= y < len(board[x]) else ""

    ways = ((1, 0), (0, 1), (1, 1), (1, -1))
    return any(
        all(at(x + i * dx, y + i * dy) == who for i in range(4)) for x in range(7) for y in range(6) for dx, dy in ways
    )


def must_win(board: Board, moves: int) -> bool:
    """Whether X, to move, can win within so many moves against every reply; plain minimax on lists."""
    for x in range(7):
        if len(board[x]) == 6:
            continue
        board[x].append("X")
        won = four(board, "X")
        if not won and moves > 1:
            won = True
            replies = [o for o in range(7) if len(board[o]) < 6]
            for o in replies:
                board[o].append("O")
                won = not four(board, "O") and must_win(board, moves - 1)
                board[o].pop()
                if not won:
                    break
            won = won and bool(replies)
        board[x].pop()
        if won:
            return True
    return False


def random_boards(count: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    boards = []
    for _ in range(count):
        board: Board = [[] for _ in range(7)]
        for turn in range(int(rng.integers(6, 34))):
            open_columns = [x for x in range(7) if len(board[x]) < 6]
            board[int(rng.choice(open_columns))].append("XO"[turn % 2])
        boards.append(
            tuple(sum(1 << 7 * x + y for x in range(7) for y, s in enumerate(board[x]) if s == w) for w in "XO")
        )
    return boards  # type: ignore[return-value]


def test_lines_of_four_are_seen_as_by_looking_cell_by_cell():
    for mine, theirs in random_boards(150):
        board = columns_of(mine, theirs)
        assert has_four_in_line(mine) == four(board, "X")
        assert has_four_in_line(theirs) == four(board, "O")


def test_cells_that_make_four_are_seen_as_by_trying_each():
    for mine, theirs in random_boards(200):
        if not has_four_in_line(mine):
            empty = [bit for bit in range(48) if bit % 7 < 6 and not (mine | theirs) >> bit & 1]
            found = {bit for bit in empty if has_four_in_line(mine | 1 << bit)}
            assert found == {bit for bit in empty if completing_cells(mine) >> bit & 1}


OPEN_TWO = """
. . . . . . .
. . . . . . .
. . . . . . .
. . . . . . .
. . . O O . .
. . . X X . .
"""


def test_two_in_the_open_win_with_two_more_as_worked_by_hand():
    # A third X beside the two leaves two ends, 2 and 6 or 3 and 7: O can stop one.
    mine, theirs = read(OPEN_TWO)
    assert not find_winning_move(mine, theirs, 1)
    assert find_winning_move(mine, theirs, 2)
    assert find_winning_move(mine, theirs, 2, quiet=False) in (1 << 14, 1 << 35)
    assert must_win(columns_of(mine, theirs), 2)


def at(text: str, moves: int = 2, opponent: str = "blocks", mistakes: float = 0.0, chance: float = 0.5) -> ConnectFour:
    env = ConnectFour(render_mode="rgb_array")
    env.reset(seed=0)
    state = Position(*read(text), moves, opponent, mistakes, (chance,) * (2 * moves))
    env.set_state({**env.get_state(), "state": state, "limit": moves})
    return env


def test_a_game_in_words():
    env = at(OPEN_TWO)
    observation, reward, done, _, _ = env.step("3")
    # O takes one of the two ends, and the other one wins.
    assert observation.splitlines()[-2:] in (
        [". O X X X . .", "1 2 3 4 5 6 7"],
        [". . X X X O .", "1 2 3 4 5 6 7"],
    )
    assert (reward, done) == (0.0, False)
    _, reward, done, _, info = env.step("6" if ". O X" in observation else "2")
    assert (reward, done, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)


def test_the_last_move_that_does_not_connect_four_earns_nothing():
    env = at(OPEN_TWO)
    env.step("3")
    _, reward, done, truncated, info = env.step("1")
    assert (reward, done or truncated, info["is_success"], info["progress"]) == (0.0, True, False, 0.0)


def test_the_opponent_may_win_and_that_loses():
    env = at(". . . . . . .\n" * 3 + "O . . . . . .\nO X . . . . .\nO X . X . . .", moves=3)
    observation, reward, done, truncated, info = env.step("7")
    assert observation.splitlines()[2].startswith("O")
    assert (reward, done, truncated, info["is_success"]) == (0.0, True, False, False)


@pytest.mark.parametrize("opponent", ["blocks", "searches"])
def test_the_opponent_stops_a_four_with_the_next_disc(opponent: str):
    env = at(". . . . . . .\n" * 3 + ". . . . . . .\nX O . . . . .\nX O . . O . .", moves=3, opponent=opponent)
    observation = env.step("1")[0]
    assert observation.splitlines()[2].startswith("O")


def test_the_opponent_that_searches_sees_further_than_the_one_that_blocks():
    # X threatens to make an open three in the bottom row. Only a disc beside the two stops that for good.
    text = ". . . . . . .\n" * 5 + ". . . . X . ."
    replies = {}
    for opponent in ("blocks", "searches"):
        replies[opponent] = set()
        for chance in np.linspace(0.0, 0.999, 15).tolist():
            env = at(text, moves=3, opponent=opponent, chance=chance)
            env.step("4")
            replies[opponent].add(env.here().theirs)
    assert len(replies["blocks"]) == 7
    assert replies["searches"]
    assert len(replies["searches"]) < 7
    mine = read(text)[0] | 1 << 21
    assert not any(find_winning_move(mine, theirs, 2) for theirs in replies["searches"])


def test_mistakes_are_random_columns():
    text = ". . . . . . .\n" * 3 + ". . . . . . .\nX O . . . . .\nX O . . O . ."
    for chance, stopped in ((0.1, False), (0.25, True)):
        env = at(text, moves=3, mistakes=0.2, chance=chance)
        observation = env.step("1")[0]
        assert observation.splitlines()[2].startswith("O") is stopped


@pytest.mark.parametrize("action", ["0", "8", "11", "1 2", "x", "-1", "1.0", "row 1", "\u0661", "1" * 4000])
def test_what_is_no_column_is_refused_and_uses_up_a_move(action: str):
    env = at(OPEN_TWO)
    before = env.here()
    info = env.step(action)[4]
    assert info["action_error"] == "Answer with the number of a column, 1 to 7."
    assert env.here() == before
    assert env.step("3")[3]


def test_a_full_column_is_refused():
    env = at("O . . . . . .\nX . . . . . .\nO . . . . . .\nX . . . . . .\nO . . . . . .\nX . . . . . .")
    assert env.step("1")[4]["action_error"] == "Column 1 is full; choose another."


@pytest.mark.parametrize(("moves", "games"), [(2, 12), (3, 2)])
def test_positions_are_won_in_just_the_moves_they_say(moves: int, games: int):
    for seed in range(games):
        env = ConnectFour(moves=moves)
        prompt, _ = env.reset(seed=seed)
        state = env.here()
        board = columns_of(state.mine, state.theirs)
        assert f"at most {moves} moves" in prompt
        assert not four(board, "X")
        assert not four(board, "O")
        assert must_win(board, moves)
        assert not must_win(board, moves - 1)
        counts = [sum(column.count(who) for column in board) for who in "XO"]
        assert abs(counts[0] - counts[1]) <= 1


def test_four_moves_are_needed_where_there_are_four_even_if_threats_are_not_the_only_way():
    env = ConnectFour(moves=4)
    # With these seeds a position comes up first that three moves win, one of them without a threat.
    for seed in (50, 87, 134, 140):
        env.reset(seed=seed)
        assert not find_winning_move(env.here().mine, env.here().theirs, 3)


def test_the_oracle_wins_whatever_the_opponent_replies():
    def follow(env: ConnectFour, state: Position) -> int:
        cell = c4.playable_cells(state.mine | state.theirs) & c4._COLUMN[int(env.oracle(state)) - 1]
        mine = state.mine | cell
        if has_four_in_line(mine):
            return 1
        assert state.made + 1 < state.moves
        replies = c4._split_cells(c4.playable_cells(mine | state.theirs))
        assert replies
        lines = 0
        for reply in replies:
            assert not has_four_in_line(state.theirs | reply)
            lines += follow(env, replace(state, mine=mine, theirs=state.theirs | reply, made=state.made + 1))
        return lines

    lines = 0
    for moves, games in ((2, 12), (3, 8), (4, 4)):
        env = ConnectFour(moves=moves)
        for seed in range(games):
            env.reset(seed=seed)
            lines += follow(env, env.here())
    assert lines > 200


def test_one_column_all_the_time_never_wins_against_the_one_that_blocks():
    env = ConnectFour(opponent="blocks")
    for seed in range(8):
        for column in "1234567":
            env.reset(seed=seed)
            while not env._ended:
                info = env.step(column)[4]
            assert not info["is_success"]


def wins_by_luck(board: Board, moves: int) -> float:
    """How often threats taken at random win against an opponent that stops them, in plain code on lists."""

    def fills(who: str) -> list[int]:
        found = []
        for x in range(7):
            if len(board[x]) < 6:
                board[x].append(who)
                found += [x] * four(board, who)
                board[x].pop()
        return found

    if fills("X"):
        return 1.0
    if moves == 1:
        return 0.0
    middle_first = [3, 2, 4, 1, 5, 0, 6]
    options, safe = [x for x in middle_first if x in fills("O")][:1], []
    for x in [] if options else middle_first:
        if len(board[x]) < 6:
            board[x].append("X")
            if not fills("O"):
                safe.append(x)
                options += [x] * bool(fills("X"))
            board[x].pop()
    options = options or safe or [x for x in middle_first if len(board[x]) < 6]
    total = 0.0
    for x in options:
        board[x].append("X")
        if not fills("O"):
            stopping = fills("X")
            replies = stopping or [o for o in range(7) if len(board[o]) < 6]
            values = []
            for o in replies:
                board[o].append("O")
                values.append(wins_by_luck(board, moves - 1))
                board[o].pop()
            total += min(values) if stopping else sum(values) / len(values) if values else 0.0
        board[x].pop()
    return total / len(options)


@pytest.mark.parametrize(("moves", "games"), [(2, 10), (3, 4)])
def test_threats_at_random_win_no_more_often_than_luck_allows(moves: int, games: int):
    for luck in (0.25, 0.6):
        env = ConnectFour(moves=moves, luck=luck)
        for seed in range(games):
            env.reset(seed=seed)
            state = env.here()
            found = wins_by_luck(columns_of(state.mine, state.theirs), moves)
            assert found == pytest.approx(c4.chance_of_winning(state.mine, state.theirs, moves))
            assert 0.0 < found <= luck


def test_a_player_that_looks_one_disc_ahead_wins_most_easy_games_and_few_hard_ones():
    won = {}
    for difficulty in (0.0, 1.0):
        env, won[difficulty] = ConnectFour(difficulty=difficulty), 0
        for seed in range(30):
            env.reset(seed=seed)
            while not env._ended:
                info = env.step(env.heuristic_action(env.here()))[4]
            won[difficulty] += info["is_success"]
    assert won[0.0] > 18
    assert won[1.0] < 16


def test_a_board_and_its_mirror_image_are_one_task():
    env = ConnectFour()
    env.reset(seed=3)
    state = env.here()
    other = replace(state, mine=mirror_board(state.mine), theirs=mirror_board(state.theirs))
    assert other != state
    assert env.content_of(other) == env.content_of(state)
    assert mirror_board(mirror_board(state.mine)) == state.mine


def test_the_picture_has_42_cells_in_the_discs_colours():
    picture = at(OPEN_TWO).render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (6 * 40 + 1, 7 * 40 + 1, 3)
    assert picture[205, 125].tolist() == [0xED, 0xAE, 0x49]
    assert picture[165, 125].tolist() == [0xD1, 0x49, 0x5B]


def test_a_column_may_be_put_in_words():
    for said in ("Column 3", "column 3.", "**3**", "My move: 3"):
        assert at(OPEN_TWO).step(said) == at(OPEN_TWO).step("3")
