"""Success rates of players without skill, measured anew."""

from __future__ import annotations

import json
from pathlib import Path

from palaestra.envs.measured import FILE
from palaestra.tools import update_measured


def test_rates_are_replaced_other_facts_stay_and_without_any_there_is_no_row(tmp_path: Path, monkeypatch):
    before = json.loads(FILE.read_text("utf-8"))
    before["palaestra/GuessNumber-v0"]["baselines"] = {}
    assert "palaestra/Integral-v0" not in before
    (tmp_path / "measured.json").write_text(json.dumps(before))
    monkeypatch.setattr(update_measured, "FILE", tmp_path / "measured.json")
    assert update_measured.main(["palaestra/GuessNumber-v0", "palaestra/Integral-v0", "--episodes", "30"]) == 0
    after = json.loads((tmp_path / "measured.json").read_text())
    rates = after["palaestra/GuessNumber-v0"].pop("baselines")
    assert all(len(shares) == 5 and max(shares) > 0.02 for shares in rates.values())
    assert rates
    before["palaestra/GuessNumber-v0"].pop("baselines")
    assert after == before
