from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from palaestra.envs.games.minesweeper import (
    Minesweeper,
    MinesweeperState,
    count_clicks,
    find_free_cells,
    measure_solving_work,
    neighbours,
    open_cell,
)


def bits(*cells: int) -> int:
    return sum(1 << cell for cell in cells)


def by_hand() -> Minesweeper:
    """Five by five, mines at 1 2, 1 4 and 3 1; the lower right is open."""
    env = Minesweeper(render_mode="rgb_array")
    env.reset(seed=0)
    mines = bits(1, 3, 10)
    opened = open_cell(5, mines, 0, 24)
    env.set_state({**env.get_state(), "state": MinesweeperState(5, mines, opened, opened), "limit": 6})
    return env


def test_a_board_in_words():
    env = by_hand()
    env.render_mode = "ansi"
    prompt = env.render()
    assert isinstance(prompt, str)
    assert "3 mines" in prompt
    board = "  1 2 3 4 5\n1 # # # # #\n2 # 2 2 1 1\n3 # 1 . . .\n4 1 1 . . .\n5 . . . . ."
    assert prompt.endswith(board)


def test_columns_stay_in_line_where_numbers_have_two_digits():
    env = Minesweeper(size=12)
    prompt, _ = env.reset(seed=0)
    lines = prompt.splitlines()[1:]
    assert lines[0] == "    1  2  3  4  5  6  7  8  9 10 11 12"
    assert {len(line) for line in lines} == {len(lines[0])}
    state = env.here()
    for row, line in enumerate(lines[1:]):
        assert line[:2] == f"{row + 1:2}"
        signs = line[4::3]
        assert [sign == "#" for sign in signs] == [not state.opened >> (12 * row + column) & 1 for column in range(12)]


def test_opening_several_cells_and_winning():
    env = by_hand()
    # Closed without a mine: 1 1, 1 3, 1 5 and 2 1.
    observation, reward, done, _, info = env.step("1 5, 2 1")
    assert observation.splitlines()[1:3] == ["1 # # # # 1", "2 2 2 2 1 1"]
    assert (reward, done, info["progress"]) == (0.0, False, 0.5)
    _, reward, done, _, info = env.step(" 1 1 ,1  3")
    assert (reward, done, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)


@pytest.mark.parametrize(
    "action", ["(1, 5), (2, 1)", "1,5; 2,1", "[[1, 5], [2, 1]]", "Row 1, column 5 and row 2 column 1"]
)
def test_cells_are_read_in_other_spellings(action: str):
    env, other = by_hand(), by_hand()
    assert env.step(action) == other.step("1 5, 2 1")


def test_opening_a_mine_loses_whatever_was_opened_before():
    env = by_hand()
    observation, reward, done, truncated, info = env.step("1 5, 2 1, 1 1, 1 2, 1 3")
    assert (reward, done, truncated, info["is_success"], info["progress"]) == (0.0, True, False, False, 0.75)
    assert observation.splitlines()[1] == "1 1 * # # 1"


def test_opening_a_cell_without_mines_around_opens_its_neighbours():
    assert open_cell(5, bits(0), 0, 24) == (1 << 25) - 2
    assert open_cell(5, bits(0), 0, 1) == bits(1)
    # A wall of mines down the middle stops it.
    wall = bits(2, 7, 12, 17, 22)
    assert open_cell(5, wall, 0, 0) == bits(0, 1, 5, 6, 10, 11, 15, 16, 20, 21)


@pytest.mark.parametrize(
    "action", ["", "0 1", "1 6", "3", "1 1 1", "a b", "1.1", "-1 2", "1 5, 9 9", "01 1", "\u0661 1", "11", "9" * 4000]
)
def test_what_names_no_cells_is_refused_and_opens_nothing(action: str):
    env = by_hand()
    before = env.here()
    _, reward, _, _, info = env.step(action)
    assert info["action_error"]
    assert reward == 0.0
    assert env.here() == before


def test_open_cells_may_be_named_again_but_not_alone():
    env = by_hand()
    assert env.step("5 5, 4 4")[4]["action_error"] == "What you name is open already; name a closed cell."
    assert env.step("5 5, 1 5")[4]["action_error"] is None


def test_turns_run_out():
    env = by_hand()
    ends = [env.step("5 5")[3] for _ in range(6)]
    assert ends == [False] * 5 + [True]


def test_the_rules_on_boards_worked_by_hand():
    # The upper row is closed. One mine at 1 2: the number below 1 4 is zero, so that 1 3, 1 4 and 1 5 are free.
    opened = bits(*range(5, 25))
    assert find_free_cells(5, bits(1), opened, False)[0] == bits(2, 3, 4)
    # Mines at 1 2 and 1 4 give 1 1 2 1 1, and no number alone helps. But 2 1 and 2 2 see the same one mine, so that 1 3
    # is free; and 2 3 misses one more than 2 2 and has 1 4 of its own, so that this is a mine and 1 1 free.
    assert find_free_cells(5, bits(1, 3), opened, False)[0] == 0
    assert find_free_cells(5, bits(1, 3), opened, True)[0] == bits(0, 2, 4)


def test_clicks_count_each_open_area_once():
    assert count_clicks(5, bits(0), 0) == 1
    assert count_clicks(5, bits(12), 0) == 1  # the rim is one area, and opening it opens all the rest
    assert count_clicks(5, bits(6), 0) == 4  # three cells in the corner touch no area of zeros
    assert count_clicks(5, bits(6), open_cell(5, bits(6), 0, 24)) == 3


def layouts(field: MinesweeperState) -> Iterator[int]:
    """Every way to lay as many mines on the closed cells that gives the numbers seen; by trying all."""
    around = neighbours(field.size)
    closed = [cell for cell in range(field.size**2) if not field.opened >> cell & 1]
    seen = [(around[c], (around[c] & field.mines).bit_count()) for c in range(field.size**2) if field.opened >> c & 1]
    for chosen in itertools.combinations(closed, field.mines.bit_count()):
        mines = bits(*chosen)
        if all((near & mines).bit_count() == number for near, number in seen):
            yield mines


@pytest.mark.parametrize("rules", ["single", "pairs"])
def test_no_board_needs_a_guess(rules: str):
    env = Minesweeper(rules=rules, size=5, axes={"density": [0.12, 0.16]})
    for seed in range(12):
        env.reset(seed=seed)
        ended = False
        while not ended:
            field = env.here()
            possible = list(layouts(field))
            action = env.oracle()
            for part in action.split(","):
                y, x = map(int, part.split())
                cell = (y - 1) * field.size + x - 1
                assert not any(mines >> cell & 1 for mines in possible)
            *_, ended, _, info = env.step(action)
        assert info["is_success"]


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_boards_are_as_the_parameters_say(difficulty: float):
    for seed in range(12):
        for rules in ("single", "pairs"):
            env = Minesweeper(difficulty=difficulty, rules=rules)
            _, info = env.reset(seed=seed)
            field, size = env.here(), info["params"]["size"]
            assert field.mines.bit_count() == round(info["params"]["density"] * size**2)
            assert not field.opened & field.mines
            # Something is left to do, and what is open came from one cell without mines around it.
            assert count_clicks(size, field.mines, field.opened) >= size
            around = neighbours(size)
            zeros = [c for c in range(size**2) if field.opened >> c & 1 and not around[c] & field.mines]
            assert open_cell(size, field.mines, 0, zeros[0]) == field.opened
            assert bool(measure_solving_work(size, field.mines, field.opened, False)) is (rules == "single")


def test_opening_closed_cells_at_random_hardly_ever_wins():
    rng, won = np.random.default_rng(0), 0.0
    env = Minesweeper(difficulty=0.0)
    for seed in range(400):
        env.reset(seed=seed)
        ended = False
        while not ended:
            field = env.here()
            closed = [cell for cell in range(25) if not field.opened >> cell & 1]
            cell = int(rng.choice(closed))
            _, reward, ended, _, _ = env.step(f"{cell // 5 + 1} {cell % 5 + 1}")
            won += reward
    assert won / 400 <= 0.02


def test_the_oracle_goes_on_from_anywhere():
    env = by_hand()
    env.step("1 1")
    while not env._ended:
        info = env.step(env.oracle())[4]
    assert info["is_success"]


def test_the_picture_has_a_square_per_cell():
    picture = by_hand().render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (5 * 32 + 1, 5 * 32 + 1, 3)
    assert picture[5, 5].tolist() == [0xA9, 0xA1, 0x8F]
    assert picture[155, 155].tolist() == [0xFA, 0xF7, 0xF0]


def test_the_number_of_all_mines_frees_a_cell_that_no_open_one_touches():
    # The corner is shut in by three mines, which the cells beside them give away.
    mines, everything = bits(1, 5, 6), (1 << 25) - 1
    assert find_free_cells(5, mines, everything & ~mines & ~1, False)[0] == 1
    assert find_free_cells(5, mines | 1, everything & ~mines & ~1, False)[0] == 0
