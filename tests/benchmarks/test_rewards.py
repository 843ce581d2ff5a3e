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


def test_values_that_begin_high_let_a_student_with_a_bonus_try_what_it_has_not(tmp_path):
    """At 0 the bonus makes what was tried look better than what was not, and the student stays where it is."""
    found = {}
    for initial in ("0", "0.34"):
        files = ["--json", str(tmp_path / "figures.json")]
        steps = ["--steps", "20480", "--checkpoints", "1", "--episodes", "20", "--seeds", "1", "--initial", initial]
        designers = ["--env", "palaestra/DoorKey-v0", "--axis", "size=5", "obstacles=0", "--designers", "explors"]
        assert main(["bench", "rewards", *designers, *steps, *files]) == 0
        found[initial] = json.loads((tmp_path / "figures.json").read_text())["curves"]["explors"][0][-1][1]
    assert found["0"] < 0.2 < found["0.34"]


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
