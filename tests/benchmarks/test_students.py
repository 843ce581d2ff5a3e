"""``palaestra bench students`` as it is typed."""

from __future__ import annotations

from palaestra.scripts.cli import main

from ..extras import needs

pytestmark = needs("stable_baselines3")


def test_both_sides_are_timed_and_compared(capsys):
    assert main(["bench", "students", "--size", "5", "--environments", "2", "--iterations", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Palaestra" in shown
    assert "Stable-Baselines3" in shown
    assert float(shown.rpartition(":")[2]) > 0
