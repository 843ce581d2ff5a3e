"""The site's hand-written pages: what they show is run, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .shown_blocks import ROOT, blocks, run_python, run_shell

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if DOCS / "reference" not in path.parents)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


@every_page
def test_what_a_page_shows_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The Python of a page is one script, as its blocks build on each other; its commands follow in the same folder. A
    block that begins with the name of a file, ``# line.py``, is that file as well."""
    shown = blocks(page)
    for language, text in shown:
        if language == "python" and (named := re.match(r"# (\w+\.py)\n", text)):
            (tmp_path / named[1]).write_text(text)
    if script := "\n".join(text for language, text in shown if language == "python"):
        run_python(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    for language, text in shown:
        if language == "bash":
            run_shell(text, tmp_path, capsys)


@every_page
def test_languages_of_blocks_say_what_is_run(page: Path):
    # "console" is shown only: it needs a real model, a GPU, or hours.
    assert {language for language, _ in blocks(page)} <= {"python", "bash", "console"}
