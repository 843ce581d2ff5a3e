"""The check that runs after the whole suite finds what tests leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

PLUGIN = Path(__file__).with_name("left_behind.py")
TESTS = {
    "tidy": "import tempfile\n\ndef test():\n    with tempfile.TemporaryFile():\n        pass\n",
    "file": "import tempfile\n\ndef test():\n    open(tempfile.mkdtemp(prefix='forgotten-') + '/x', 'w').close()\n",
    "process": "import subprocess\n\ndef test():\n"
    "    pid = subprocess.Popen(['sleep', '61'], start_new_session=True).pid\n"
    "    with open('pid', 'w') as file:\n        file.write(str(pid))\n",
}


def ran(folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "conftest.py").write_text(
        f"import importlib.util\nspec = importlib.util.spec_from_file_location('left_behind', {str(PLUGIN)!r})\n"
        "left_behind = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(left_behind)\n"
        "left_behind._SECONDS = 1.0\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(left_behind)\n"
    )
    (folder / f"test_{name}.py").write_text(TESTS[name])
    env = {key: value for key, value in os.environ.items() if key != "PALAESTRA_TEST_SESSION"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    return subprocess.run([*command, str(folder)], env=env, cwd=folder, capture_output=True, text=True, check=False)


def test_a_file_or_process_that_is_left_fails_the_suite(tmp_path: Path) -> None:
    for name, sign in (("file", "temporary file forgotten-"), ("process", "sleep 61")):
        done = ran(tmp_path / name, name, "-n", "1")
        assert "1 passed" in done.stdout
        assert sign in done.stdout
        assert done.returncode == 1
    os.kill(int((tmp_path / "process" / "pid").read_text()), signal.SIGKILL)


def test_a_suite_that_tidies_up_passes(tmp_path: Path) -> None:
    for place, options in (("workers", ("-n", "1")), ("alone", ())):
        done = ran(tmp_path / place, "tidy", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "left behind" not in done.stdout
