"""T8: PPO on gridworlds under teachers."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.teachers import command, gridworlds

ROOMS = {"env": "palaestra/FourRooms-v0", "axes": {"size": [7, 9]}}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gridworlds, "ON_THE_WAY", 4)
    monkeypatch.setattr(gridworlds, "AT_THE_END", 8)


@pytest.mark.parametrize("teacher", ["random", "plr"])
def test_a_run_is_a_function_of_teacher_and_seed_and_leaves_no_folder(teacher, quick, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = gridworlds.train(ROOMS, teacher, 3, 4096)
    assert found.curve[0] == [0.0, 2048.0, 4096.0]
    assert found.score == found.curve[1][-1]
    assert set(found.measures) == set(gridworlds.TABLE.columns)
    assert list(tmp_path.glob("palaestra-*")) == []
    if teacher == "random":
        assert gridworlds.train(ROOMS, teacher, 3, 4096) == found


def test_the_table_is_known_by_its_name_and_not_among_the_defaults():
    assert command.load_table(command.TABLES["T8"]) is gridworlds.TABLE
    assert "T8" not in command.TeacherBenchOptions().tables
    chosen = command.choose_teachers(
        command.TeacherBenchOptions(tables=("T8",), teachers=("all",)), {"T8": gridworlds.TABLE}
    )
    assert {"plr", "alp-gmm", "exp3"} <= set(chosen["T8"])
    assert "mopps" not in chosen["T8"]
