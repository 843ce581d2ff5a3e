"""Sweeps: agents by environments from a file, kept as they go, into a table and a page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.scripts.cli import main
from palaestra.scripts.eval_sweep import Sweep

ROWS = [{"id": n, "question": f"What is {n} + {n}?", "answer": 2 * n} for n in range(6)]


def write(tmp_path: Path) -> Path:
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    file = tmp_path / "sweep.toml"
    file.write_text(
        f"""
        agents = ["random", {{ name = "all right", agent = "oracle" }}]
        environments = [
            "palaestra/Arithmetic-v0",
            {{ name = "mine", env = "palaestra/Dataset-v0", source = {str(tmp_path / "mine.jsonl")!r}, rows = "all" }},
        ]
        [settings]
        seed = 3
        """
    )
    return file


def test_every_pair_is_played_once_and_a_second_call_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["eval", "--sweep", str(write(tmp_path)), "--out", str(tmp_path / "out"), "--format", "csv"]
    assert main(words) == 0
    first = capsys.readouterr().out
    rows = list(csv.DictReader(first.splitlines()))
    assert [(row["agent"], row["environment"], row["episodes"]) for row in rows] == [
        ("random", "palaestra/Arithmetic-v0", "100"),
        ("random", "mine", "6"),
        ("all right", "palaestra/Arithmetic-v0", "100"),
        ("all right", "mine", "6"),
    ]
    assert [float(row["success"]) for row in rows][2:] == [1.0, 1.0]
    assert first == (tmp_path / "out" / "results.csv").read_text()
    played = {file: file.read_bytes() for file in (tmp_path / "out").glob("*.jsonl")}
    assert len(played) == 4
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert {file: file.read_bytes() for file in (tmp_path / "out").glob("*.jsonl")} == played
    page = (tmp_path / "out" / "sweep.html").read_text()
    assert page.count("<td ") == 4
    assert "all right" in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents = 3", "must have agents, a list"),
        ('agents = ["random"]', "must have environments"),
        ('agent = ["random"]', "did you mean 'agents'"),
        ('agents = ["a"]\nenvironments = ["b", "b"]', "two environments called 'b'"),
        ('agents = [{ name = "x" }]\nenvironments = ["b"]', "a text or a table with agent"),
        ("agents = [", "cannot be read"),
        ('agents = ["a"]\nenvironments = ["b"]\n[settings]\nepisode = 3', "did you mean 'episodes'"),
    ],
)
def test_faults_of_a_file_are_said_in_one_sentence(tmp_path: Path, text: str, words: str):
    (tmp_path / "sweep.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        Sweep.read(tmp_path / "sweep.toml")


def test_a_sweep_stands_alone_and_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = str(write(tmp_path))
    assert main(["eval", "--sweep", file]) != 0
    assert main(["eval", "palaestra/Arithmetic-v0", "--sweep", file, "--out", str(tmp_path / "out")]) != 0
    assert capsys.readouterr().err.count("needs a folder by --out") == 2
