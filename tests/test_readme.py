"""Everything that the READMEs show is run: their Python as it stands, their commands with the long ones made small."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from palaestra.errors import _EXTRAS

from .shown_blocks import ENDPOINT, ROOT, SMALL, SMALL_MODEL, blocks, chat, commands, run_python

PACKAGES = ("agents/README.md", "envs/README.md", "rewards/README.md", "teachers/README.md")
READMES = ("README.md", "integrations/README.md", *PACKAGES)
BLOCKS = [
    (f"{name} {number}", language, block)
    for name in READMES
    for number, (language, block) in enumerate(blocks(ROOT / name))
]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
INSTALL_OR_BLOCK = re.compile(r"pip install [^`\n]*'\.\[([\w,-]+)\]'|^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_with_extras() -> Iterator[tuple[list[str], str, str]]:
    """The blocks of the first README after that of the two scripts, with the extras that are installed above them."""
    extras: list[str] = []
    for extra, language, block in INSTALL_OR_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        if extra:
            extras += extra.split(",")
        elif extras and language != "console":  # what is only shown trains, which takes minutes
            yield list(extras), language, block


# The others are run below, where only what they need is installed.
FREE = [
    shown for shown in BLOCKS[1:] if shown[1:] not in [(language, block) for _, language, block in shown_with_extras()]
]
PYTHON = [pytest.param(block, id=name) for name, language, block in FREE if language == "python"]


@pytest.mark.parametrize("block", PYTHON)
def test_the_python_of_the_readmes_runs(block: str, tmp_path: Path):
    run_python(block, tmp_path)


# Runs Python or commands in a process that cannot import some packages.
_WITHOUT = """if True:
    import importlib.machinery, json, sys

    absent, language, work = json.loads(sys.argv[1])

    class Finder(importlib.machinery.PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name.partition(".")[0] not in absent:
                return importlib.machinery.PathFinder.find_spec(name, path, target)

    sys.meta_path[:] = [Finder if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
    if language == "python":
        exec(work, {"__name__": "__main__"})
    else:
        from palaestra.scripts.cli import main

        for words in work:
            if code := main(words[1:]):
                sys.exit(f"{words} ended with {code}")
"""


def modules_of(extras: list[str]) -> set[str]:
    """The modules that extras bring, those of their packages' requirements included."""
    todo = [requirement for extra in extras for requirement in EXTRAS[extra]]
    names: set[str] = set()
    while todo:
        requirement = todo.pop()
        name = re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")  # type: ignore[index]
        if name == "palaestra":
            todo += [other for extra in re.search(r"\[(.*)\]", requirement)[1].split(",") for other in EXTRAS[extra]]  # type: ignore[index]
        elif name not in names and "extra ==" not in requirement:
            names.add(name)
            with suppress(PackageNotFoundError):  # for another system or version of Python
                todo += requires(name) or []
    return {
        module
        for module, distributions in packages_distributions().items()
        if names & {one.lower().replace("_", "-") for one in distributions}
    }


def test_what_the_first_readme_shows_needs_only_what_it_has_installed(tmp_path: Path):
    known = {module for modules in _EXTRAS.values() for module in modules}
    for extras, language, block in shown_with_extras():
        absent = sorted(known - modules_of(extras))
        assert "minigrid" not in absent
        assert ("openai" in absent) == ("eval" not in extras)
        with chat.serving(lambda request, number: {"content": "stare"}) as server:
            shown = block.replace(ENDPOINT, server.url)
            work = shown if language == "python" else commands(shown)
            argv = [sys.executable, "-c", _WITHOUT, json.dumps([absent, language, work])]
            done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\nwithout {absent}:\n{done.stderr}"


def test_every_extra_is_explained_on_the_page_of_installation():
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \| (.+) \|$", page, flags=re.MULTILINE)
    assert {name for name, _, _ in rows} == EXTRAS.keys() - {"judge"}


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
