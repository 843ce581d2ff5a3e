"""``palaestra bench ladders`` as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.config import WarmUp
from palaestra.benchmarks import ladders
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


def test_a_model_is_measured_as_it_is_on_ladders_of_its_own(capsys, tmp_path, monkeypatch):
    from palaestra.agents.language.model import LanguageModel
    from palaestra.agents.language.tiny import TinyShape, tiny_model

    LanguageModel.of(*tiny_model(0, TinyShape(32, 2, 2, 1, 16, 32))).save(tmp_path / "model")
    ladder = ladders._zero_shot("Arithmetic", "digits", (1, 2), tokens=2, terms=2, operations="+")
    monkeypatch.setitem(ladders.MODEL_LADDERS, "Sums", ladder)
    place, out = str(tmp_path / "model"), tmp_path / "l.json"
    assert main(["bench", "ladders", "Sums", "--model", place, "--groups", "3", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "digits of palaestra/Arithmetic-v0, terms=2, operations=+" in printed
    assert "*" not in printed
    rows = json.loads(out.read_text())
    assert [(row["rung"], row["groups"], row["samples"]) for row in rows] == [(1, 3, 8), (2, 3, 8)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["Quik"],
        ["Quick", "--seeds", "0"],
        ["Quick", "--groups", "0"],
        ["Quick", "--system", "Answer."],
        ["AdditionDigits", "--model", "none/here"],
        ["Quick", "--model", "."],
        ["AdditionDigits", "--model", ".", "--explore", "0.3"],
    ],
)
def test_bad_input_is_one_sentence(capsys, arguments):
    assert main(["bench", "ladders", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ladders.LADDERS)
def test_every_ladder_is_one_of_its_family(name):
    config = ladders.LADDERS[name].config(0)
    assert config.warmup.axes.keys() <= config.axes.keys()
    low, high = config.axes[ladders.LADDERS[name].axis]
    assert low <= ladders.LADDERS[name].shown[1] < high


@pytest.mark.parametrize("name", ladders.MODEL_LADDERS)
def test_every_rung_for_a_model_is_one_of_its_family(name):
    ladder = ladders.MODEL_LADDERS[name]
    space = ladders.make_environments(ladder.config(0), "test").param_space
    for rung in ladder.rungs:
        space.restrict(**{ladder.axis: rung})
    assert list(ladder.rungs) == sorted(set(ladder.rungs))
