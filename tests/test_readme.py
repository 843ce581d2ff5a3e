"""Everything that the README shows is run: its Python as it stands, its commands with the long ones made small."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import palaestra
import pytest
from palaestra.scripts.cli import main

README = Path(palaestra.__file__).parent / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PYTHON = [block for language, block in BLOCKS if language == "python"]
SHELL = [block for language, block in BLOCKS if language == "bash"]

# A line that says how many minutes it takes is run with these; of an option given twice the last one counts.
SMALL = ["--steps", "2", "--prompts", "2", "--samples", "2", "--warmup.steps", "2", "--eval-every", "0"]
SMALL += ["--eval-episodes", "4", "--final-episodes", "4"]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def commands(block: str) -> list[list[str]]:
    """The lines of a shell block as arguments, comments taken off and long ones made small."""
    found = []
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if "minutes" in line.partition("#")[2]:
            words += ["--steps", "3"] if "--resume" in words else SMALL
        found.append(words)
    return found


@pytest.mark.parametrize("block", PYTHON, ids=[f"block {i}" for i in range(len(PYTHON))])
def test_the_python_of_the_readme_runs(block: str, tmp_path: Path):
    (tmp_path / "example.py").write_text(block)
    done = run(tmp_path, sys.executable, "-W", "error", "example.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", SHELL[1:], ids=[f"block {i}" for i in range(1, len(SHELL))])
def test_the_commands_of_the_readme_run(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for words in commands(block):
        # To load PyTorch takes longer than such a short training: once for all of them.
        if words[:2] == ["palaestra", "train"]:
            code = main(words[1:])
            errors = capsys.readouterr().err
        else:
            done = run(tmp_path, *words)
            code, errors = done.returncode, done.stderr
        assert code == 0, f"{shlex.join(words)}\n{errors}"


def test_the_two_scripts_come_first_and_exist():
    language, block = BLOCKS[0]
    assert language == "bash"
    assert [words[:2] for words in map(shlex.split, re.sub(r" *#.*", "", block).splitlines())] == [
        ["bash", "scripts/demo.sh"],
        ["bash", "scripts/test.sh"],
    ]
    assert all((README.parent / "scripts" / name).is_file() for name in ("demo.sh", "test.sh"))


def test_the_tables_of_the_readme_are_up_to_date(tmp_path: Path):
    # In a process of its own: other tests register pieces in this one.
    done = run(
        tmp_path,
        *shlex.split("palaestra list envs teachers recipes verifiers rewards --check --update-readme"),
        str(README),
    )
    assert done.returncode == 0, done.stderr


def test_comments_are_taken_off_and_long_commands_made_small():
    assert commands("palaestra list    # all\npalaestra train x --out y    # 3 minutes\n") == [
        ["palaestra", "list"],
        ["palaestra", "train", "x", "--out", "y", *SMALL],
    ]
