"""``palaestra bench ladders`` as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.config import WarmUp
from palaestra.scripts.bench import ladders
from palaestra.scripts.cli import main

QUICK = ladders.LadderCase(
    *("palaestra/GuessNumber-v0", "bits", (1, 1), (1, 2), 2, {"slack": 0}, WarmUp(steps=2, batch=4)), tokens=2, turns=3
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setitem(ladders.LADDERS, "Quick", QUICK)


def test_each_rung_is_measured_and_those_not_shown_are_marked(capsys, tmp_path):
    arguments = ["bench", "ladders", "Quick", "--groups", "2", "--explore", "0.5", "--json", str(tmp_path / "l.json")]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "solutions of bits=1 and guesses beyond (explore=0.5), slack=0" in printed
    assert "2 *" in printed
    rows = json.loads((tmp_path / "l.json").read_text())
    assert [(row["rung"], row["groups"], row["samples"]) for row in rows] == [(1, 2, 16), (2, 2, 16)]


@pytest.mark.parametrize("arguments", [["Quik"], ["Quick", "--seeds", "0"], ["Quick", "--groups", "0"]])
def test_bad_input_is_one_sentence(capsys, arguments):
    assert main(["bench", "ladders", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ladders.LADDERS)
def test_every_ladder_is_one_of_its_family(name):
    config = ladders.LADDERS[name].config(0)
    assert config.warmup.axes.keys() <= config.axes.keys()
    low, high = config.axes[ladders.LADDERS[name].axis]
    assert low <= ladders.LADDERS[name].shown[1] < high
