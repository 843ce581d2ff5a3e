"""What documentation shows, run as a reader would: Python as it stands, commands with the long ones made small."""

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

from .warm_python import run_script

ROOT = Path(palaestra.__file__).parent
ENDPOINT = "http://localhost:8000/v1"  # in its place the tests have a server of their own

# A line that says how many minutes it takes is run with these; of an option given twice the last one counts.
SMALL = ["--steps", "2", "--prompts", "2", "--samples", "2", "--warmup.steps", "2", "--eval-every", "0"]
SMALL += ["--eval-episodes", "4", "--final-episodes", "4"]
# A model that is given has no warm-up.
SMALL_MODEL = ["--steps", "2", "--prompts", "2", "--samples", "2", "--eval-every", "0"]
SMALL_MODEL += ["--eval-episodes", "4", "--final-episodes", "4", "--max-new-tokens", "4"]
SMALL_BENCH = ["--settings", "level", "--teachers", "random", "--seeds", "1", "--episodes", "10", "--jobs", "1"]

_server_file = ROOT / "tests" / "rewards" / "judges" / "chat_server.py"
_spec = importlib.util.spec_from_file_location("chat_server", _server_file)
assert _spec is not None
assert _spec.loader is not None
chat = sys.modules.setdefault("chat_server", importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(chat)


def blocks(file: Path) -> list[tuple[str, str]]:
    """(language, text) of every fenced block of a file."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in ``folder``, with this environment's programs first."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def commands(block: str) -> list[list[str]]:
    """The lines of a shell block as arguments, comments taken off and long ones made small."""
    found = []
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if "minutes" in line.partition("#")[2]:
            words += _shorten(words)
        found.append(words)
    return found


def _shorten(words: list[str]) -> list[str]:
    if "bench" in words:
        return SMALL_BENCH
    if "--resume" in words:
        return ["--steps", "3"]
    return SMALL_MODEL if "--model" in words else SMALL


def run_python(block: str, folder: Path) -> None:
    """Run a script with warnings as errors."""
    (folder / "example.py").write_text(block)
    code, _, errors = run_script([str(folder / "example.py")], folder)
    assert code == 0, errors


def run_shell(block: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a block in ``folder``, which must be the current one."""
    if ENDPOINT in block:
        with chat.serving(lambda request, number: {"content": "stare"}) as server:
            _run_commands(block.replace(ENDPOINT, server.url), folder, capsys)
    else:
        _run_commands(block, folder, capsys)


def _run_commands(block: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(block):
        # To start Python, and to load PyTorch, takes longer than such a short command: once for all of them.
        if words[:1] == ["palaestra"]:
            code = main(words[1:])
            errors = capsys.readouterr().err
        else:
            done = run(folder, *words)
            code, errors = done.returncode, done.stderr
        assert code == 0, f"{shlex.join(words)}\n{errors}"
