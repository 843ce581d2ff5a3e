"""``palaestra bench stability`` as it is typed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.config import WarmUp
from palaestra.benchmarks import stability
from palaestra.scripts.cli import main


def test_runs_go_on_from_one_checkpoint_as_they_were_and_with_one_change(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        stability, "LADDER", replace(stability.LADDER, warmup=WarmUp(steps=1, batch=2), fixed={"length": 4})
    )
    words = ["--start", "1", "--steps", "1", "--streams", "2", "--tasks", "1", "--only", "as-it-was", "guard"]
    assert main(["bench", "stability", *words, "--json", str(tmp_path / "s.json")]) == 0
    assert "guard" in capsys.readouterr().out
    before, same, guard = json.loads((tmp_path / "s.json").read_text())
    assert (before["change"], same["change"], guard["change"]) == ("before", "as-it-was", "guard")
    assert len(same["success"]) == len(guard["grad_norm"]) == 2


@pytest.mark.parametrize("name", stability.CHANGES)
def test_every_change_makes_another_configuration_that_works(name):
    config = stability.configuration(0, 3)
    changed = stability.change(config, stability.CHANGES[name])
    assert (changed == config) == (name == "as-it-was")


@pytest.mark.parametrize("arguments", [["--only", "kl"], ["--streams", "0"]])
def test_bad_input_is_one_sentence(capsys, arguments):
    assert main(["bench", "stability", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
