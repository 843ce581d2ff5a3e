"""``palaestra audit`` as it is typed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.scripts.audit import LearnerStudent
from palaestra.scripts.cli import main

BY_PLACE = """
from palaestra.rewards import GroupReward

class ByPlace(GroupReward):
    def values(self, episodes):
        return [place / len(episodes) for place in range(len(episodes))]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one step whose reward follows the place in the group: attempts differ whatever a processor samples."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "by_place.py").write_text(BY_PLACE)
    size = ["--steps", "1", "--prompts", "2", "--samples", "4", "--warmup.steps", "0", "--final-episodes", "1"]
    axes = ["--axis", "digits=1", "terms=2:3", "--threads", "1", "--max-new-tokens", "6"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        assert main(["train", *size, *axes, "--shaping", "by_place:ByPlace", "--out", str(folder / "one")]) == 0
        yield folder / "one"


def read(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_shows_what_each_task_does_to_the_others_and_leaves_the_run_alone(run, tmp_path, capsys):
    files = read(run)
    assert main(["audit", str(run), "--tasks", "3", "--json", str(tmp_path / "matrix.json")]) == 0
    shown = capsys.readouterr().out
    assert "trained task" in shown
    found = json.loads((tmp_path / "matrix.json").read_text())
    changes = np.array(found["changes"])
    assert changes.shape == (3, 3)
    assert (changes != 0).all()
    assert found["own"] == pytest.approx(changes.diagonal().mean())
    assert found["difficulty"] == [0.0, 0.5, 1.0]
    assert read(run) == files


def test_an_update_is_taken_back(run):
    student = LearnerStudent(run, 2, None, 0)
    before, state = student.log_success(), student.get_state()
    assert (before < 0).all()
    for task in (0, 1):
        student.train(task)
    assert (student.log_success() != before).any()
    student.set_state(state)
    assert (student.log_success() == before).all()


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert main(["audit", str(tmp_path)]) == 2
    assert "not a run folder (no readable config.json)" in capsys.readouterr().err


def test_one_task_is_too_few(run, capsys):
    assert main(["audit", str(run), "--tasks", "1"]) == 2
    assert "--tasks must be at least 2" in capsys.readouterr().err


def test_options_for_students_are_refused(run, capsys):
    assert main(["audit", str(run), "--prefer", "idle"]) == 2
    assert "is a run of a language model; --prefer is for students, leave it out" in capsys.readouterr().err
