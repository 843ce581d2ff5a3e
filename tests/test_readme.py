"""Everything that the READMEs show is run: their Python as it stands, their commands with the long ones made small."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from palaestra.scripts.list import README_TABLES

from .shown_blocks import ROOT, SMALL, SMALL_MODEL, blocks, commands, run, run_python, run_shell

READMES = ("README.md", "integrations/README.md", *README_TABLES)
BLOCKS = [
    (f"{name} {number}", language, block)
    for name in READMES
    for number, (language, block) in enumerate(blocks(ROOT / name))
]
PYTHON = [pytest.param(block, id=name) for name, language, block in BLOCKS if language == "python"]
SHELL = [pytest.param(block, id=name) for name, language, block in BLOCKS[1:] if language == "bash"]


@pytest.mark.parametrize("block", PYTHON)
def test_the_python_of_the_readmes_runs(block: str, tmp_path: Path):
    run_python(block, tmp_path)


@pytest.mark.parametrize("block", SHELL)
def test_the_commands_of_the_readmes_run(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    run_shell(block, tmp_path, capsys)


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
    pages = sorted((ROOT / "docs" / "benchmarks").glob("*.md"))
    for file in (*(ROOT / name for name in (*READMES, "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md")), *pages):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text(encoding="utf-8")):
            assert (file.parent / target).exists(), f"{file.relative_to(ROOT)} links to {target}"


def test_comments_are_taken_off_and_long_commands_made_small():
    block = (
        "palaestra list    # all\npalaestra train x --out y    # 3 minutes\npalaestra train --model m    # minutes\n"
    )
    assert commands(block) == [
        ["palaestra", "list"],
        ["palaestra", "train", "x", "--out", "y", *SMALL],
        ["palaestra", "train", "--model", "m", *SMALL_MODEL],
    ]
