"""The wheel holds what the tree holds, and works where the sources are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import palaestra
import pytest

ROOT = Path(palaestra.__file__).parent
PARTS = ("agents", "envs", "integrations", "rewards", "scripts", "teachers")
# A package of its own. Benchmarks, tools and shell scripts belong to the checkout, and are not in the wheel.
VERIFIERS = ROOT / "integrations" / "palaestra_vf"
SOURCES = [path for part in PARTS for path in (ROOT / part).rglob("*.py") if VERIFIERS not in path.parents]
DATA = {"py.typed", "constraints.txt"}

# Imports every module of the installed package and plays one episode; prints what it saw. The modules left out are
# those for the environments of other projects, which scripts/peers.sh makes.
LOOK = """
import importlib, json, pkgutil, sys
import gymnasium, palaestra
names = [module.name for module in pkgutil.walk_packages(palaestra.__path__, "palaestra.")]
peers = {"integrations.browsergym_tasks", "integrations.inspect_tasks", "integrations.verifiers_taskset"}
peers |= {"integrations.verifiers_harness", "integrations.gem_env", "integrations.textarena_env"}
for name in names:
    if name.removeprefix("palaestra.") not in peers:
        importlib.import_module(name)
env = gymnasium.make("palaestra/Arithmetic-v0")
env.reset(seed=0)
success = env.step(env.unwrapped.oracle())[4]["is_success"]
from palaestra.scripts.cli import main
from palaestra.scripts.completion import collect_words
assert main(["bench", "teachers"]) == 2 and not collect_words().options.keys() & {"bench teachers"}
print(json.dumps({"file": palaestra.__file__, "names": names, "success": success}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build tree appears in the checkout nor leaks into the wheel."""
    copy, out = tmp_path_factory.mktemp("sources") / "palaestra", tmp_path_factory.mktemp("dist")
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "runs", "tests")
    shutil.copytree(ROOT, copy, ignore=ignored)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("palaestra-*.whl"))


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    packed = {name.removeprefix("palaestra/") for name in files if name.startswith("palaestra/")}
    assert [name for name in files if name.startswith("palaestra_vf/")] == ["palaestra_vf/__init__.py"]
    sources = {path.relative_to(ROOT) for path in SOURCES}
    parts = ("agents", "envs", "scripts")
    pages = {
        path.relative_to(ROOT)
        for part in parts
        for path in (ROOT / part).rglob("*")
        if path.suffix in (".html", ".js", ".css")
    }
    tables = {
        path.relative_to(ROOT)
        for kind in ("*.txt", "*.json", "*.jsonl", "*.css")
        for path in (ROOT / "envs").rglob(kind)
    }
    suites = {path.relative_to(ROOT) for path in (ROOT / "agents" / "evaluation").rglob("*.json")}
    sheet = {path.relative_to(ROOT) for path in (ROOT / "rewards" / "audit" / "sheet").glob("*.jsonl")}
    recipes = {path.relative_to(ROOT) for path in (ROOT / "agents" / "grpo" / "recipes").glob("*.toml")}
    root = {path.relative_to(ROOT) for path in ROOT.glob("*.py")}
    assert packed == {path.as_posix() for path in sources | pages | tables | suites | recipes | sheet | root} | DATA


def test_the_installed_wheel_works_without_the_sources(wheel: Path, tmp_path: Path):
    """A fresh environment sees this one's packages through a .pth file; of palaestra it sees the wheel only."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, *install, "--target", place, str(wheel)], check=True)
    # A folder added by a .pth file has its own .pth files ignored: the editable install there stays unseen.
    (Path(place) / "others.pth").write_text("\n".join({sysconfig.get_path(key) for key in ("purelib", "platlib")}))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([python, "-c", LOOK], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "benchmarks are in the checkout" in done.stderr
    seen = json.loads(done.stdout)
    assert Path(seen["file"]).is_relative_to(environment)
    assert seen["success"] is True
    modules = [path.relative_to(ROOT) for path in SOURCES]
    modules += [path.relative_to(ROOT) for path in ROOT.glob("*.py")]
    dotted = {".".join(("palaestra", *module.with_suffix("").parts)) for module in modules}
    assert {name.removesuffix(".__init__") for name in dotted} - {"palaestra"} == set(seen["names"])
