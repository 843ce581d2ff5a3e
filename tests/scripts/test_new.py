"""``palaestra new``: its packages are installed and tested for real, and refused where they would clash."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest
from palaestra.scripts import new
from palaestra.scripts.cli import main
from palaestra.scripts.new_pieces import KINDS

NAMES = {kind: f"Bright_new-{kind}" for kind in KINDS}
REGISTERED = {
    "env": "bright_new_env/BrightNewEnv-v0",
    "recipe": "bright_new_recipe",
    **{kind: f"bright-new-{kind}" for kind in ("teacher", "reward", "agent")},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a package of each kind, and a Python that has them installed beside all that this one has."""
    folder = tmp_path_factory.mktemp("new")
    packages = [folder / name for name in NAMES.values()]
    for kind, name in NAMES.items():
        assert main(["new", kind, name, "--path", str(folder)]) == 0
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    (place,) = (folder / "venv" / "lib").glob("python*/site-packages")
    beside = [path for path in sys.path if path.endswith("site-packages")]
    (place / "beside.pth").write_text("\n".join(f"import site; site.addsitedir({path!r})" for path in beside))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-build-isolation"]
    run(*pip, *(word for package in packages for word in ("-e", str(package))))
    return folder, python


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_their_own_tests_pass(installed):
    folder, python = installed
    tests = [str(folder / name) for name in NAMES.values()]
    shown = run(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *tests, cwd=folder)
    passed = int(shown.split(" passed")[0].split()[-1])
    assert passed > 40  # nearly all of them the contract of environments


def test_every_command_knows_them(installed):
    folder, python = installed
    palaestra = [str(python), "-m", "palaestra.scripts.cli"]
    tables = json.loads(run(*palaestra, "list", "--format", "json", cwd=folder))
    listed = {row.get("name", row.get("id")) for rows in tables.values() for row in rows}
    assert set(REGISTERED.values()) <= listed
    arguments = [REGISTERED["env"], "--agent", REGISTERED["agent"], "--episodes", "5", "--json", "scores.json"]
    run(*palaestra, "eval", *arguments, cwd=folder)
    scores = json.loads((folder / "scores.json").read_text())
    assert (scores["agent"], scores["success"]) == (REGISTERED["agent"], 0.0)  # it adds up, where it is to double


def test_a_module_is_imported_when_its_environment_is_made(installed):
    folder, python = installed
    code = "import sys, gymnasium, palaestra; assert 'bright_new_env' not in sys.modules; "
    code += f"print(gymnasium.make({REGISTERED['env']!r}).reset(seed=1)[0])"
    assert run(str(python), "-c", code, cwd=folder).startswith("What is ")


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("teacher", "alp-gmm", "the teacher name 'alp-gmm' is registered already"),
        ("reward", "Outcome", "the reward name 'outcome' is registered already"),
        ("recipe", "dapo", "the recipe name 'dapo' is registered already"),
        ("agent", "json", "a module 'json' is installed already"),
        ("env", "3d", "begins with a letter and is no word of Python, unlike '3d'"),
        ("env", "../up", "unlike '../up'"),
        ("env", "class", "unlike 'class'"),
        ("env", "é-tasks", "unlike 'é-tasks'"),
    ],
)
def test_names_that_cannot_be_are_refused(kind, name, sentence, tmp_path, capsys):
    assert main(["new", kind, name, "--path", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_exists_is_changed(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept.txt").write_text("kept")
    assert main(["new", "env", "mine", "--path", str(tmp_path)]) == 2
    assert "exists already, and nothing in it is changed" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "kept.txt"]


def test_a_full_disk_leaves_nothing_half_written(tmp_path, capsys, monkeypatch):
    written, inner = [], Path.write_text

    def write_text(path, *arguments, **options):
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        return inner(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", write_text)
    assert main(["new", "agent", "mine", "--path", str(tmp_path)]) == 2
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_can_be_installed_from_where_palaestra_is(tmp_path, capsys, monkeypatch):
    """No index has to know Palaestra: the same call of pip installs it from its checkout, repository or wheel."""
    checkout = Path(new.__file__).resolve().parents[1]
    assert main(["new", "env", "doubled", "--path", str(tmp_path)]) == 0
    assert f"pip install -e {checkout} -e {tmp_path / 'doubled'}" in capsys.readouterr().out
    assert f"pip install -e {checkout} -e '.[test]'" in (tmp_path / "doubled" / "README.md").read_text()
    assert "What is 2 * " in (tmp_path / "doubled" / "doubled.py").read_text()
    monkeypatch.setattr(new, "__file__", str(tmp_path / "site-packages" / "palaestra" / "scripts" / "new.py"))
    origin = {"url": "https://x.org/p", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    for text, expected in [
        (json.dumps(origin), "'palaestra @ git+https://x.org/p@abc'"),
        (json.dumps({"url": "file:///w/palaestra.whl", "archive_info": {}}), "'palaestra @ file:///w/palaestra.whl'"),
        (None, ""),
    ]:
        found = SimpleNamespace(read_text=lambda name, text=text: text)
        monkeypatch.setattr(new, "distribution", lambda name, found=found: found)
        assert new.find_source() == expected
