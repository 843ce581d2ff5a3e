"""Everything that the READMEs show is run: their Python as it stands, their commands with the long ones made small."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import palaestra
import pytest
from palaestra.scripts.cli import main
from palaestra.scripts.list import README_TABLES

ROOT = Path(palaestra.__file__).parent
READMES = ("README.md", "integrations/README.md", *README_TABLES)
BLOCKS = [
    (f"{name} {number}", language, block)
    for name in READMES
    for number, (language, block) in enumerate(
        re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
]
PYTHON = [pytest.param(block, id=name) for name, language, block in BLOCKS if language == "python"]
SHELL = [pytest.param(block, id=name) for name, language, block in BLOCKS[1:] if language == "bash"]

ENDPOINT = "http://localhost:8000/v1"  # in its place the tests have a server of their own

# A line that says how many minutes it takes is run with these; of an option given twice the last one counts.
SMALL = ["--steps", "2", "--prompts", "2", "--samples", "2", "--warmup.steps", "2", "--eval-every", "0"]
SMALL += ["--eval-episodes", "4", "--final-episodes", "4"]
SMALL_BENCH = ["--settings", "level", "--teachers", "random", "--episodes", "10", "--jobs", "1"]


_server_file = ROOT / "tests" / "rewards" / "judges" / "chat_server.py"
_spec = importlib.util.spec_from_file_location("chat_server", _server_file)
assert _spec is not None
assert _spec.loader is not None
chat = sys.modules.setdefault("chat_server", importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(chat)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def commands(block: str) -> list[list[str]]:
    """The lines of a shell block as arguments, comments taken off and long ones made small."""
    found = []
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if "minutes" in line.partition("#")[2]:
            words += SMALL_BENCH if "bench" in words else ["--steps", "3"] if "--resume" in words else SMALL
        found.append(words)
    return found


@pytest.mark.parametrize("block", PYTHON)
def test_the_python_of_the_readmes_runs(block: str, tmp_path: Path):
    (tmp_path / "example.py").write_text(block)
    done = run(tmp_path, sys.executable, "-W", "error", "example.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", SHELL)
def test_the_commands_of_the_readmes_run(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    if ENDPOINT in block:
        with chat.serving(lambda request, number: {"content": "stare"}) as server:
            run_block(block.replace(ENDPOINT, server.url), tmp_path, capsys)
    else:
        run_block(block, tmp_path, capsys)


def run_block(block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    _, language, block = BLOCKS[0]
    assert language == "bash"
    assert [words[:2] for words in map(shlex.split, re.sub(r" *#.*", "", block).splitlines())] == [
        ["bash", "scripts/demo.sh"],
        ["bash", "scripts/test.sh"],
    ]
    assert all((ROOT / "scripts" / name).is_file() for name in ("demo.sh", "test.sh"))


def test_the_tables_of_the_readmes_are_up_to_date(tmp_path: Path):
    # In a process of its own: other tests register pieces in this one.
    done = run(tmp_path, "palaestra", "list", "--check", "--update-readmes", str(ROOT))
    assert done.returncode == 0, done.stderr


def test_the_first_readme_fits_on_two_screens():
    assert (ROOT / "README.md").stat().st_size < 10_000


def test_links_between_the_files_lead_somewhere():
    for name in (*READMES, "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md"):
        file = ROOT / name
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text(encoding="utf-8")):
            assert (file.parent / target).exists(), f"{name} links to {target}"


def test_comments_are_taken_off_and_long_commands_made_small():
    assert commands("palaestra list    # all\npalaestra train x --out y    # 3 minutes\n") == [
        ["palaestra", "list"],
        ["palaestra", "train", "x", "--out", "y", *SMALL],
    ]
