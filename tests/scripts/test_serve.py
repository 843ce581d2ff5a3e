"""``palaestra serve``: the command, from its first line to its end."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from palaestra.integrations.openenv import connect
from palaestra.scripts.cli import main


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(end):
    command = [sys.executable, "-m", "palaestra.scripts.cli", "serve", "palaestra/GuessNumber-v0", "--port", "0"]
    options = ["--split", "train", "--token", "secret"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            env = connect(line.split(" at ")[1].split()[0], token="secret")
            assert env.reset(seed=1, options={"difficulty": 0.0})[1]["difficulty"] == 0.0
            process.send_signal(end)  # with a connection open
            said = process.communicate(timeout=120)[1]
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "served 1 connections." in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name at least one environment"),
        (["palaestra/Sokobann-v0"], "did you mean"),
        (["palaestra/Sokoban-v0", "--step-seconds", "0"], "--step-seconds must be above 0, not 0."),
        (["palaestra/Sokoban-v0", "--difficulty", "7"], "difficulty"),
        (["palaestra/Sokoban-v0", "--port", "99999"], "cannot be taken"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(arguments, sentence, capsys):
    assert main(["serve", *arguments]) == 2
    assert sentence in capsys.readouterr().err
