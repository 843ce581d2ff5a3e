from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra import benchmarks
from palaestra.benchmarks.grids import same_levels


def test_the_table_has_the_least_and_the_median_ratio(tmp_path: Path, capsys, monkeypatch):
    ids = ("MiniGrid-Empty-5x5-v0", "MiniGrid-Fetch-5x5-N2-v0", "BabyAI-GoToObj-v0")
    monkeypatch.setattr(same_levels, "MINIGRID_IDS", {name: same_levels.MINIGRID_IDS[name] for name in ids})
    file = tmp_path / "grids.json"
    arguments = ["--tables", "same-levels", "--rounds", "1", "--steps", "200", "--json", str(file)]
    assert benchmarks.main(["grids", *arguments]) == 0
    rows = json.loads(file.read_text())["same-levels"]["steps_per_second"]
    assert [row["id"] for row in rows] == [*ids]
    assert all(row["ratio"] == pytest.approx(row["ours"] / row["theirs"]) for row in rows)
    ratios = sorted(row["ratio"] for row in rows)
    assert f"3 ids: {ratios[0]:.1f} times MiniGrid's" in capsys.readouterr().out
