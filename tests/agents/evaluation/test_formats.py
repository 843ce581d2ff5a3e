"""Results for papers: rows, and what CSV, Markdown, LaTeX and JSON make of them."""

from __future__ import annotations

import csv
import io
import json

import palaestra
import pytest
from palaestra.agents.evaluation import compare, evaluate_all
from palaestra.agents.evaluation.formats import format_rows
from palaestra.errors import InputError
from palaestra.scripts.cli import main

ROWS = [
    {"environment": "a_b & c", "tasks": 3, "success": 0.5, "success_low": 0.25, "success_high": 0.75, "note": "x|y"},
    {"environment": "all", "tasks": 10, "success": float("nan"), "success_low": float("nan")},
]


def test_each_form_holds_every_row_and_unknown_numbers_are_empty():
    read = list(csv.DictReader(io.StringIO(format_rows(ROWS, "csv"))))
    assert [row["success"] for row in read] == ["0.5", ""]
    assert json.loads(format_rows(ROWS, "json"))[1] == {
        "environment": "all", "tasks": 10, "success": None, "success_low": None,
    }  # fmt: skip
    assert format_rows(ROWS, "markdown").splitlines() == [
        "| environment | tasks | success | note |",
        "| --- | ---: | ---: | --- |",
        "| a_b & c | 3 | 0.500 [0.250, 0.750] | x\\|y |",
        "| all | 10 |  |  |",
    ]
    latex = format_rows(ROWS, "latex")
    assert r"a\_b \& c & 3 & 0.500 [0.250, 0.750] & x|y \\" in latex
    assert latex.startswith("\\begin{tabular}{lrrl}\n\\toprule\n")
    with pytest.raises(InputError, match="csv, markdown, latex or json, not 'html'"):
        format_rows(ROWS, "html")  # type: ignore[arg-type]


def test_reports_suites_and_comparisons_have_rows():
    report = palaestra.evaluate("oracle", "palaestra/Arithmetic-v0", episodes=20, samples=3)
    rows = report.rows()
    assert [row["difficulty"] for row in rows][-3:] == ["all", "pass@2", "pass@3"]
    assert rows[-3]["success"] == report.success.mean == 1.0
    assert sum(row["tasks"] for row in rows[:-3]) == rows[-3]["tasks"] == report.tasks
    suite = evaluate_all("oracle", ["palaestra/Arithmetic-v0", "palaestra/GcdLcm-v0"], episodes=5)
    assert [row["environment"] for row in suite.rows()] == ["palaestra/Arithmetic-v0", "palaestra/GcdLcm-v0", "all"]
    other = palaestra.evaluate("random", "palaestra/Arithmetic-v0", episodes=20, samples=3)
    (row,) = compare(report, other).rows()
    assert (row["success_first"], row["difference"]) == (1.0, other.success.mean - 1)
    assert compare(report, other).repeated == 80
    assert "80 episodes of tasks that come again" in str(compare(report, other))


def test_a_data_frame_has_the_rows():
    pandas = pytest.importorskip("pandas")
    frame = palaestra.evaluate("oracle", "palaestra/Arithmetic-v0", episodes=5).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["success"])[-1] == 1.0


def test_the_commands_print_them(tmp_path, capsys: pytest.CaptureFixture[str]):
    words = ["eval", "palaestra/Arithmetic-v0", "--episodes", "6", "--agent"]
    for agent in ("oracle", "random"):
        assert main([*words, agent, "--json", str(tmp_path / f"{agent}.json"), "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("environment,agent,split,seed,difficulty") == 2
    assert main(["compare", *(str(tmp_path / f"{a}.json") for a in ("oracle", "random")), "--format", "latex"]) == 0
    assert capsys.readouterr().out.startswith("\\begin{tabular}")
