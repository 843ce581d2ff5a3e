"""Everything that the READMEs show is run: their Python as it stands, their commands with the long ones made small."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from .shown_blocks import ROOT, SMALL, SMALL_MODEL, blocks, commands, run_python, run_shell

PACKAGES = ("agents/README.md", "envs/README.md", "rewards/README.md", "teachers/README.md")
READMES = ("README.md", "integrations/README.md", *PACKAGES)
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


def test_commands_that_the_first_readme_only_shows_are_run_by_a_page():
    ran = {
        line
        for page in (ROOT / "docs").rglob("*.md")
        for language, block in blocks(page)
        if language == "bash"
        for line in _without_comments(block)
    }
    shown = [
        line
        for language, block in blocks(ROOT / "README.md")
        if language == "console"
        for line in _without_comments(block)
    ]
    assert shown
    assert [line for line in shown if line not in ran] == []


def _without_comments(block: str) -> list[str]:
    return [line.partition("    #")[0] for line in block.splitlines()]


def test_the_first_readme_fits_on_two_screens_and_the_others_on_one():
    assert (ROOT / "README.md").stat().st_size < 10_000
    assert [name for name in PACKAGES if (ROOT / name).stat().st_size >= 8_000] == []


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
