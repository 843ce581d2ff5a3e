"""``palaestra bench rollouts`` as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.scripts.cli import main


def test_waits_beside_decoding_and_one_after_another_are_timed(tmp_path):
    line = ["bench", "rollouts", "--episodes", "6", "--tokens", "2", "--rounds", "1", "--threads", "1"]
    assert main([*line, "--waits", "0.02", "0.03", "--json", str(tmp_path / "times.json")]) == 0
    times = json.loads((tmp_path / "times.json").read_text())
    assert 4 * 0.02 <= times["waiting"] <= 4 * 0.03
    assert times["workers"] >= times["waiting"]
    assert times["inline"] >= 6 * 4 * 0.02
    assert times["ratio"] == pytest.approx(times["workers"] / max(times["decoding"], times["waiting"]))


def test_waits_that_are_no_range_are_refused(capsys):
    assert main(["bench", "rollouts", "--waits", "0.2", "0.1"]) == 2
    assert "(0.2, 0.1)" in capsys.readouterr().err
