"""Markdown twins on a site of two pages: copied, linked and listed."""

from __future__ import annotations

from pathlib import Path

from palaestra.tools.site.html_check import find_faults
from palaestra.tools.site.markdown_twins import write_twins

CONFIG = """site_name: Tiny
site_description: Two pages.
nav:
  - index.md
  - How to:
      - Read SQL: how-to/sql.md
"""


def test_every_page_has_a_twin_that_it_links_and_llms_txt_lists(tmp_path: Path):
    docs, site = tmp_path / "docs", tmp_path / "site"
    pages = {"index.md": "# Tiny\n\nA site. More.\n", "how-to/sql.md": "# SQL\n\nRead [tables](../index.md). Then.\n"}
    for name, text in pages.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    for name in ("index.html", "how-to/sql/index.html"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("<html><head></head><body><article></article></body></html>")
    (tmp_path / "mkdocs.yml").write_text(CONFIG)
    assert write_twins(docs, site, tmp_path / "mkdocs.yml") == 2
    assert [(site / name).read_text() for name in pages] == list(pages.values())
    assert 'href="../sql.md"' in (site / "how-to/sql/index.html").read_text()
    assert list(find_faults(site)) == []
    listed = (site / "llms.txt").read_text()
    assert listed.startswith("# Tiny\n\n> Two pages.")
    assert "- [Read SQL](how-to/sql.md): Read tables." in listed
    assert "- [Home](index.md): A site." in listed
