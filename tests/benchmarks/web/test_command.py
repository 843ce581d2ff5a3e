"""``palaestra bench web``: figures of each environment, and a count of episodes that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra.benchmarks.web import command
from palaestra.benchmarks.web.command import main
from palaestra.errors import InputError


def test_figures_of_one_environment_are_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(command, "_REPEATED", 1)
    file = tmp_path / "web.json"
    assert main(["palaestra/Shop-v0", "--seconds", "0.05", "--no-chromium", "--json", str(file)]) == 0
    rates = json.loads(file.read_text())["palaestra/Shop-v0"]
    assert set(rates) == {"in process, new tasks", "in process, repeated"}
    assert all(one["resets"] > 0 and one["steps"] > 0 for one in rates.values())
    assert "BrowserGym is not measured: name a Python that has it" in capsys.readouterr().out


def test_wrong_options_name_the_remedy(tmp_path: Path):
    with pytest.raises(InputError, match="unknown environment with a web site"):
        main(["palaestra/Arithmetic-v0"])
    with pytest.raises(InputError, match="must be positive"):
        main(["palaestra/Shop-v0", "--seconds", "0"])
    with pytest.raises(InputError, match="give --agreement 500"):
        main(["--widgets"])
    with pytest.raises(InputError, match="is no file"):
        main(["palaestra/Shop-v0", "--seconds", "0.01", "--peer-python", str(tmp_path / "none")])
