"""How ``palaestra list`` shows a registry: no name or word is broken, whatever the width of the terminal."""

from __future__ import annotations

import pytest
from palaestra.scripts.list_terminal import measure_width, print_tables

ROWS = [
    {
        "name": "a-name-that-people-copy",
        "summary": "What it does is said in a sentence of many words.",
        "paper": "X, 1",
    },
    {"name": "b", "summary": "Short.", "paper": ""},
]


@pytest.mark.parametrize("width", [30, 60, 90])
def test_words_are_whole_at_any_width(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_tables({"things": ROWS})
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    words = {word for row in ROWS for cell in row.values() for word in cell.split()}
    assert words <= set(shown.split())


def test_a_wide_terminal_has_a_table_and_a_narrow_one_a_paragraph_for_each(monkeypatch, capsys):
    width = measure_width(ROWS)
    monkeypatch.setenv("COLUMNS", str(width))
    print_tables({"things": ROWS, "nothing": []})
    shown = capsys.readouterr().out
    assert "name                      summary" in shown
    assert "nothing is registered" in shown
    monkeypatch.setenv("COLUMNS", str(width - 1))
    print_tables({"things": ROWS})
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[-3:] == ["b", "    Short.", ""]
    assert "    paper: X, 1" in lines


def test_what_names_a_row_may_be_two_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    print_tables({"things": [{"stage": "credit", "name": "group", "summary": "A sentence that is long."}]})
    assert "credit group\n" in capsys.readouterr().out
