"""Cells of tables with long texts, which the style sheet gives more width.

A browser squeezes a sentence to a word a line where a table has many columns, and a style sheet cannot ask how long a
text is.
"""

from __future__ import annotations

import html
import re

LONG = 36
"""Characters of a cell that count as long."""

_CELL = re.compile(r"<td((?: [^>]*)?)>(.*?)</td>", re.DOTALL)


def mark_long_cells(page: str) -> str:
    """Return an HTML page whose cells of more than ``LONG`` characters have the class ``long``."""

    def mark(cell: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]+>", "", cell[2]))
        return f'<td class="long"{cell[1]}>{cell[2]}</td>' if len(text) > LONG and "class=" not in cell[1] else cell[0]

    return _CELL.sub(mark, page)
