"""Long cells and names in headings are marked, and nothing else of a page changes."""

from __future__ import annotations

from palaestra.tools.site.window_fit import LONG, fit_page


def test_cells_of_more_characters_than_a_line_are_marked():
    short, long = "x" * LONG, "x" * (LONG + 1)
    page = f'<p>{long}</p><td>{short}</td>\n<td style="text-align: right">{long}</td><td class="a">{long}</td>'
    marked = fit_page(page)
    assert marked == page.replace('<td style="', '<td class="long" style="')
    assert fit_page(marked) == marked


def test_tags_and_entities_do_not_count():
    link = f'<td><a href="{"y" * LONG}">{"&amp;" * LONG}</a></td>'
    assert fit_page(link) == link
    assert fit_page(link.replace("</a>", "</a>\n.")) == link.replace("<td>", '<td class="long">').replace(
        "</a>", "</a>\n."
    )


def test_names_in_the_first_heading_are_broken_at_slashes_and_dots():
    heading = '<h1 id="x">palaestra/Shop-v0</h1><h1>palaestra.envs.web</h1><h1>Score an agent, or. two</h1>'
    broken = (
        '<h1 id="x">palaestra/<wbr>Shop-v0</h1><h1>palaestra.<wbr>envs.<wbr>web</h1><h1>Score an agent, or. two</h1>'
    )
    assert fit_page(heading) == broken
    assert fit_page(broken) == broken
