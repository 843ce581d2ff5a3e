"""Pictures of digits."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.board_picture import draw_board
from palaestra.envs.induction.images import (
    PATTERNS,
    SYMMETRIES,
    lay_out_panels,
    pattern_picture,
    picture_rows,
    smooth_picture,
    transform_picture,
)

L_SHAPE = np.array([[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize("step", [1, 2, 3])
def test_slopes_are_as_steep_as_allowed_and_no_steeper(step: int):
    rng = np.random.default_rng(step)
    seen = set()
    for _ in range(50):
        picture = smooth_picture(rng, 9, 14, step)
        assert picture.shape == (9, 14)
        steps = [abs(np.diff(picture, axis=axis)).max() for axis in (0, 1)]
        assert steps == [step, step]
        seen |= set(picture.ravel().tolist())
    assert seen == set(range(10))


class Fixed:
    """A generator that draws what it is given."""

    def __init__(self, *draws: float):
        self.draws = draws

    def random(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.resize(self.draws, shape)


def test_a_slope_that_reaches_an_end_of_the_range_turns_back():
    # All points lie in the lower right corner at height 17, which is 9 - (17 - 9) = 1; from there a slope of step 1
    # goes down to 0, up to 9 and down again.
    picture = smooth_picture(Fixed(0.999), 2, 14, 1)  # type: ignore[arg-type]
    assert picture_rows(picture) == ["56789876543210", "67898765432101"]


def test_discs_are_round_and_lie_one_over_the_other():
    # Colours 1, 2, 3 and 6; radius 1 around (2.5, 2.5), (0, 0) and (4, 4), row before column.
    draws = (0.1, 0.2, 0.3, 0.5, 0.5, 0, 0, 0, 0, 0.8, 0.8, 0)
    assert picture_rows(pattern_picture("discs", Fixed(*draws), 5, 5)) == ["33111", "31111", "11221", "11226", "11166"]  # type: ignore[arg-type]


def test_slopes_do_not_keep_to_one_height():
    rng = np.random.default_rng(0)
    heights = [len(np.unique(smooth_picture(rng, 12, 12, 1))) for _ in range(50)]
    assert np.mean(heights) > 5


@pytest.mark.parametrize("kind", PATTERNS)
def test_patterns_are_digits_that_differ_from_draw_to_draw(kind: str):
    rng = np.random.default_rng(0)
    pictures = [pattern_picture(kind, rng, 7, 5) for _ in range(60)]
    assert all(picture.shape == (7, 5) for picture in pictures)
    assert {digit for picture in pictures for digit in picture.ravel().tolist()} == set(range(10))
    assert len({picture.tobytes() for picture in pictures}) > 40


def test_patterns_show_what_they_are_called():
    rng = np.random.default_rng(1)
    assert max(len(np.unique(pattern_picture("stripes", rng, 8, 8))) for _ in range(20)) == 3
    for _ in range(20):
        gradient = pattern_picture("gradient", rng, 8, 8)
        assert gradient.min() == 0
        assert gradient.max() == 9
        # It rises, or falls, all along each row and each column.
        for axis in (0, 1):
            steps = np.diff(gradient, axis=axis)
            assert (steps >= 0).all() or (steps <= 0).all()
        assert len(np.unique(pattern_picture("checks", rng, 8, 8))) <= 3
        assert len(np.unique(pattern_picture("discs", rng, 8, 8))) <= 4


@pytest.mark.parametrize(
    ("mirrored", "degrees", "rows"),
    [
        (False, 0, ["12", "34", "56"]),
        (False, 90, ["531", "642"]),
        (False, 180, ["65", "43", "21"]),
        (False, 270, ["246", "135"]),
        (True, 0, ["21", "43", "65"]),
        (True, 90, ["642", "531"]),
        (True, 180, ["56", "34", "12"]),
        (True, 270, ["135", "246"]),
    ],
)
def test_pictures_are_mirrored_first_and_then_turned_clockwise(mirrored: bool, degrees: int, rows: list[str]):
    assert (mirrored, degrees) in SYMMETRIES
    assert picture_rows(transform_picture(L_SHAPE, mirrored, degrees)) == rows


def test_a_sheet_shows_titles_and_panels_in_rows():
    cells = lay_out_panels([("a", ["09", "?1"]), ("b", ["5"]), ("c", ["777"])], across=2)
    # Two bands of a title and two rows; two panels of three columns and a gap each.
    assert [len(row) for row in cells] == [8] * 6
    assert [cell.text for cell in cells[0]] == ["a", "", "", "", "b", "", "", ""]
    assert cells[3][0].text == "c"
    assert cells[2][0].text == "?"
    shades = {digit: cells[y][x].fill for digit, y, x in (("0", 1, 0), ("9", 1, 1), ("1", 2, 1), ("5", 1, 4))}
    assert len(set(shades.values())) == 4
    assert cells[4][0].fill == cells[4][2].fill
    assert cells[1][3].fill == cells[1][7].fill == cells[0][0].fill
    assert cells[1][0].text == ""


def test_a_sheet_can_be_drawn():
    pytest.importorskip("PIL")
    assert draw_board(lay_out_panels([("1", ["01", "23"])], across=1), side=10).shape == (31, 31, 3)
