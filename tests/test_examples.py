"""The examples run as they stand, without a warning; the long ones with smaller numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import palaestra
import pytest

from .warm_python import run_script

FOLDER = Path(palaestra.__file__).parent / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
ELSEWHERE = ("curriculum_for_rllib",)
"""In the environment of scripts/peers.sh, by tests/integrations/test_peer_rllib.py."""
SMALL = {
    "train_a_tiny_model": ["--steps", "2", "--warmup", "4"],
    "trl_under_a_teacher": ["--steps", "1"],
}
NEEDS = {
    "curriculum_for_cartpole": ["stable_baselines3"],
    "curriculum_for_q_learning": ["minigrid"],
    "curriculum_for_sb3": ["minigrid", "stable_baselines3"],
    "teachers_compared": ["matplotlib"],
    "train_a_tiny_model": ["torch"],
    "trl_under_a_teacher": ["torch", "trl"],
}
OTHERS_WARN = ("trl_under_a_teacher", "curriculum_for_sb3", "curriculum_for_cartpole")
LEARNS = ("curriculum_for_cartpole",)
"""Examples that print a rate of success before and after training."""
WARM = ("curriculum_for_cartpole", "curriculum_for_sb3", "train_a_tiny_model", "trl_under_a_teacher")
"""Examples that load PyTorch are forked from a process that has; the others show that they import all they use."""


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.stem not in ELSEWHERE], ids=lambda path: path.stem)
def test_an_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module in NEEDS.get(script.stem, []):
        pytest.importorskip(module)
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    words, strict = [str(script), *SMALL.get(script.stem, [])], script.stem not in OTHERS_WARN
    if script.stem in WARM:
        code, output, errors = run_script(words, tmp_path, strict)
    else:
        command = [sys.executable, *(["-W", "error"] if strict else []), *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        code, output, errors = done.returncode, done.stdout, done.stderr
    assert code == 0, errors
    assert output.strip()
    if script.stem in LEARNS:
        before, after = (float(found) for found in re.findall(r"^(?:before|after): (.*)$", output, re.MULTILINE))
        assert before < after


def test_the_table_of_the_examples_has_all_of_them():
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(SCRIPTS) >= 10
    assert [path.name for path in SCRIPTS if f"[{path.name}]({path.name})" not in table] == []
