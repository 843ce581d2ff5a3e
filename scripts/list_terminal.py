"""Registries in a terminal, for ``palaestra list``: tables, or paragraphs where columns would be too narrow to read.

In: for each title, rows of named texts; what people copy stands in the first column, or in that called "name".
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .list_stages import Row

if TYPE_CHECKING:
    from rich.console import Console

READABLE = 24
"""Characters below which a column of sentences is too narrow."""


def print_tables(tables: dict[str, list[Row]]) -> None:
    """Print tables as wide as the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for title, rows in tables.items():
        console.print(Text(title, style="bold"))
        if measure_width(rows) <= console.width:
            table = Table(box=box.SIMPLE_HEAD)
            for column in rows[0] if rows else ("nothing is registered",):
                # Names are what people copy: they are never broken.
                table.add_column(column, no_wrap=bool(rows) and column in _heads(rows), overflow="fold")
            for row in rows:
                table.add_row(*(Text(cell) for cell in row.values()))
            console.print(table)
        else:
            _print_paragraphs(console, rows)


def measure_width(rows: list[Row]) -> int:
    """Return the characters that a table needs, with no column narrower than `READABLE` and its longest word."""
    if any("\n" in cell for row in rows for cell in row.values()):
        return sys.maxsize  # whole docstrings are read across the terminal, not down a column
    width = 2
    for column in rows[0] if rows else ():
        cells = [row[column] for row in rows]
        pieces = cells if column in _heads(rows) else [word for cell in cells for word in cell.split()]
        longest, piece = (max(map(len, texts), default=0) for texts in (cells, pieces))
        width += max(len(column), piece, min(longest, READABLE)) + 2
    return width


def _heads(rows: list[Row]) -> list[str]:
    """Return the columns that name a row: up to the column "name", or the first column alone."""
    columns = list(rows[0])
    return columns[: columns.index("name") + 1 if "name" in columns else 1]


def _print_paragraphs(console: Console, rows: list[Row]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    heads = _heads(rows)
    for row in rows:
        console.print(Text(" ".join(row[column] for column in heads), style="cyan"))
        for column, cell in row.items():
            if cell and column not in heads:
                label = "" if column == "summary" else f"{column}: "
                console.print(Padding(Text.assemble((label, "dim"), cell), (0, 0, 0, 4), expand=False))
    console.print()
