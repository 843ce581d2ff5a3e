from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra import benchmarks
from palaestra.benchmarks.grids import speed
from palaestra.errors import InputError


def test_the_command_measures_both_sides_and_writes_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(speed, "MATCHES", speed.MATCHES[:1])
    files = tmp_path / "table.md", tmp_path / "figures.json"
    code = benchmarks.main(
        ["grids", "--rounds", "1", "--steps", "200", "--markdown", str(files[0]), "--json", str(files[1])]
    )
    assert code == 0
    figures = json.loads(files[1].read_text())["speed"]
    (row,) = figures["steps_per_second"]
    assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])
    assert row["ours"] > 0
    assert all(figures["descriptions_per_second"][0][form] > 0 for form in ("map", "view", "words"))
    assert files[0].read_text().strip() in capsys.readouterr().out


def test_too_few_steps_are_refused():
    with pytest.raises(InputError, match="--steps"):
        benchmarks.main(["grids", "--steps", "5"])
