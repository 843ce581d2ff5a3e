"""Notebooks of the documentation: their cells run in order, without a warning, and their outputs are stored."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from palaestra.tools.notebooks import FOLDER, read_code

from .warm_python import run_script

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    script = tmp_path / "cells.py"
    script.write_text("\n".join(read_code(notebook)), encoding="utf-8")
    code, output, errors = run_script([str(script)], tmp_path)
    assert code == 0, errors
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    stored = [line for cell in cells for part in cell.get("outputs", []) for line in part.get("text", [])]
    # Figures differ by the version of NumPy; what is said about them does not.
    without_figures = [re.sub(r"[\d.]+", "", text) for text in (output, "".join(stored))]
    assert without_figures[0] == without_figures[1] != ""


def test_there_are_two_notebooks_and_pages_lead_to_them():
    pages = "".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.glob("start/*.md"))
    assert len(NOTEBOOKS) >= 2
    assert [path.name for path in NOTEBOOKS if f"../notebooks/{path.name}" not in pages] == []
