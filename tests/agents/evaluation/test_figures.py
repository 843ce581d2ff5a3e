"""Figures of results: what is drawn, in which kinds of file, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.evaluation import compare, evaluate
from palaestra.agents.evaluation.figures import draw_figure
from palaestra.errors import InputError
from palaestra.scripts import compare as compare_command
from palaestra.scripts import eval as eval_command

ROWS = [
    {"environment": f"palaestra/{env}-v0", "agent": agent, "success": 0.4, "success_low": 0.3, "success_high": 0.6}
    for env in ("Sudoku", "Zebra")
    for agent in ("first", "second")
]


def texts(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text(encoding="utf-8"))


def test_a_figure_names_its_environments_and_its_agents(tmp_path: Path):
    draw_figure(ROWS, tmp_path / "a.svg")
    found = texts(tmp_path / "a.svg")
    assert {"Sudoku-v0", "Zebra-v0", "first", "second", "success, % (95 % intervals)"} <= set(found)
    assert found.count("Sudoku-v0") == 1


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<?xml"), ("a.PDF", b"%PDF"), ("a.png", b"\x89PNG")])
def test_the_ending_says_the_kind_and_the_same_rows_give_the_same_bytes(tmp_path: Path, name: str, begins: bytes):
    once, twice = tmp_path / "once" / name, tmp_path / "twice" / name
    for path in (once, twice):
        draw_figure(ROWS, path)
    assert once.read_bytes().startswith(begins)
    assert once.read_bytes() == twice.read_bytes()


@pytest.mark.parametrize("rows", [[], [{"environment": "e", "success": float("nan")}]])
def test_without_a_value_there_is_no_figure(tmp_path: Path, rows: list[dict[str, Any]]):
    with pytest.raises(InputError, match="no success to draw"):
        draw_figure(rows, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_the_commands_draw_what_they_print(tmp_path: Path, capsys):
    words = ["palaestra/Arithmetic-v0", "--episodes", "12", "--axis", "digits=1:3", "terms=2"]
    for agent in ("oracle", "random"):
        files = ["--json", str(tmp_path / f"{agent}.json"), "--figure", str(tmp_path / f"{agent}.svg")]
        assert eval_command.main([*words, "--agent", agent, *files]) == 0
    report = evaluate("oracle", words[0], 12, axes={"digits": (1, 3), "terms": 2})
    assert {row.label for row in report.by_difficulty} | {"Arithmetic-v0"} <= set(texts(tmp_path / "oracle.svg"))
    pair = [str(tmp_path / f"{agent}.json") for agent in ("random", "oracle")]
    assert compare_command.main([*pair, "--figure", str(tmp_path / "difference.svg")]) == 0
    assert any("second less first" in text for text in texts(tmp_path / "difference.svg"))
    assert compare(*pair).difference.mean == 1.0
    with pytest.raises(InputError, match=r"writes .svg, .pdf or .png, not"):
        eval_command.main([*words, "--figure", str(tmp_path / "a.gif")])
