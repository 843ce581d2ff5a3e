"""Printing of rows in a terminal, for ``palaestra list``: as tables, or as paragraphs if columns would be too narrow.

The name of a row, which users copy, is in the first column or in the column "name".
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .list_stages import Row

if TYPE_CHECKING:
    from rich.console import Console

READABLE = 24
"""Smallest readable width of a column of sentences, in characters."""


def print_tables(tables: dict[str, list[Row]]) -> None:
    """Print the rows of each title as a table, or as paragraphs if the terminal is too narrow for the table."""
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
                # Users copy names, so these are never broken.
                table.add_column(column, no_wrap=bool(rows) and column in _heads(rows), overflow="fold")
            for row in rows:
                table.add_row(*(Text(cell) for cell in row.values()))
            console.print(table)
        else:
            _print_paragraphs(console, rows)


def measure_width(rows: list[Row]) -> int:
    """Return the width in characters of a table in which no column is narrower than `READABLE` or its longest word."""
    if any("\n" in cell for row in rows for cell in row.values()):
        return sys.maxsize  # whole docstrings need the full width of the terminal
    width = 2
    for column in rows[0] if rows else ():
        cells = [row[column] for row in rows]
        pieces = cells if column in _heads(rows) else [word for cell in cells for word in cell.split()]
        longest, piece = (max(map(len, texts), default=0) for texts in (cells, pieces))
        width += max(len(column), piece, min(longest, READABLE)) + 2
    return width


def _heads(rows: list[Row]) -> list[str]:
    """Return the columns that name a row: all up to the column "name" or, without that, the first column."""
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
