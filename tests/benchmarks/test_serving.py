"""``palaestra bench serve`` as it is typed: a real server, and real players."""

from __future__ import annotations

import json

import pytest
from palaestra.benchmarks.serving import WARM
from palaestra.scripts.cli import main


def test_players_are_timed_and_sessions_leave_nothing_behind(tmp_path, capsys):
    line = ["bench", "serve", "--sessions", "4", "--think", "0.05", "--seconds", "0.5", "--in-a-row", str(3 * WARM)]
    assert main([*line, "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    for kind in ("thinking", "pressing"):
        assert 0 < found[kind]["p50"] <= found[kind]["p99"] <= found[kind]["longest"]
    # Who thinks for 50 ms before a step takes at most 20 of them a second, and four such players 80.
    assert 0 < found["thinking"]["rate"] < 160
    before, after = found["before"], found["after"]
    assert (after["threads"], after["files"]) == (before["threads"], before["files"])
    # A session that stayed would hold its environment and its thread, some 100 kB.
    assert after["megabytes"] - before["megabytes"] < 10
    assert "300 sessions in a row" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "value"), [("--sessions", "0"), ("--seconds", "0"), ("--think", "-1")])
def test_values_that_do_not_fit_are_refused(option, value, capsys):
    assert main(["bench", "serve", option, value]) == 2
    assert option in capsys.readouterr().err


def test_an_environment_that_is_not_there_is_one_sentence(capfd):
    assert main(["bench", "serve", "--env", "palaestra/Sokobann-v0"]) == 2
    said = capfd.readouterr().err
    assert "did you mean" in said
    assert "did not start" in said
