"""``palaestra bench rollouts`` as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.scripts.cli import main


def test_waits_beside_decoding_and_one_after_another_are_timed(tmp_path):
    line = ["bench", "rollouts", "--episodes", "6", "--tokens", "2", "--rounds", "1", "--threads", "1", "--steps", "0"]
    assert main([*line, "--waits", "0.02", "0.03", "--json", str(tmp_path / "times.json")]) == 0
    times = json.loads((tmp_path / "times.json").read_text())
    assert 4 * 0.02 <= times["waiting"] <= 4 * 0.03
    assert times["workers"] >= times["waiting"]
    assert times["inline"] >= 6 * 4 * 0.02
    assert times["ratio"] == pytest.approx(times["workers"] / max(times["decoding"], times["waiting"]))


def test_training_in_turns_and_ahead_is_timed_by_the_step(tmp_path):
    line = ["bench", "rollouts", "--episodes", "4", "--group", "2", "--tokens", "2", "--rounds", "1", "--threads", "1"]
    line += ["--width", "8", "--steps", "6", "--workers", "4", "--no-inline", "--waits", "0.01", "0.02"]
    assert main([*line, "--json", str(tmp_path / "times.json")]) == 0
    times = json.loads((tmp_path / "times.json").read_text())["training"]
    # Four turns wait at each step, whoever is faster; in turns the update comes on top.
    assert times["in_turns"] >= 4 * 0.01 + times["update"]
    assert times["ahead"] >= 4 * 0.01
    assert times["gain"][1] == pytest.approx(times["in_turns"] / times["ahead"])


def test_sizes_that_do_not_fit_are_refused(capsys):
    assert main(["bench", "rollouts", "--episodes", "6"]) == 2
    assert "6 episodes in groups of 8" in capsys.readouterr().err
    assert main(["bench", "rollouts", "--width", "9"]) == 2
    assert "multiple of 4" in capsys.readouterr().err


def test_waits_that_are_no_range_are_refused(capsys):
    assert main(["bench", "rollouts", "--waits", "0.2", "0.1"]) == 2
    assert "(0.2, 0.1)" in capsys.readouterr().err
