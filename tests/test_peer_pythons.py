"""Newer interpreters, where the machine has some: every module is imported, and tests of all parts pass."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import palaestra
import pytest

ROOT = Path(palaestra.__file__).parent

IMPORTS = """
import importlib, pkgutil, warnings
import palaestra

warnings.simplefilter("error", SyntaxWarning)
warnings.filterwarnings("error", category=DeprecationWarning, module="palaestra")
count, absent = 0, set()
for module in pkgutil.walk_packages(palaestra.__path__, "palaestra."):
    if module.name.split(".")[1] in ("tests", "benchmarks", "examples", "tools") or "_worker" in module.name:
        continue
    try:
        importlib.import_module(module.name)
        count += 1
    except ModuleNotFoundError as error:
        absent.add(error.name.partition(".")[0])
    except palaestra.errors.MissingExtra:
        pass
assert "palaestra" not in absent, absent
print(count)
"""
VERSIONS = ("3.12", "3.13", "3.14")
TESTS = [
    "tests/agents/evaluation/test_evaluate.py",
    "tests/envs/players",
    "tests/envs/test_param_env.py",
    "tests/envs/web/browsers/test_browser.py",
    "tests/rewards/answers",
    "tests/teachers/test_wrapper.py",
]


def run(python: Path, output: Path, *arguments: str) -> str:
    """Run a Python with arguments; return what it wrote. Into a file, as a pipe is open as long as any process that was
    started has it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "CI"))}
    with output.open("w") as file:
        ended = subprocess.run([str(python), *arguments], cwd=ROOT, env=plain, stdout=file, stderr=file, timeout=900)
    text = output.read_text()
    assert ended.returncode == 0, text[-4000:]
    return text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_newer_interpreter_imports_everything_and_passes_tests_of_all_parts(version: str, tmp_path: Path):
    lock, python = ROOT / ".venv-peers" / "lock", ROOT / f".venv-python{version}" / "bin" / "python"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    if not any(pyenv.glob(f"{version}.*/bin/python")) and not python.exists():
        return  # a machine has the interpreters that it has
    if not lock.is_file():
        pytest.skip("no other interpreter is there beside the checkout: bash scripts/peers.sh")
    with lock.open("a") as waiting:  # until it is made
        fcntl.flock(waiting, fcntl.LOCK_EX)
    imported = run(python, tmp_path / "imported", "-c", IMPORTS)
    assert int(imported.split()[-1]) > 300
    # Chromium, which is another program, and bounds on time are tried with the one interpreter.
    options = ["-x", "-p", "no:cacheprovider", "-k", "not chromium and not linear_time"]
    tested = run(python, tmp_path / "tested", "-m", "pytest", *options, *TESTS)
    assert "100%" in tested
