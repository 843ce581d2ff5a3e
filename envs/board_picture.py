"""Pictures of boards: a table of cells, each with a colour and perhaps text, as an array that `RecordVideo` accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import MissingExtra

INK, PAPER, LINE = "#1f2430", "#faf7f0", "#b8b0a0"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a board: text, background colour ``fill`` and text colour ``ink``. Colours are written as Pillow
    reads them ("#ff8800", "navy")."""

    text: str = ""
    fill: str = PAPER
    ink: str = INK


def draw_board(cells: Sequence[Sequence[Cell]], side: int = 40) -> np.ndarray:
    """Draw the cells with lines between them: uint8[rows * side + 1, columns * side + 1, 3].

    Args:
        cells: rows of equal length.
        side: side length of a cell, in pixels.

    Raises:
        MissingExtra: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        raise MissingExtra("render_mode='rgb_array'", "render") from None
    picture = Image.new("RGB", (len(cells[0]) * side + 1, len(cells) * side + 1), PAPER)
    pen = ImageDraw.Draw(picture)
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            left, top = x * side, y * side
            pen.rectangle((left, top, left + side, top + side), fill=cell.fill, outline=LINE)
            if cell.text:
                size = side * 0.6 if len(cell.text) < 3 else side * 1.5 / len(cell.text)
                middle = (left + side / 2, top + side / 2)
                pen.text(middle, cell.text, fill=cell.ink, font=ImageFont.load_default(size), anchor="mm")
    return np.asarray(picture).copy()
