"""Cells with long texts are marked, and nothing else of a page changes."""

from __future__ import annotations

from palaestra.tools.site.long_cells import LONG, mark_long_cells


def test_cells_of_more_characters_than_a_line_are_marked():
    short, long = "x" * LONG, "x" * (LONG + 1)
    page = f'<p>{long}</p><td>{short}</td>\n<td style="text-align: right">{long}</td><td class="a">{long}</td>'
    marked = mark_long_cells(page)
    assert marked == page.replace('<td style="', '<td class="long" style="')
    assert mark_long_cells(marked) == marked


def test_tags_and_entities_do_not_count():
    link = f'<td><a href="{"y" * LONG}">{"&amp;" * LONG}</a></td>'
    assert mark_long_cells(link) == link
    assert mark_long_cells(link.replace("</a>", "</a>\n.")) == link.replace("<td>", '<td class="long">').replace(
        "</a>", "</a>\n."
    )
