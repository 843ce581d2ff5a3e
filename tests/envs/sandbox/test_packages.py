"""Packages of the caller's, which programs may import."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import pytest
from palaestra.envs import sandbox
from palaestra.envs.sandbox import CallTest, Limits, StdioTest
from palaestra.errors import InputError

from .backends import SAFE, missing

LIMITS = Limits(seconds=20)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with one package, and a module."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "counters").mkdir()
    (folder / "counters" / "__init__.py").write_text("from .numbers import count\n")
    (folder / "counters" / "numbers.py").write_text("def count(items): return len(items)\n")
    (folder / "single.py").write_text("VALUE = 7\n")
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
    return str(folder)


@pytest.fixture(scope="module", params=[*SAFE, "unsafe-subprocess"])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param in SAFE and missing(request.param):
        pytest.skip(missing(request.param))
    return request.param


def test_packages_are_found_by_programs_that_are_given_them_and_by_no_others(packages: str, backend: str) -> None:
    program = "import counters, single\ndef f(x): return counters.count(x) + single.VALUE\nprint(f('abc'))"
    tests = [CallTest("f", ["abcd"], 11), StdioTest("", "10")]
    for preload in ((), ("counters",)):
        judged = sandbox.run_tests(program, tests, limits=LIMITS, backend=backend, packages=packages, preload=preload)
        assert judged.success, judged
    without = sandbox.run(program, limits=LIMITS, backend=backend)
    assert "No module named 'counters'" in without.stderr


@pytest.mark.parametrize("backend", SAFE)
def test_packages_cannot_be_changed_and_reach_further_interpreters(packages: str, backend: str) -> None:
    if missing(backend):
        pytest.skip(missing(backend))
    program = """
import os, single, subprocess, sys
place = os.path.dirname(single.__file__)
for change in (lambda: open(single.__file__, "a"), lambda: open(place + "/x", "w"), lambda: os.unlink(single.__file__)):
    try: change(); print("changed")
    except OSError: pass
source = "import counters; print(counters.count('ab'))"
print(subprocess.run([sys.executable, "-c", source], capture_output=True, text=True).stdout, end="")
"""
    result = sandbox.run(program, limits=LIMITS, backend=backend, packages=packages)
    assert (result.stdout, result.stderr) == ("2\n", "")
    assert (Path(packages) / "single.py").read_text() == "VALUE = 7\n"


def test_packages_and_modules_are_named_as_they_must_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"packages must be an absolute path of a folder, .* not 'packages'"):
        sandbox.run("", packages="packages")
    with pytest.raises(InputError, match=r"packages must be a folder, but there is none at '.*nothing'"):
        sandbox.run("", packages=tmp_path / "nothing")
    for wrong in ("numpy", ["-m"], ["a b"], [3]):
        with pytest.raises(InputError, match="preload must be names of modules"):
            sandbox.run("", preload=wrong)  # type: ignore[arg-type]
    if not missing("docker"):
        with pytest.raises(InputError, match="packages must be a folder on the machine of the container engine"):
            sandbox.run("", backend="docker", packages=tmp_path / "nothing")


@pytest.mark.skipif(bool(missing("local")), reason=missing("local"))
def test_environments_pass_packages_and_modules_on(packages: str, tmp_path: Path) -> None:
    env = gym.make("palaestra/PythonTool-v0", packages=packages, preload=("counters",), seconds=15.0)
    env.reset(seed=0)
    shown = env.step("```python\nimport sys\nprint('counters' in sys.modules, __import__('single').VALUE)\n```")[0]
    assert "True 7" in shown
    env.close()
    record = {"task_id": 1, "text": "Write double(x).", "code": "def double(x): return 2 * x", "test_setup_code": ""}
    record |= {"test_list": ["assert double(4) == 8"], "challenge_test_list": []}
    source = tmp_path / "mbpp.jsonl"
    source.write_text(json.dumps(record))
    env = gym.make("palaestra/MBPP-v0", source=str(source), split="all", packages=packages, seconds=15.0)
    env.reset(seed=0)
    answer = "```python\nimport counters\ndef double(x): return counters.count('ab') * x\n```"
    assert env.step(answer)[4]["is_success"]
    env.close()
