"""The benchmark of designed rewards: its tables, files and refusals."""

from __future__ import annotations

import json

import pytest
from palaestra.scripts.cli import main

MAZE = ["bench", "rewards", "--env", "palaestra/BlockMaze-v0", "--axis", "size=5", "blocks=2"]
SMALL = ["--steps", "256", "--checkpoints", "1", "--episodes", "2", "--seeds", "1"]


def test_every_designer_has_a_row_and_a_curve(tmp_path, capsys):
    designers = ["--designers", "none", "pbrs", "pbrs(weight=0.5)"]
    files = ["--json", str(tmp_path / "figures.json"), "--plot", str(tmp_path / "curves.png")]
    assert main([*MAZE, *designers, *SMALL, *files]) == 0
    printed = capsys.readouterr().out
    assert "held-out levels solved after" in " ".join(printed.split())
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert set(figures["curves"]) == set(figures["designs"]) == {"none", "pbrs", "pbrs(weight=0.5)"}
    assert figures["designs"]["none"]["changed"] == 0
    assert figures["designs"]["pbrs"]["changed"] > 0
    assert figures["designs"]["pbrs"]["optimal"] == "the same"
    assert [step for step, _ in figures["curves"]["pbrs"][0]] == [0, 256]
    assert figures["designs"]["pbrs(weight=0.5)"]["changed"] == figures["designs"]["pbrs"]["changed"]
    assert (tmp_path / "curves.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--designers", "expdr"], "did you mean 'exprd'"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--env", "palaestra/Countdown-v0", "--axis", "count=3"], "for gridworlds only"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words, capsys):
    assert main([*MAZE, *SMALL, *arguments]) == 2
    assert words in capsys.readouterr().err
