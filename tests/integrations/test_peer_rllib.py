"""RLlib itself trains under our teachers: with env runners in other processes, and by the example."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import palaestra
import pytest

TRIAL = Path(__file__).with_name("rllib_trial.py")
EXAMPLE = Path(palaestra.__file__).parent / "examples" / "curriculum_for_rllib.py"


@pytest.fixture
def run(peer_home: Callable[[str], Path], tmp_path: Path) -> Iterator[Callable[..., str]]:
    def run(script: Path, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "RAY_TMPDIR": folder, "OMP_NUM_THREADS": "1"}
        environment["RAY_worker_niceness"] = "0"  # or its processes starve beside other tests
        command = [str(peer_home(".venv-peers") / "bin" / "python"), str(script), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout

    # A folder of a short name, as the paths of Ray's sockets are bounded.
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        yield run


def test_env_runners_in_two_processes_teach_one_teacher_and_evaluation_none(run):
    found = json.loads(run(TRIAL).splitlines()[-1])
    assert found["workers"] == ["1", "2"]
    assert found["observed"] == found["ended"] > 0
    assert 0.0 <= found["success"] <= 1.0
    assert found["evaluated"] == 3
    assert found["observed_after_evaluation"] == found["observed"]
    assert found["changed"]


def test_the_example_trains(run):
    before, after, episodes = run(EXAMPLE, "--iterations", "2").splitlines()[-3:]
    assert before.startswith("before: ")
    assert after.startswith("after: ")
    assert int(episodes.rpartition(" ")[2]) > 5
