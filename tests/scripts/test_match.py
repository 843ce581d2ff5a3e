"""``palaestra match``."""

from __future__ import annotations

import json
from pathlib import Path

from palaestra.scripts.cli import main


def test_players_are_rated_and_results_written(tmp_path: Path, capsys):
    out = tmp_path / "match.json"
    words = ["match", "palaestra/KuhnPoker-v0", "equilibrium", "tight", "loose", "--deals", "10", "--axis", "cards=3"]
    assert main([*words, "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "palaestra/KuhnPoker-v0" in shown
    assert "Elo" in shown
    found = json.loads(out.read_text())
    assert {(row["first"], row["second"]) for row in found["pairs"]} == {
        *(("equilibrium", "tight"), ("equilibrium", "loose"), ("tight", "loose"))
    }
    assert set(found["ratings"]) == {"equilibrium", "tight", "loose"}


def test_an_environment_without_seats_is_one_sentence(capsys):
    assert main(["match", "palaestra/Arithmetic-v0", "random", "oracle", "--axis", "digits=1"]) == 2
    assert "no table of seats" in capsys.readouterr().err


def test_eval_plays_an_agent_against_others(tmp_path: Path, capsys):
    out = tmp_path / "match.json"
    words = ["eval", "palaestra/KuhnPoker-v0", "--agent", "tight", "--against", "equilibrium", "--axis", "cards=3"]
    assert main([*words, "--episodes", "10", "--json", str(out)]) == 0
    assert "each deal played in both seats" in capsys.readouterr().out
    [pair] = json.loads(out.read_text())["pairs"]
    assert (pair["first"], pair["second"], pair["deals"]) == ("tight", "equilibrium", 10)
    assert main([*words, "--rows", "all"]) == 2
    assert "--rows is for an agent alone" in " ".join(capsys.readouterr().err.split())
