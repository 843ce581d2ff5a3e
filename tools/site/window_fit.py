"""Marks in a built page that let it fit narrow windows: cells with long texts, and places where names may be broken.

A browser squeezes a sentence to a word a line where a table has many columns, and breaks a long name anywhere; a style
sheet cannot ask how long a text is.
"""

from __future__ import annotations

import html
import re

LONG = 36
"""Characters of a cell that count as long."""

_CELL = re.compile(r"<td((?: [^>]*)?)>(.*?)</td>", re.DOTALL)
_NAME = re.compile(r"(<h1[^>]*>)([\w./-]+)")


def fit_page(page: str) -> str:
    """Return an HTML page whose cells of more than ``LONG`` characters have the class ``long``, and whose title may be
    broken after slashes and dots where it is a name."""

    def mark(cell: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]+>", "", cell[2]))
        return f'<td class="long"{cell[1]}>{cell[2]}</td>' if len(text) > LONG and "class=" not in cell[1] else cell[0]

    page = _CELL.sub(mark, page)
    return _NAME.sub(lambda found: found[1] + re.sub(r"([./])(?=\w)", r"\1<wbr>", found[2]), page)
