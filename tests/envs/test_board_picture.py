"""Pictures of boards."""

from __future__ import annotations

import numpy as np
from palaestra.envs.board_picture import Cell, draw_board


def test_a_picture_has_one_square_per_cell_in_its_colour():
    picture = draw_board([[Cell(fill="#ff0000"), Cell(fill="#00ff00")]], side=10)
    assert picture.shape == (11, 21, 3)
    assert picture.dtype == np.uint8
    assert picture[5, 5].tolist() == [255, 0, 0]
    assert picture[5, 15].tolist() == [0, 255, 0]


def test_text_is_written_in_its_ink_and_differs_by_letter():
    plain, one, two = (draw_board([[Cell(text, ink="#0000ff")]]) for text in ("", "1", "2"))
    assert (one != plain).any()
    assert (one != two).any()
    assert (one[..., 2] > one[..., 0]).any()
