"""The demonstration on a pretrained model: its tables, and a whole one on a small model."""

from __future__ import annotations

import io
from dataclasses import replace

from palaestra.benchmarks import demo
from palaestra.benchmarks.demo_model import answer_table, success_table
from palaestra.benchmarks.models.cases import CASES
from rich.console import Console


def render(table) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_tables_show_success_and_answers():
    row = {"step": 0, "episodes": 200, "success": 0.07, "ci": [0.04, 0.12], "greedy_success": 0.1}
    text = render(success_table([row, {**row, "step": 80, "success": 0.71}]))
    assert "success on held-out tasks" in text
    assert "7% [4, 12]" in text
    assert "200" in text
    assert "71%" in text
    answers = [{"actions": ["The sum is"], "success": False}, {"actions": ["9"], "success": True}]
    text = render(
        answer_table([{"question": "Add 4 and 5.", "reference": "9", **dict(zip(("before", "after"), answers))}])
    )
    for part in ("Add 4 and 5.", "The sum is", "9"):
        assert part in text


def test_it_runs_whole(small, tmp_path, capsys, monkeypatch):
    few = replace(CASES["sums"], words=CASES["sums"].words + " --final-episodes 2")
    monkeypatch.setitem(CASES, "sums", few)
    small.save(tmp_path / "model")
    out = tmp_path / "out"
    assert demo.main(["--model", str(tmp_path / "model"), "--steps", "1", "--out", str(out)]) in (0, 1)
    shown = capsys.readouterr().out
    assert shown.startswith(f"palaestra train palaestra/Arithmetic-v0 --model {tmp_path / 'model'}")
    assert (out / "report.html").is_file()
