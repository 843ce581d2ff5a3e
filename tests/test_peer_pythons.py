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
TESTS = [
    "tests/agents/evaluation/test_evaluate.py",
    "tests/envs/players",
    "tests/envs/test_param_env.py",
    "tests/envs/web/browsers/test_browser.py",
    "tests/rewards/answers",
    "tests/teachers/test_wrapper.py",
]


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "CI"))}
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=plain, capture_output=True, text=True)


def test_newer_interpreters_import_everything_and_pass_tests_of_all_parts():
    lock = ROOT / ".venv-peers" / "lock"
    if not lock.is_file():
        pytest.skip("no other interpreter is there beside the checkout: bash scripts/peers.sh")
    with lock.open("a") as waiting:  # until it is made
        fcntl.flock(waiting, fcntl.LOCK_EX)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    there = {version for version in ("3.12", "3.13", "3.14") if any(pyenv.glob(f"{version}.*/bin/python"))}
    assert {f".venv-python{version}" for version in there} <= {home.name for home in ROOT.glob(".venv-python3.*")}
    for home in sorted(ROOT.glob(".venv-python3.*")):
        imported = run(home / "bin" / "python", "-c", IMPORTS)
        assert imported.returncode == 0, f"{home.name}: {imported.stderr[-3000:]}"
        assert int(imported.stdout.split()[-1]) > 300, home.name
        tested = run(home / "bin" / "python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS)
        assert tested.returncode == 0, f"{home.name}: {tested.stdout[-3000:]}"
        assert " passed" in tested.stdout or "100%" in tested.stdout, home.name
